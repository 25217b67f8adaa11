package arbiter

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

func ping(number uint64) *pb.PlayItem {
	return &pb.PlayItem{Item: &pb.PlayItem_Ping{Ping: &pb.Ping{Number: number}}}
}

func TestPingsAreAnsweredWhileTheBotThinks(t *testing.T) {
	p := newPeer(t)
	thinking, goOn := make(chan struct{}, 1), make(chan struct{})
	bot := &scripted{choose: func(context.Context, *Turn) (Choice, error) {
		thinking <- struct{}{}
		<-goOn
		return Move{Text: "a"}, nil
	}}
	p.plays(bot, Options{})
	stream := p.meet()
	if stream.token != "Bearer secret" {
		t.Errorf("the token is %q", stream.token)
	}
	stream.turn(turnAt("m1", 0))
	next(t, "thought", thinking)
	stream.say(ping(7))
	if pong := stream.read().GetPong(); pong.GetNumber() != 7 {
		t.Errorf("expected a pong, got %v", pong)
	}
	close(goOn)
	if move := stream.read().GetMove(); move.GetMove() != "a" || move.GetPly() != 0 {
		t.Errorf("expected a move, got %v", move)
	}
}

func TestUnansweredRequestsAreSentAgainInTheirOldOrder(t *testing.T) {
	p := newPeer(t)
	p.plays(always("a"), Options{})
	stream := p.meet()
	var said []*pb.PlayAct
	for _, match := range []string{"m1", "m2", "m3"} {
		stream.turn(turnAt(match, 0))
		said = append(said, stream.read())
	}
	stream.receipt(said[1])
	stream.say(ping(1)) // once it is answered, the receipt has been taken
	stream.read()
	stream.end <- refusing(pb.RefusalReason_REFUSAL_REASON_DRAINING, codes.Unavailable)
	stream = p.meet()
	stream.turn(turnAt("m1", 0)) // told again, and not chosen for again
	for _, expected := range []*pb.PlayAct{said[0], said[2]} {
		if act := stream.read(); !proto.Equal(act, expected) {
			t.Errorf("expected %v, got %v", expected, act)
		}
	}
	stream.turn(turnAt("m4", 0))
	if act := stream.read(); act.GetMatchId() != "m4" {
		t.Errorf("expected the move of m4, got %v", act)
	}
}

func TestAThoughtOutlivesItsConnection(t *testing.T) {
	p := newPeer(t)
	goOn, asked := make(chan struct{}), make(chan struct{}, 8)
	bot := &scripted{choose: func(context.Context, *Turn) (Choice, error) {
		asked <- struct{}{}
		<-goOn
		return Move{Text: "a"}, nil
	}}
	p.plays(bot, Options{})
	stream := p.meet()
	stream.turn(turnAt("m1", 0))
	next(t, "thought", asked)
	stream.end <- refusing(pb.RefusalReason_REFUSAL_REASON_DRAINING, codes.Unavailable)
	stream = p.meet()
	stream.turn(turnAt("m1", 0))
	stream.say(ping(1))
	stream.read()
	close(goOn)
	if act := stream.read(); act.GetMove().GetMove() != "a" {
		t.Errorf("expected the move, got %v", act)
	}
	if len(asked) != 0 {
		t.Error("the bot was asked twice")
	}
}

func TestALaterTurnEndsAnOlderThought(t *testing.T) {
	p := newPeer(t)
	thinking, givenUp := make(chan struct{}, 1), make(chan struct{}, 1)
	bot := &scripted{choose: func(ctx context.Context, turn *Turn) (Choice, error) {
		if turn.Ply == 0 {
			thinking <- struct{}{}
			<-ctx.Done()
			givenUp <- struct{}{}
			return Move{Text: "late"}, nil
		}
		return Move{Text: "c"}, nil
	}}
	p.plays(bot, Options{})
	stream := p.meet()
	stream.turn(turnAt("m1", 0))
	next(t, "thought", thinking)
	stream.turn(turnAt("m1", 2))
	next(t, "end of the thought", givenUp)
	if move := stream.read().GetMove(); move.GetMove() != "c" || move.GetPly() != 2 {
		t.Errorf("expected the move of ply 2, got %v", move)
	}
}

