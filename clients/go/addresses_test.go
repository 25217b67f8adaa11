package arbiter

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// nowhere returns an address at which every connection is closed at once.
func nowhere(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for connection, err := listener.Accept(); err == nil; connection, err = listener.Accept() {
			connection.Close()
		}
	}()
	return listener.Addr().String()
}

func TestAddressesStandBetweenCommas(t *testing.T) {
	for text, expected := range map[string][]string{
		"a:1":             {"a:1"},
		" a:1 , [::1]:2 ": {"a:1", "[::1]:2"},
		"a:1,b:2,a:1":     {"a:1", "b:2"},
	} {
		if found, err := checkedAddresses(text); err != nil || !slices.Equal(found, expected) {
			t.Errorf("%q: %v, %v", text, found, err)
		}
	}
	for text, which := range map[string]string{
		"a:1,b":      `"b" (number 2 of 2) is no address: write HOST:PORT`,
		"a:1,":       `"" (number 2 of 2) is no address: write HOST:PORT`,
		"a:x,b:1":    `"a:x" (number 1 of 2) is no address: write HOST:PORT`,
		"::1:7400":   `"::1:7400" is no address: write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400`,
		"a:1 b:2":    `"a:1 b:2" is no address`,
		"a:1,b:7000": "",
	} {
		_, err := NewClient(ClientOptions{Server: text, Token: "t"})
		if (which == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), which) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAllAddressesAreTriedBeforeThereIsAPause(t *testing.T) {
	shared := &addresses{listed: []string{"a:1", "b:1", "c:1"}}
	tries := newTries(shared)
	gone := &ConnectionError{Message: "gone"}
	draining := &ArbiterError{Reason: "DRAINING", Code: codes.Unavailable, Facts: map[string]string{"retry_after_ms": "9000"}}
	limited := &ArbiterError{Reason: "RATE_LIMITED", Code: codes.ResourceExhausted, Facts: map[string]string{"retry_after_ms": "9000"}}
	if pause := tries.after("a:1", limited); pause < 9*time.Second || shared.now() != "a:1" {
		t.Errorf("what is refused to one caller is no reason to leave: %v, %s", pause, shared.now())
	}
	tries.reset()
	for _, step := range []struct {
		at    string
		err   error
		most  time.Duration
		turns string
	}{
		{"a:1", gone, 0, "b:1"}, {"b:1", draining, 0, "c:1"}, {"c:1", gone, 100 * time.Millisecond, "a:1"}, {"a:1", gone, 0, "b:1"},
	} {
		if pause := tries.after(step.at, step.err); pause > step.most || (pause > 0) != (step.most > 0) || shared.now() != step.turns {
			t.Errorf("after %s: %v, and then %s", step.at, pause, shared.now())
		}
	}
}

func TestACallGoesOnAtTheNextAddress(t *testing.T) {
	p, gone := newPeer(t), nowhere(t)
	p.match = func(*pb.GetMatchRequest) (*pb.GetMatchResponse, error) {
		return &pb.GetMatchResponse{Match: &pb.Match{MatchId: "m1"}}, nil
	}
	client, err := NewClient(ClientOptions{Server: gone + "," + p.address, Token: "t", Patience: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if match, err := client.Match(t.Context(), "m1", false); err != nil || match.GetMatchId() != "m1" || client.Server() != p.address {
		t.Errorf("%v, %v, at %s", match, err, client.Server())
	}
	p.match = func(*pb.GetMatchRequest) (*pb.GetMatchResponse, error) {
		return nil, refusing(pb.RefusalReason_REFUSAL_REASON_DRAINING, codes.Unavailable)
	}
	_, err = client.Match(t.Context(), "m1", false)
	var lost *ConnectionError
	if !errors.As(err, &lost) || !strings.HasPrefix(lost.Message, "no arbiter answers at "+gone+" (") ||
		!strings.Contains(lost.Message, ", nor at "+p.address+" (") {
		t.Errorf("each address and its reason: %v", err)
	}
}

func TestWatchingGoesOnAtTheNextAddress(t *testing.T) {
	first, second := newPeer(t), newPeer(t)
	event := func(revision int64) *pb.ObserveResponse {
		return &pb.ObserveResponse{Items: []*pb.ObserveItem{{Item: &pb.ObserveItem_Event{Event: &pb.MatchEvent{MatchId: "m1", Revision: revision}}}}}
	}
	first.observing = func(_ *pb.ObserveRequest, stream observeStream) error {
		_ = stream.Send(event(1))
		return refusing(pb.RefusalReason_REFUSAL_REASON_DRAINING, codes.Unavailable)
	}
	second.observing = func(_ *pb.ObserveRequest, stream observeStream) error { return stream.Send(event(2)) }
	client, err := NewClient(ClientOptions{Server: first.address + "," + second.address, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var seen []int64
	for event, err := range client.Observe(t.Context(), "m1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, int64(event.GetRevision()))
	}
	if !slices.Equal(seen, []int64{1, 2}) || next(t, "call", second.observed).GetMatch().GetAfterRevision() != 1 {
		t.Errorf("seen: %v", seen)
	}
}

func TestABotGoesOnAtTheNextAddressWithTheMoveThatWasNotAnswered(t *testing.T) {
	first, second := newPeer(t), newPeer(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	servers := nowhere(t) + "," + first.address + "," + second.address
	go func() { _ = Play(ctx, always("a"), Options{Server: servers, Token: "secret"}) }()
	stream := first.meet()
	stream.turn(turnAt("m1", 0))
	lost := stream.read()
	stream.end <- draining(t)
	stream = second.meet()
	if again := stream.read(); !proto.Equal(lost, again) {
		t.Errorf("expected %v again, got %v", lost, again)
	}
	stream.receipt(lost)
	stream.end <- draining(t)
	first.meet() // and back, past the one that is not there
}

// draining returns the end of a stream of a server that asks for a minute, which no test waits for.
func draining(t *testing.T) error {
	t.Helper()
	refusal := &pb.Refusal{Reason: pb.RefusalReason_REFUSAL_REASON_DRAINING, Code: int32(codes.Unavailable), Message: "about to stop",
		Facts: map[string]string{"retry_after_ms": "60000"}}
	st, err := status.New(codes.Unavailable, "about to stop").WithDetails(refusal)
	if err != nil {
		t.Fatal(err)
	}
	return st.Err()
}

func TestATokenIsKeptForEveryAddress(t *testing.T) {
	t.Setenv("ARBITER_CREDENTIALS", t.TempDir()+"/credentials.json")
	if err := SaveToken("a:1,b:2", "alice", "secret"); err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"a:1", "b:2", "c:3,b:2"} {
		if token, err := FindToken(server, "alice"); err != nil || token != "secret" {
			t.Errorf("%s: %q, %v", server, token, err)
		}
	}
}
