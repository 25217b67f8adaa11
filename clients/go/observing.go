package arbiter

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// Observe yields the events of a match after a revision, without a gap, up to its last; after a lost connection it
// continues without a gap. An error is yielded last.
func (c *Client) Observe(ctx context.Context, matchID string, afterRevision int64) iter.Seq2[*pb.MatchEvent, error] {
	return func(yield func(*pb.MatchEvent, error) bool) {
		request := func() *pb.ObserveRequest {
			of := &pb.ObserveMatch{MatchId: matchID, AfterRevision: afterRevision}
			return &pb.ObserveRequest{Of: &pb.ObserveRequest_Match{Match: of}}
		}
		for item, err := range c.follow(ctx, request) {
			if err != nil {
				yield(nil, err)
				return
			}
			if event := item.GetEvent(); event.GetRevision() > afterRevision {
				afterRevision = event.GetRevision()
				if !yield(event, nil) {
					return
				}
			}
		}
	}
}

// ObserveAll yields the events of every match, or of those with a label, after a token, for as long as the caller
// reads: items with an event, an event of a tournament, or neither (a bookmark), each with its token. An empty token
// starts now, "0" at the beginning of the record.
func (c *Client) ObserveAll(ctx context.Context, afterToken, label string) iter.Seq2[*pb.ObserveItem, error] {
	return func(yield func(*pb.ObserveItem, error) bool) {
		request := func() *pb.ObserveRequest {
			of := &pb.ObserveAll{AfterToken: afterToken, Label: label}
			return &pb.ObserveRequest{Of: &pb.ObserveRequest_All{All: of}}
		}
		for item, err := range c.follow(ctx, request) {
			if err == nil {
				afterToken = either(item.GetToken(), afterToken)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// follow yields the items of a stream; after a lost connection it sends the result of request again. The first
// connection is tried for the client's patience; a lost one is tried again at all addresses until it is back.
func (c *Client) follow(ctx context.Context, request func() *pb.ObserveRequest) iter.Seq2[*pb.ObserveItem, error] {
	return func(yield func(*pb.ObserveItem, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		tries, giveUp := newTries(c.addresses), time.Now().Add(c.patience)
		for {
			address, greeting := c.now(), c.greeting()
			stream, err := pb.NewMatchServiceClient(c.channel).Observe(ctx, request())
			for err == nil {
				var response *pb.ObserveResponse
				if response, err = stream.Recv(); err != nil {
					break
				}
				giveUp = time.Time{}
				tries.reset()
				for _, item := range response.GetItems() {
					if !yield(item, nil) {
						return
					}
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			failure := fromRPC(err, address)
			var refusal *ArbiterError
			slow := errors.As(failure, &refusal) && refusal.Reason == ReasonReaderTooSlow
			pause := tries.after(address, failure)
			if !(mayPass(failure) || slow) {
				yield(nil, failure)
				return
			}
			if pause > 0 && !giveUp.IsZero() && time.Now().Add(pause).After(giveUp) {
				yield(nil, tries.allFailed(failure))
				return
			}
			if !rest(ctx, pause, greeting, failure) {
				yield(nil, ctx.Err())
				return
			}
		}
	}
}
