package arbiter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// checkedAddresses returns the addresses of a list with commas, or *ConnectionError for one that is not HOST:PORT.
func checkedAddresses(text string) ([]string, error) {
	var found []string
	parts := strings.Split(text, ",")
	for number, part := range parts {
		address := strings.TrimSpace(part)
		host, port, err := net.SplitHostPort(address)
		value, digits := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || digits != nil || value == 0 || strings.Contains(address, " ") {
			which := ""
			if len(parts) > 1 {
				which = fmt.Sprintf(" (number %d of %d)", number+1, len(parts))
			}
			return nil, &ConnectionError{Message: fmt.Sprintf("%q%s is no address: write HOST:PORT, such as %s or [::1]:7400, "+
				"and commas between several", address, which, DefaultServer)}
		}
		if !slices.Contains(found, address) {
			found = append(found, address)
		}
	}
	return found, nil
}

// addresses are the addresses of one arbiter, all equivalent. All calls of a client use the current one.
type addresses struct {
	listed  []string
	mutex   sync.Mutex
	current int
}

func (a *addresses) now() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.listed[a.current]
}

// tries are the attempts of one caller: at the next address at once, and after a pause once all addresses have failed.
type tries struct {
	addresses *addresses
	pauses    *backoff
	failed    map[string]error // since the last pause
}

func newTries(addresses *addresses) *tries {
	return &tries{addresses, newBackoff(), map[string]error{}}
}

// after returns the pause after an attempt at an address: 0 if another one is to be tried first. The next one is chosen
// if no arbiter answers at this one, or if it refuses every call for now.
func (t *tries) after(address string, err error) time.Duration {
	asked := retryAfter(err)
	if leaves(err) {
		listed := t.addresses.listed
		if len(t.failed) == len(listed) {
			clear(t.failed)
		}
		t.failed[address] = err
		if t.turn(slices.Index(listed, address)) {
			return 0
		}
		for _, failure := range t.failed {
			asked = min(asked, retryAfter(failure))
		}
	}
	return t.pauses.next(asked)
}

// turn makes the next address current that has not failed, or the next one if all have failed. It returns whether there
// is one that has not failed.
func (t *tries) turn(from int) bool {
	a := t.addresses
	next, untried := (from+1)%len(a.listed), false
	for step := 1; step < len(a.listed) && !untried; step++ {
		place := (from + step) % len(a.listed)
		if _, known := t.failed[a.listed[place]]; !known {
			next, untried = place, true
		}
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if _, known := t.failed[a.listed[a.current]]; known {
		a.current = next
	}
	return untried
}

// allFailed returns the error to report after the last attempt: its error, or one that names all addresses.
func (t *tries) allFailed(last error) error {
	if len(t.failed) < max(2, len(t.addresses.listed)) {
		return last
	}
	var each []string
	for _, address := range t.addresses.listed {
		each = append(each, fmt.Sprintf("%s (%s)", address, why(t.failed[address])))
	}
	return &ConnectionError{Cause: last, Message: fmt.Sprintf("no arbiter answers at %s: is one running there, are hosts and "+
		"ports right, and does it speak TLS or not as you do?", strings.Join(each, ", nor at "))}
}

// reset starts again from the first pause, after a success.
func (t *tries) reset() {
	clear(t.failed)
	t.pauses.reset()
}

// leaves returns whether an error is a reason to use another address.
func leaves(err error) bool {
	var refusal *ArbiterError
	if errors.As(err, &refusal) {
		return refusal.Code == codes.Unavailable
	}
	var lost *ConnectionError
	return errors.As(err, &lost)
}

// why returns the description of a failure by gRPC or by the arbiter.
func why(err error) string {
	var lost *ConnectionError
	if errors.As(err, &lost) && lost.Cause != nil {
		if st, ok := status.FromError(lost.Cause); ok && st.Message() != "" {
			return st.Message()
		}
	}
	return err.Error()
}

// currentChannel makes each call on the channel to the current address.
type currentChannel struct{ connection *connection }

func (c currentChannel) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	return c.connection.channelNow().Invoke(ctx, method, args, reply, options...)
}

func (c currentChannel) NewStream(ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.connection.channelNow().NewStream(ctx, description, method, options...)
}
