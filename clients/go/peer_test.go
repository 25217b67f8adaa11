package arbiter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// wait is a limit for tests that hang: what is waited for takes as long as a busy machine needs.
const wait = 10 * time.Minute

type observeStream = grpc.ServerStreamingServer[pb.ObserveResponse]

// peer is a scripted server: every word that it says is the test's own.
type peer struct {
	pb.UnimplementedPlayServiceServer
	pb.UnimplementedMatchServiceServer
	pb.UnimplementedPlayerServiceServer
	pb.UnimplementedRatingServiceServer
	t         *testing.T
	address   string
	streams   chan *peerStream
	match     func(*pb.GetMatchRequest) (*pb.GetMatchResponse, error)
	declined  chan *pb.DeclineChallengeRequest
	accepted  chan string
	seeks     chan *pb.CreateSeekRequest
	observed  chan *pb.ObserveRequest
	observing func(*pb.ObserveRequest, observeStream) error
	ratings   map[string][]float64 // of versions by player, the newest first
	made      atomic.Int64         // seeks
	failing   atomic.Int64         // how many withdrawals fail first
	taken     string               // a seek that another player has accepted
}

// peerStream is one Play stream, seen from the server.
type peerStream struct {
	t     *testing.T
	acts  chan *pb.PlayAct
	token string
	send  func(*pb.PlayResponse) error
	end   chan error
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, address: listener.Addr().String(), streams: make(chan *peerStream, 16),
		declined: make(chan *pb.DeclineChallengeRequest, 16), accepted: make(chan string, 16),
		seeks: make(chan *pb.CreateSeekRequest, 16), observed: make(chan *pb.ObserveRequest, 16)}
	server := grpc.NewServer()
	pb.RegisterPlayServiceServer(server, p)
	pb.RegisterMatchServiceServer(server, p)
	pb.RegisterPlayerServiceServer(server, p)
	pb.RegisterRatingServiceServer(server, p)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return p
}

func (p *peer) Play(stream grpc.BidiStreamingServer[pb.PlayRequest, pb.PlayResponse]) error {
	said, _ := metadata.FromIncomingContext(stream.Context())
	live := &peerStream{t: p.t, acts: make(chan *pb.PlayAct, 64), send: stream.Send, end: make(chan error, 1)}
	if tokens := said.Get("authorization"); len(tokens) == 1 {
		live.token = tokens[0]
	}
	p.streams <- live
	go func() {
		defer close(live.acts)
		for {
			request, err := stream.Recv()
			if err != nil {
				if errors.Is(err, io.EOF) {
					live.end <- nil
				}
				return
			}
			for _, act := range request.GetActs() {
				live.acts <- act
			}
		}
	}()
	select {
	case err := <-live.end:
		return err
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

func (p *peer) GetMatch(_ context.Context, request *pb.GetMatchRequest) (*pb.GetMatchResponse, error) {
	return p.match(request)
}

func (p *peer) Observe(request *pb.ObserveRequest, stream grpc.ServerStreamingServer[pb.ObserveResponse]) error {
	p.observed <- request
	return p.observing(request, stream)
}

func (p *peer) DeclineChallenge(_ context.Context, request *pb.DeclineChallengeRequest) (*pb.DeclineChallengeResponse, error) {
	p.declined <- request
	if p.failing.Add(-1) >= 0 {
		return nil, status.Error(codes.Internal, "no")
	}
	if request.GetChallengeId() == p.taken {
		return nil, refusing(pb.RefusalReason_REFUSAL_REASON_CHALLENGE_NOT_FOUND, codes.NotFound)
	}
	return &pb.DeclineChallengeResponse{}, nil
}

func (p *peer) AcceptChallenge(_ context.Context, request *pb.AcceptChallengeRequest) (*pb.AcceptChallengeResponse, error) {
	p.accepted <- request.GetChallengeId()
	return &pb.AcceptChallengeResponse{Match: &pb.Match{MatchId: "m-" + request.GetChallengeId()}}, nil
}

func (p *peer) CreateSeek(_ context.Context, request *pb.CreateSeekRequest) (*pb.CreateSeekResponse, error) {
	p.seeks <- request
	id := fmt.Sprintf("s%d", p.made.Add(1))
	return &pb.CreateSeekResponse{Seek: &pb.Challenge{ChallengeId: id, Challenger: "alice", Terms: request.GetTerms()}}, nil
}

func (p *peer) GetRating(_ context.Context, request *pb.GetRatingRequest) (*pb.GetRatingResponse, error) {
	answer := &pb.GetRatingResponse{}
	for _, value := range p.ratings[request.GetPlayer()] {
		answer.Versions = append(answer.Versions, &pb.LeaderboardRow{Rating: &pb.Estimate{Value: value}})
	}
	return answer, nil
}

func (p *peer) ListChallenges(context.Context, *pb.ListChallengesRequest) (*pb.ListChallengesResponse, error) {
	return &pb.ListChallengesResponse{}, nil
}

// next returns the next of something, or fails the test.
func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case item, open := <-from:
		if !open {
			t.Fatalf("there is no %s any more", what)
		}
		return item
	case <-time.After(wait):
		t.Fatalf("no %s came", what)
	}
	panic("unreachable")
}