func TestAGapIsClosedBeforeTheBotIsAsked(t *testing.T) {
	p := newPeer(t)
	p.match = func(request *pb.GetMatchRequest) (*pb.GetMatchResponse, error) {
		if !request.GetWithMoves() {
			t.Error("the moves were not asked for")
		}
		return &pb.GetMatchResponse{Match: &pb.Match{MatchId: "m1", Moves: []string{"a", "b", "c", "d"}}}, nil
	}
	lines := make(chan []string, 1)
	bot := &scripted{choose: func(_ context.Context, turn *Turn) (Choice, error) {
		lines <- turn.Line().Moves
		return Resign{}, nil
	}}
	p.plays(bot, Options{})
	stream := p.meet()
	turn := turnAt("m1", 3)
	turn.LastMoves = turn.LastMoves[2:]
	stream.turn(turn)
	if line := next(t, "line", lines); len(line) != 3 || line[0] != "a" {
		t.Errorf("the line is %v", line)
	}
	if stream.read().GetResign() == nil {
		t.Error("it did not resign")
	}
}

func TestRefusals(t *testing.T) {
	p := newPeer(t)
	refused := make(chan Reason, 4)
	bot := &scripted{choose: func(_ context.Context, turn *Turn) (Choice, error) {
		if turn.Refused != nil {
			refused <- turn.Refused.Reason
			return Move{Text: "good"}, nil
		}
		return Move{Text: "bad"}, nil
	}}
	p.plays(bot, Options{})
	stream := p.meet()
	stream.turn(turnAt("m1", 0))
	act := stream.read()
	stream.refuse(act, pb.RefusalReason_REFUSAL_REASON_STORE_UNAVAILABLE, codes.Unavailable, map[string]string{"retry_after_ms": "1"})
	if again := stream.read(); !proto.Equal(act, again) {
		t.Errorf("a refusal that passes repeats the request: expected %v, got %v", act, again)
	}
	stream.refuse(act, pb.RefusalReason_REFUSAL_REASON_MOVE_ILLEGAL, codes.FailedPrecondition, nil)
	if reason := next(t, "refusal", refused); reason != ReasonMoveIllegal {
		t.Errorf("refused for %s", reason)
	}
	second := stream.read()
	if second.GetMove().GetMove() != "good" || second.GetRequestId() == act.GetRequestId() {
		t.Errorf("expected another request, got %v", second)
	}
	stream.refuse(second, pb.RefusalReason_REFUSAL_REASON_MOVE_ILLEGAL, codes.FailedPrecondition, nil)
	if stream.read().GetResign() == nil {
		t.Error("the second refusal did not resign")
	}
	stream.turn(turnAt("m2", 0))
	late := stream.read()
	stream.refuse(late, pb.RefusalReason_REFUSAL_REASON_PLY_MISMATCH, codes.Aborted, nil)
	stream.turn(turnAt("m2", 2))
	if move := stream.read().GetMove(); move.GetPly() != 2 {
		t.Errorf("a move that came too late costs nothing: got %v", move)
	}
}

func TestABotThatFailsCostsOneMatch(t *testing.T) {
	p := newPeer(t)
	bot := &scripted{choose: func(_ context.Context, turn *Turn) (Choice, error) {
		switch turn.Match.ID {
		case "m1":
			return nil, errors.New("lost the thread")
		case "m2":
			panic("oh")
		case "m3":
			return nil, nil
		}
		return Move{Text: "a"}, nil
	}}
	p.plays(bot, Options{})
	stream := p.meet()
	for _, match := range []string{"m1", "m2", "m3"} {
		stream.turn(turnAt(match, 0))
		if act := stream.read(); act.GetResign() == nil || act.GetMatchId() != match {
			t.Errorf("expected %s to be resigned, got %v", match, act)
		}
	}
	stream.turn(turnAt("m4", 0))
	if stream.read().GetMove().GetMove() != "a" {
		t.Error("the other match does not go on")
	}
}

