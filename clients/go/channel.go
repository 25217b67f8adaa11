package arbiter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// DefaultServer is the default address of `arbiter serve`.
const DefaultServer = "127.0.0.1:7400"

const largestMessage = 64 << 20

// TLS is transport security, from PEM files. Without a root certificate, the system's are used. A client certificate is
// given together with its key (mTLS).
type TLS struct {
	RootCertificate   string
	ClientCertificate string
	ClientKey         string
	none              bool
}

// NoTLS is plain text, without regard to the environment.
var NoTLS = &TLS{none: true}

// tlsOfEnvironment returns the transport security of the environment; nil: none.
func tlsOfEnvironment() *TLS {
	found := TLS{RootCertificate: os.Getenv("ARBITER_ROOT_CERTIFICATE"), ClientCertificate: os.Getenv("ARBITER_CLIENT_CERTIFICATE"), ClientKey: os.Getenv("ARBITER_CLIENT_KEY")}
	if found == (TLS{}) {
		return nil
	}
	return &found
}

func (t *TLS) credentials() (credentials.TransportCredentials, error) {
	if t == nil || t.none {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if (t.ClientCertificate == "") != (t.ClientKey == "") {
		return nil, &CredentialsError{"a client certificate and its key go together: give both, or neither"}
	}
	if t.RootCertificate != "" {
		pem, err := os.ReadFile(t.RootCertificate)
		if err != nil {
			return nil, &CredentialsError{fmt.Sprintf("can't read %s: %v", t.RootCertificate, unwrapped(err))}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &CredentialsError{t.RootCertificate + " holds no certificate, as PEM"}
		}
	}
	if t.ClientCertificate != "" {
		pair, err := tls.LoadX509KeyPair(t.ClientCertificate, t.ClientKey)
		if err != nil {
			return nil, &CredentialsError{fmt.Sprintf("%s and %s are no certificate and its key: %v",
				t.ClientCertificate, t.ClientKey, unwrapped(err))}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// unwrapped returns an error without the path, which the text around it already has.
func unwrapped(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// connection is the connection to one arbiter, at one of its addresses at a time, with a token for every call.
type connection struct {
	*addresses
	patience time.Duration
	timeout  time.Duration
	channel  grpc.ClientConnInterface // to the address that is current when a call begins
	channels map[string]*grpc.ClientConn
	token    atomic.Pointer[string]
	up       atomic.Bool                   // whether a Play stream has been greeted, and has not ended
	greeted  atomic.Pointer[chan struct{}] // closed by the next hello of a Play stream
	outages  atomic.Int64                  // how many calls have failed because the arbiter was away or busy
	onWait   atomic.Pointer[func(error)]   // called with the reason why a call waits
}

// severity returns the level of the log for the error of a call. What comes of an outage is a detail: the session says
// once that the arbiter is away.
func (c *connection) severity(err error) slog.Level {
	var lost *ConnectionError
	if errors.As(err, &lost) || !c.up.Load() {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

func newConnection(listed []string, token string, security *TLS, timeout, patience time.Duration) (*connection, error) {
	transport, err := security.credentials()
	if err != nil {
		return nil, err
	}
	c := &connection{addresses: &addresses{listed: listed}, patience: patience, timeout: timeout, channels: map[string]*grpc.ClientConn{}}
	c.channel = currentChannel{c}
	c.greet()
	c.setToken(token)
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage), grpc.MaxCallSendMsgSize(largestMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, answer any, channel *grpc.ClientConn,
			invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			return invoke(c.authorized(ctx), method, request, answer, channel, options...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, description *grpc.StreamDesc, channel *grpc.ClientConn,
			method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(c.authorized(ctx), description, channel, method, options...)
		}),
	}
	for _, address := range listed {
		own := slices.Clone(options)
		if host, _, _ := net.SplitHostPort(address); host == "localhost" || net.ParseIP(host).IsLoopback() {
			own = append(own, grpc.WithNoProxy())
		}
		c.channels[address], err = grpc.NewClient(address, own...) // it connects with its first call
		if err != nil {
			return nil, &ConnectionError{Message: fmt.Sprintf("can't connect to %s: %v", address, err), Cause: err}
		}
	}
	return c, nil
}

func (c *connection) channelNow() *grpc.ClientConn { return c.channels[c.now()] }

func (c *connection) setToken(token string) { c.token.Store(&token) }

func (c *connection) authorized(ctx context.Context) context.Context {
	if token := *c.token.Load(); token != "" {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	return ctx
}

// greet notes that a Play stream has begun: whoever waits for the arbiter waits no longer.
func (c *connection) greet() {
	next := make(chan struct{})
	if greeted := c.greeted.Swap(&next); greeted != nil {
		close(*greeted)
	}
}

// greeting returns a channel that the next hello of a Play stream closes.
func (c *connection) greeting() <-chan struct{} { return *c.greeted.Load() }

// rest pauses after an error, but no longer than until a Play stream begins, since a clock may run from then on; it
// pauses longer where the arbiter is there, and asks for the pause. greeting is that of before the attempt that failed.
// It returns false at once where the context ends first.
func rest(ctx context.Context, pause time.Duration, greeting <-chan struct{}, err error) bool {
	var refusal *ArbiterError
	if errors.As(err, &refusal) && refusal.Code != codes.Unavailable {
		greeting = nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-greeting:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask makes a unary call. A request that may be carried out twice, or has a request id, is repeated while the server
// can't be reached, for the connection's patience, and at each address at least once. It returns *ArbiterError or
// *ConnectionError, or the context's error.
func ask[A any](ctx context.Context, c *connection, again bool, call func(context.Context) (A, error)) (A, error) {
	giveUp := time.Now().Add(c.patience)
	tries := newTries(c.addresses)
	if !again && len(c.listed) > 1 { // a request that is not repeated goes to an address that answers
		_, err := (&Client{c}).ServerInfo(ctx)
		var nobody *ConnectionError
		if errors.As(err, &nobody) || ctx.Err() != nil {
			return *new(A), err
		}
	}
	for {
		address, greeting := c.now(), c.greeting()
		bounded, cancel := context.WithTimeout(ctx, c.timeout)
		answer, err := call(bounded)
		cancel()
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return answer, ctx.Err()
		}
		failure := fromRPC(err, address)
		if wasAway(failure) {
			c.outages.Add(1)
		}
		pause := tries.after(address, failure)
		if !again || !mayPass(failure) {
			return answer, failure
		}
		if pause == 0 {
			continue
		}
		if time.Now().Add(pause).After(giveUp) {
			return answer, tries.allFailed(failure)
		}
		if told := c.onWait.Load(); told != nil {
			(*told)(failure)
		}
		if !rest(ctx, pause, greeting, failure) {
			return answer, ctx.Err()
		}
	}
}

// mayPass returns whether the same request may succeed later.
func mayPass(err error) bool {
	var refusal *ArbiterError
	if errors.As(err, &refusal) {
		return refusal.Temporary()
	}
	var lost *ConnectionError
	return errors.As(err, &lost)
}

func retryAfter(err error) time.Duration {
	var refusal *ArbiterError
	if errors.As(err, &refusal) {
		return refusal.RetryAfter()
	}
	return 0
}