// meet waits for a stream and answers the bot's hello.
func (p *peer) meet() *peerStream {
	p.t.Helper()
	stream := next(p.t, "stream", p.streams)
	if stream.read().GetHello() == nil {
		p.t.Fatal("the first act is no hello")
	}
	stream.say(&pb.PlayItem{Item: &pb.PlayItem_Hello{Hello: &pb.ServerHello{Player: "alice", SilenceMostMs: 60_000}}})
	return stream
}

func (s *peerStream) read() *pb.PlayAct {
	s.t.Helper()
	return next(s.t, "act", s.acts)
}

func (s *peerStream) say(items ...*pb.PlayItem) {
	s.t.Helper()
	if err := s.send(&pb.PlayResponse{Items: items}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *peerStream) turn(turn *pb.Turn) { s.t.Helper(); s.say(turnItem(turn)) }

func turnItem(turn *pb.Turn) *pb.PlayItem { return &pb.PlayItem{Item: &pb.PlayItem_Turn{Turn: turn}} }

// turnAt returns a turn of seat 1 whose line is a, b, c, … so far.
func turnAt(match string, ply int) *pb.Turn {
	turn := &pb.Turn{MatchId: match, Game: "pods", Seat: 1, Ply: int32(ply), Opponent: "bob"}
	for n := range ply {
		turn.LastMoves = append(turn.LastMoves, &pb.RecentMove{Ply: int32(n), Move: string(rune('a' + n))})
	}
	return turn
}

func (s *peerStream) receipt(act *pb.PlayAct) {
	s.t.Helper()
	receipt := &pb.Receipt{RequestId: act.GetRequestId(), MatchId: act.GetMatchId(), Ply: act.GetMove().GetPly() + 1}
	s.answer(&pb.MoveAnswer{RequestId: act.GetRequestId(), MatchId: act.GetMatchId(), Answer: &pb.MoveAnswer_Receipt{Receipt: receipt}})
}

func (s *peerStream) refuse(act *pb.PlayAct, reason pb.RefusalReason, code codes.Code, facts map[string]string) {
	s.t.Helper()
	refusal := &pb.Refusal{Reason: reason, Code: int32(code), Message: "said no", Facts: facts}
	s.answer(&pb.MoveAnswer{RequestId: act.GetRequestId(), MatchId: act.GetMatchId(), Answer: &pb.MoveAnswer_Refusal{Refusal: refusal}})
}

func (s *peerStream) answer(answer *pb.MoveAnswer) {
	s.t.Helper()
	s.say(&pb.PlayItem{Item: &pb.PlayItem_Answer{Answer: answer}})
}

// refusing ends a stream or call with a refusal in the details of its status.
func refusing(reason pb.RefusalReason, code codes.Code) error {
	st, err := status.New(code, "said no").WithDetails(&pb.Refusal{Reason: reason, Code: int32(code), Message: "said no"})
	if err != nil {
		panic(err)
	}
	return st.Err()
}

// scripted is a bot whose choices are those of the test.
type scripted struct {
	profile Profile
	choose  func(ctx context.Context, turn *Turn) (Choice, error)
	ended   chan *FinishedMatch
}

func (s *scripted) Profile() Profile { return s.profile }

func (s *scripted) Choose(ctx context.Context, turn *Turn) (Choice, error) {
	return s.choose(ctx, turn)
}

func (s *scripted) Ended(_ context.Context, finished *FinishedMatch) {
	if s.ended != nil {
		s.ended <- finished
	}
}

// plays lets a bot play on the peer; it returns the outcome of its run, and what ends that.
func (p *peer) plays(bot Bot, options Options) (<-chan error, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	options.Server, options.Token = p.address, "secret"
	outcome := make(chan error, 1)
	go func() { outcome <- Play(ctx, bot, options) }()
	p.t.Cleanup(cancel)
	return outcome, cancel
}

func always(move string) *scripted {
	return &scripted{choose: func(context.Context, *Turn) (Choice, error) { return Move{Text: move}, nil }}
}