func TestARunThatRaises(t *testing.T) {
	p := newPeer(t)
	lost := errors.New("lost the thread")
	bot := &scripted{choose: func(context.Context, *Turn) (Choice, error) { return nil, lost }}
	outcome, _ := p.plays(bot, Options{OnError: OnErrorRaise})
	stream := p.meet()
	stream.turn(turnAt("m1", 0))
	err := next(t, "outcome", outcome)
	var failed *BotError
	if !errors.As(err, &failed) || !errors.Is(err, lost) {
		t.Errorf("the run ended with %v", err)
	}
}

func TestTheServerHearsThatTheBotIsReadyForAMatchThatWaits(t *testing.T) {
	p := newPeer(t)
	p.plays(always("a"), Options{})
	stream := next(t, "stream", p.streams)
	if said := stream.read().GetHello().GetCapabilities(); len(said) != 1 || said[0] != "ready" {
		t.Errorf("the capabilities are %v", said)
	}
	stream.say(&pb.PlayItem{Item: &pb.PlayItem_Hello{Hello: &pb.ServerHello{Player: "alice", SilenceMostMs: 60_000}}})
	for _, phase := range []pb.Phase{pb.Phase_PHASE_PENDING, pb.Phase_PHASE_PAUSED} {
		match := &pb.Match{MatchId: "m1", Game: "pods", Players: []string{"alice", "bob"}, Phase: phase}
		stream.say(&pb.PlayItem{Item: &pb.PlayItem_Match{Match: match}})
		if act := stream.read(); act.GetReady() == nil || act.GetMatchId() != "m1" {
			t.Errorf("the bot says %v", act)
		}
	}
	stream.say(turnItem(turnAt("m1", 0)))
	if stream.read().GetMove().GetMove() != "a" {
		t.Error("no move came")
	}
}

func TestResultsAreAcknowledgedAndEndTheRun(t *testing.T) {
	p := newPeer(t)
	bot := always("a")
	bot.ended = make(chan *FinishedMatch, 2)
	outcome, _ := p.plays(bot, Options{Matches: 1})
	stream := p.meet()
	won := &pb.Result{Kind: pb.ResultKind_RESULT_KIND_WIN, Winner: 1, Reason: "territory"}
	ended := &pb.MatchEnded{MatchId: "m1", Game: "pods", Seat: 1, Opponent: "bob", Result: won, Cursor: "12"}
	stream.say(&pb.PlayItem{Item: &pb.PlayItem_Ended{Ended: ended}})
	if score, counts := next(t, "end", bot.ended).Score(); score != 1 || !counts {
		t.Errorf("the score is %v, %v", score, counts)
	}
	if cursor := stream.read().GetAcknowledge().GetCursor(); cursor != "12" {
		t.Errorf("acknowledged %q", cursor)
	}
	if err := next(t, "outcome", outcome); err != nil {
		t.Errorf("the run ended with %v", err)
	}
	if _, open := <-stream.acts; open {
		t.Error("the bot says more")
	}
}

func TestWhatIsNewerIsPassedOver(t *testing.T) {
	p := newPeer(t)
	p.plays(always("a"), Options{})
	stream := p.meet()
	unknown := []byte{0xfa, 0x3f, 0x02, 'h', 'i'} // field 1023
	item := &pb.PlayItem{}
	item.ProtoReflect().SetUnknown(unknown)
	turn := turnAt("m1", 0)
	turn.ProtoReflect().SetUnknown(unknown)
	stream.say(item, turnItem(turn))
	if stream.read().GetMove().GetMove() != "a" {
		t.Error("no move came")
	}
}

