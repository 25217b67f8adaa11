package arbiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

const helloWait = 10 * time.Second // time limit for the server's hello

// session is a bot's session: one stream after another, until it is stopped or the server refuses it. Once all addresses
// have failed, the first connection is tried again for the connection's patience; a lost one is tried again at all
// addresses until it is back.
type session struct {
	client *Client
	hello  *pb.ClientHello
	outbox *outbox
	runner *runner
	log    *slog.Logger
	hooks  *Hooks
	tries  *tries
	met    bool
	lost   time.Time // when the connection was lost; zero while there is one
}

// run plays until stopping is closed; the outbox is to be closed with it. It returns an *ArbiterError if the server
// ends the session finally, or *ConnectionError.
func (s *session) run(ctx context.Context, stopping <-chan struct{}) error {
	var giveUp time.Time // zero until all addresses have failed
	for {
		address := s.client.now()
		err := s.oneStream(ctx, address)
		select {
		case <-stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if s.client.up.Swap(false) {
			s.hooks.disconnected(s.log, address, err)
		}
		var refusal *ArbiterError
		if errors.As(err, &refusal) && !passes(refusal) {
			return err
		}
		pause := s.tries.after(address, err)
		if s.met {
			s.say(address, pause, err)
		} else if pause > 0 {
			now := time.Now()
			if giveUp.IsZero() {
				giveUp = now.Add(s.client.patience)
			}
			if now.Add(pause).After(giveUp) {
				return s.tries.allFailed(err)
			}
			if told := s.client.onWait.Load(); told != nil {
				(*told)(err)
			}
		}
		select {
		case <-stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// say logs an outage: once when the connection is lost, and its later attempts as details.
func (s *session) say(address string, pause time.Duration, err error) {
	if s.lost.IsZero() {
		s.lost = time.Now()
		cause, _, _ := strings.Cut(err.Error(), ": ")
		s.log.Warn(fmt.Sprintf("the connection to %s is lost, trying again: %s", address, cause))
	}
	s.log.Debug(fmt.Sprintf("trying again at %s in %.1f s: %v", s.client.now(), pause.Seconds(), err))
}

// greet logs that the server has said hello, and after an outage how long that took.
func (s *session) greet(address, player string) {
	line := fmt.Sprintf("connected to %s as %s", address, player)
	if s.lost.IsZero() {
		s.log.Info(line)
	} else {
		s.log.Warn(fmt.Sprintf("%s again, after %.1f s", line, time.Since(s.lost).Seconds()))
	}
	s.lost, s.met = time.Time{}, true
	s.client.up.Store(true)
	s.client.greet()
	s.hooks.connected(s.log, address, player)
}

// oneStream runs one stream, and returns the error that ended it.
func (s *session) oneStream(ctx context.Context, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.outbox.hold(s.hello)
	watch := newWatchdog(helloWait, cancel)
	defer watch.stop()
	stream, err := pb.NewPlayServiceClient(s.client.channels[address]).Play(ctx)
	if err != nil {
		return s.ended(address, err, nil, watch)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write(ctx, stream)
	}()
	notice, err := s.read(address, stream, watch)
	cancel()
	<-written
	return s.ended(address, err, notice, watch)
}

// ended returns why a stream ended: by its status, or the notice before, or because of silence.
func (s *session) ended(address string, err error, notice *ArbiterError, watch *watchdog) error {
	if watch.barked.Load() {
		return &ConnectionError{Message: fmt.Sprintf("the arbiter at %s has been silent for %v", address, watch.limit())}
	}
	failure := fromRPC(err, address)
	var refusal *ArbiterError
	if notice != nil && !errors.As(failure, &refusal) {
		return notice
	}
	return failure
}

func (s *session) read(address string, stream grpc.BidiStreamingClient[pb.PlayRequest, pb.PlayResponse], watch *watchdog) (notice *ArbiterError, err error) {
	for {
		response, err := stream.Recv()
		if err != nil {
			return notice, err
		}
		watch.pat()
		for _, item := range response.GetItems() {
			switch item := item.GetItem().(type) {
			case *pb.PlayItem_Ping:
				pong := &pb.Pong{Number: item.Ping.GetNumber()}
				s.outbox.sayAtOnce(&pb.PlayAct{Act: &pb.PlayAct_Pong{Pong: pong}})
			case *pb.PlayItem_Hello:
				s.runner.greeted(item.Hello.GetPlayer())
				if most := item.Hello.GetSilenceMostMs(); most > 0 {
					watch.allow(time.Duration(most) * time.Millisecond)
				}
				s.greet(address, item.Hello.GetPlayer())
				s.tries.reset()
				s.outbox.release()
			case *pb.PlayItem_Notice:
				notice = fromRefusal(item.Notice)
				s.log.Info(fmt.Sprintf("the arbiter is about to end the stream: %v", notice))
			}
		}
		for _, item := range response.GetItems() {
			s.runner.take(item)
		}
	}
}

func (s *session) write(ctx context.Context, stream grpc.BidiStreamingClient[pb.PlayRequest, pb.PlayResponse]) {
	for request := s.outbox.next(ctx); request != nil; request = s.outbox.next(ctx) {
		if stream.Send(request) != nil {
			return // the stream is over, and its reader has the reason
		}
	}
	if ctx.Err() == nil {
		_ = stream.CloseSend()
	}
}

// passes returns whether a new stream may succeed after one that ended with this refusal.
func passes(refusal *ArbiterError) bool {
	switch refusal.Reason {
	case ReasonSessionSuperseded, ReasonMessageTooLarge:
		return false
	}
	switch refusal.Code {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown, codes.Canceled, codes.DeadlineExceeded:
		return true
	}
	return false
}
