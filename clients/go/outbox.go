package arbiter

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// outbox holds acts on their way to the server. A request keeps its id and is sent again on every new stream until its
// answer arrives; a pong or an acknowledgement is sent only once. Between hold and release only the hello is sent.
type outbox struct {
	mu         sync.Mutex
	urgent     []*pb.PlayAct
	queue      []*pb.PlayAct
	unanswered []*pb.PlayAct // in the order of their making
	held       bool
	closed     bool
	ready      chan struct{} // holds a token when there may be acts to send
	prefix     string
	count      int
}

func newOutbox() *outbox {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	return &outbox{held: true, ready: make(chan struct{}, 1), prefix: hex.EncodeToString(random)}
}

// hold begins a new stream: it sends the hello, and nothing else until release.
func (o *outbox) hold(hello *pb.ClientHello) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held, o.queue = true, nil
	o.urgent = []*pb.PlayAct{{Act: &pb.PlayAct_Hello{Hello: hello}}}
	o.wake()
}

// release continues after the server's hello: unanswered requests are sent again, in their old order.
func (o *outbox) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held, o.queue = false, slices.Clone(o.unanswered)
	o.wake()
}

// request sends an act that will be answered; it returns its request id.
func (o *outbox) request(act *pb.PlayAct) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count++
	act.RequestId = fmt.Sprintf("%s-%d", o.prefix, o.count)
	o.unanswered = append(o.unanswered, act)
	o.push(act)
	return act.RequestId
}

// say sends an act that is not answered; it is lost if the stream breaks.
func (o *outbox) say(act *pb.PlayAct) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(act)
}

// sayAtOnce sends an act before all others.
func (o *outbox) sayAtOnce(act *pb.PlayAct) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.urgent = append(o.urgent, act)
	o.wake()
}

// waiting returns the unanswered act with a request id, or nil.
func (o *outbox) waiting(requestID string) *pb.PlayAct {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at := o.find(requestID); at >= 0 {
		return o.unanswered[at]
	}
	return nil
}

// answered removes an act, which has been answered, from the list.
func (o *outbox) answered(requestID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at := o.find(requestID); at >= 0 {
		o.unanswered = slices.Delete(o.unanswered, at, at+1)
	}
}

// again sends an unanswered act again.
func (o *outbox) again(requestID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.find(requestID)
	if at >= 0 && !slices.Contains(o.queue, o.unanswered[at]) {
		o.push(o.unanswered[at])
	}
}

// close lets next return nil once everything has been sent.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake()
}

// next waits until there are acts to send, and returns all of them, pongs first; nil at the end, or with the context.
func (o *outbox) next(ctx context.Context) *pb.PlayRequest {
	for {
		o.mu.Lock()
		acts := append(o.urgent, o.queue...)
		o.urgent, o.queue = nil, nil
		closed := o.closed
		o.mu.Unlock()
		if len(acts) > 0 {
			return &pb.PlayRequest{Acts: acts}
		}
		if closed {
			o.mu.Lock()
			o.wake() // for the writer of the next stream, should this one have ended at the same time
			o.mu.Unlock()
			return nil
		}
		select {
		case <-o.ready:
		case <-ctx.Done():
			return nil
		}
	}
}

func (o *outbox) find(requestID string) int {
	return slices.IndexFunc(o.unanswered, func(act *pb.PlayAct) bool { return act.GetRequestId() == requestID })
}

func (o *outbox) push(act *pb.PlayAct) {
	if !o.held {
		o.queue = append(o.queue, act)
		o.wake()
	}
}

func (o *outbox) wake() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}