func TestTheEndOfASession(t *testing.T) {
	for _, refusal := range []struct {
		reason pb.RefusalReason
		code   codes.Code
	}{
		{pb.RefusalReason_REFUSAL_REASON_SESSION_SUPERSEDED, codes.Aborted},
		{pb.RefusalReason_REFUSAL_REASON_TOKEN_INVALID, codes.Unauthenticated},
		{pb.RefusalReason_REFUSAL_REASON_GAME_UNKNOWN, codes.InvalidArgument},
		{pb.RefusalReason_REFUSAL_REASON_MESSAGE_TOO_LARGE, codes.ResourceExhausted},
	} {
		t.Run(refusal.reason.String(), func(t *testing.T) {
			p := newPeer(t)
			outcome, _ := p.plays(always("a"), Options{})
			stream := p.meet()
			stream.end <- refusing(refusal.reason, refusal.code)
			var said *ArbiterError
			if err := next(t, "outcome", outcome); !errors.As(err, &said) || said.Reason != reasonOf(refusal.reason) {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

func TestASilentServerIsLeft(t *testing.T) {
	p := newPeer(t)
	p.plays(always("a"), Options{})
	stream := next(t, "stream", p.streams)
	stream.read()
	stream.say(&pb.PlayItem{Item: &pb.PlayItem_Hello{Hello: &pb.ServerHello{Player: "alice", SilenceMostMs: 50}}})
	p.meet()
}

func TestAServerThatIsNotThere(t *testing.T) {
	var failed *ConnectionError
	err := Play(t.Context(), always("a"), Options{Server: "127.0.0.1:1", Token: "secret", Patience: 200 * time.Millisecond})
	if !errors.As(err, &failed) {
		t.Errorf("the run ended with %v", err)
	}
	if err := Play(t.Context(), always("a"), Options{Server: "nowhere", Token: "secret"}); !errors.As(err, &failed) {
		t.Errorf("the run ended with %v", err)
	}
}

func TestAFirstTryThatTakesLongerThanThePatienceIsNotTheLast(t *testing.T) {
	p := newPeer(t)
	p.plays(always("a"), Options{Patience: 200 * time.Millisecond})
	stream := next(t, "stream", p.streams)
	time.Sleep(200 * time.Millisecond) // nothing to wait for: this is a slow machine
	stream.end <- refusing(pb.RefusalReason_REFUSAL_REASON_STORE_UNAVAILABLE, codes.Unavailable)
	p.meet()
}

func TestCancellationSaysGoodbye(t *testing.T) {
	p := newPeer(t)
	outcome, cancel := p.plays(always("a"), Options{})
	stream := p.meet()
	cancel()
	if _, open := <-stream.acts; open {
		t.Error("the bot says more")
	}
	if err := next(t, "outcome", outcome); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
}

func TestDrawOffersAreAnsweredOnce(t *testing.T) {
	p := newPeer(t)
	think := make(chan struct{})
	bot := &scripted{choose: func(context.Context, *Turn) (Choice, error) { <-think; return Move{Text: "a"}, nil }}
	p.plays(bot, Options{})
	stream := p.meet()
	turn := turnAt("m1", 0)
	turn.DrawOffered = true
	offered := &pb.PlayItem{Item: &pb.PlayItem_DrawOffered{DrawOffered: &pb.DrawOffered{MatchId: "m1"}}}
	stream.say(turnItem(turn), offered)
	if answer := stream.read().GetAnswerDraw(); answer == nil || answer.GetAccept() {
		t.Errorf("expected a declined offer, got %v", answer)
	}
	close(think)
	if stream.read().GetMove() == nil {
		t.Error("the offer was answered twice")
	}
}

func TestChallengesAndSeeks(t *testing.T) {
	p := newPeer(t)
	bot := always("a")
	seek := Terms{Game: "pods", TimeControl: "1m"}
	bot.profile = Profile{Games: []string{"pods"}, MostMatches: 2, AcceptSeeks: true, Seeks: []Terms{seek}}
	_, cancel := p.plays(bot, Options{})
	stream := p.meet()
	if made := next(t, "seek", p.seeks); made.GetTerms().GetGame() != "pods" {
		t.Errorf("it seeks %v", made)
	}
	challenge := func(id, game string) *pb.Challenge {
		return &pb.Challenge{ChallengeId: id, Challenger: "bob", Terms: &pb.Terms{Game: game}}
	}
	stream.say(&pb.PlayItem{Item: &pb.PlayItem_Challenge{Challenge: challenge("c1", "hop-it")}})
	if said := next(t, "reason", p.declined); said.GetReason() != "this bot plays pods" {
		t.Errorf("declined because %q", said.GetReason())
	}
	stream.say(&pb.PlayItem{Item: &pb.PlayItem_Seek{Seek: challenge("c2", "pods(size=5)")}})
	if id := next(t, "match", p.accepted); id != "c2" {
		t.Errorf("accepted %s", id)
	}
	cancel()
	if said := next(t, "withdrawal", p.declined); said.GetChallengeId() != "s1" {
		t.Errorf("withdrew %v", said)
	}
}
