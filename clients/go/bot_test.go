package arbiter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// plain is a bot without any of the optional methods.
type plain struct{}

func (plain) Profile() Profile {
	return Profile{Name: "plain", AcceptSeeks: true, EnterTournaments: true}
}

func (plain) Choose(_ context.Context, turn *Turn) (Choice, error) {
	if turn.Refused != nil {
		return Move{Text: "again"}, nil
	}
	return Move{Text: turn.Match.ID}, nil
}

func TestABotOfTwoMethodsDoesEverythingByDefault(t *testing.T) {
	p := newPeer(t)
	outcome, _ := p.plays(plain{}, Options{Matches: 1})
	stream := p.meet()
	turn := turnAt("m1", 0)
	turn.DrawOffered = true
	stream.turn(turn)
	var move *pb.PlayAct
	for range 2 { // in any order
		switch act := stream.read(); {
		case act.GetAnswerDraw() != nil:
			if act.GetAnswerDraw().GetAccept() {
				t.Error("the offer was accepted")
			}
		default:
			move = act
		}
	}
	stream.refuse(move, pb.RefusalReason_REFUSAL_REASON_MOVE_ILLEGAL, codes.FailedPrecondition, nil)
	if again := stream.read().GetMove(); again.GetMove() != "again" {
		t.Errorf("expected another choice, got %v", again)
	}
	stream.say(&pb.PlayItem{Item: &pb.PlayItem_ChallengeClosed{ChallengeClosed: &pb.ChallengeClosed{ChallengeId: "c9"}}})
	ended := &pb.MatchEnded{MatchId: "m1", Seat: 1, Cursor: "7"}
	stream.say(&pb.PlayItem{Item: &pb.PlayItem_Ended{Ended: ended}})
	if cursor := stream.read().GetAcknowledge().GetCursor(); cursor != "7" {
		t.Errorf("acknowledged %q", cursor)
	}
	if err := next(t, "outcome", outcome); err != nil {
		t.Errorf("the run ended with %v", err)
	}
}

func TestOneBotPlaysInSeveralRuns(t *testing.T) {
	bot := always("a")
	bot.ended = make(chan *FinishedMatch, 4)
	run := func(match string) (*peerStream, <-chan error) {
		p := newPeer(t)
		outcome, _ := p.plays(bot, Options{Matches: 1})
		stream := p.meet()
		stream.turn(turnAt(match, 0))
		if act := stream.read(); act.GetMatchId() != match || act.GetMove() == nil {
			t.Errorf("expected a move in %s, got %v", match, act)
		}
		return stream, outcome
	}
	end := func(match string, stream *peerStream, outcome <-chan error) {
		stream.say(&pb.PlayItem{Item: &pb.PlayItem_Ended{Ended: &pb.MatchEnded{MatchId: match, Seat: 1}}})
		if id := next(t, "end", bot.ended).ID; id != match {
			t.Errorf("%s has ended", id)
		}
		stream.read()
		if err := next(t, "outcome", outcome); err != nil {
			t.Errorf("a run ended with %v", err)
		}
	}
	first, firstOutcome := run("m1")
	second, secondOutcome := run("m2") // at once
	end("m1", first, firstOutcome)
	third, thirdOutcome := run("m3") // after another
	end("m2", second, secondOutcome)
	end("m3", third, thirdOutcome)
}

// held is a bot whose optional methods return only when their contexts end.
type held struct {
	scripted
	called chan string
	ended  chan string
}

func (h *held) hold(ctx context.Context, name string) {
	h.called <- name
	<-ctx.Done()
	h.ended <- name
}

func (h *held) Started(ctx context.Context, _ *LiveMatch) { h.hold(ctx, "Started") }

func (h *held) Challenged(ctx context.Context, _ *Challenge) Answer {
	h.hold(ctx, "Challenged")
	return Accept()
}

func (h *held) Sought(ctx context.Context, _ *Challenge) Answer {
	h.hold(ctx, "Sought")
	return Accept()
}

func (h *held) Called(ctx context.Context, _ *TournamentCall) Answer {
	h.hold(ctx, "Called")
	return Accept()
}

func TestContextsOfOptionalMethodsEndWithTheRun(t *testing.T) {
	items := map[string]*pb.PlayItem{
		"Started":    turnItem(turnAt("m1", 0)),
		"Challenged": challengeItem("c1", "bob"),
		"Sought":     {Item: &pb.PlayItem_Seek{Seek: &pb.Challenge{ChallengeId: "c2", Challenger: "bob", Terms: &pb.Terms{Game: "pods"}}}},
		"Called":     {Item: &pb.PlayItem_Tournament{Tournament: &pb.TournamentCall{TournamentId: "t1"}}},
	}
	for name, item := range items {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			bot := &held{scripted: *always("a"), called: make(chan string, 1), ended: make(chan string, 1)}
			bot.profile = Profile{AcceptSeeks: true, EnterTournaments: true}
			_, cancel := p.plays(bot, Options{})
			p.meet().say(item)
			if called := next(t, "call", bot.called); called != name {
				t.Fatalf("%s was called", called)
			}
			cancel()
			next(t, "end", bot.ended)
		})
	}
}

// eager accepts every challenge.
type eager struct{ scripted }

func (*eager) Challenged(context.Context, *Challenge) Answer { return Accept() }

func TestNoMoreIsAgreedOnThanThereIsRoomForWhateverTheBotAnswers(t *testing.T) {
	p := newPeer(t)
	bot := &eager{}
	bot.profile = Profile{MostMatches: 1}
	p.plays(bot, Options{})
	stream := p.meet()
	for _, id := range []string{"c1", "c2"} {
		challenge := &pb.Challenge{ChallengeId: id, Challenger: "bob", Terms: &pb.Terms{Game: "pods"}}
		stream.say(&pb.PlayItem{Item: &pb.PlayItem_Challenge{Challenge: challenge}})
		if id == "c1" {
			next(t, "match", p.accepted)
		}
	}
	if said := next(t, "reason", p.declined); said.GetReason() != "this bot plays 1 matches at once, and is playing them" {
		t.Errorf("declined because %q", said.GetReason())
	}
}

func TestTheStackOfAPanicIsLoggedOnLinesOfItsOwn(t *testing.T) {
	p := newPeer(t)
	said := &bytes.Buffer{}
	bot := &scripted{choose: func(context.Context, *Turn) (Choice, error) { panic(errors.New("oh")) }}
	p.plays(bot, Options{Log: newLog(said, slog.LevelError)})
	stream := p.meet()
	stream.turn(turnAt("m1", 0))
	if stream.read().GetResign() == nil { // once it says so, the log has been written
		t.Error("it did not resign")
	}
	record, stack, _ := strings.Cut(said.String(), "\n")
	if !strings.Contains(record, `the bot failed in match m1 at ply 0, and it resigns: panic: oh`) || strings.Contains(record, "goroutine") {
		t.Errorf("the record is %q", record)
	}
	lines := strings.Split(stack, "\n")
	if !strings.HasPrefix(lines[0], "goroutine ") || !strings.Contains(stack, "\n\t") || !strings.Contains(stack, "bot_test.go:") {
		t.Errorf("the stack is %q", stack)
	}
}

func TestAPanicThatEndsTheRunKeepsWhatItWas(t *testing.T) {
	p := newPeer(t)
	cause := errors.New("oh")
	bot := &scripted{choose: func(context.Context, *Turn) (Choice, error) { panic(cause) }}
	outcome, _ := p.plays(bot, Options{OnError: OnErrorRaise})
	stream := p.meet()
	stream.turn(turnAt("m1", 0))
	err := next(t, "outcome", outcome)
	var panicked *PanicError
	if !errors.Is(err, cause) || !errors.As(err, &panicked) || !strings.Contains(panicked.Stack, "bot_test.go") {
		t.Errorf("the run ended with %v", err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %q", err.Error())
	}
}

func TestWhatABotIsToldHasNoProtobuf(t *testing.T) {
	for _, file := range []string{"bot.go", "values.go", "messages.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			types, isTypes := declaration.(*ast.GenDecl)
			if !isTypes || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				declared := spec.(*ast.TypeSpec)
				if !declared.Name.IsExported() || declared.Name.Name == "Choice" { // whose methods are the client's own
					continue
				}
				ast.Inspect(declared.Type, func(node ast.Node) bool {
					if name, isName := node.(*ast.Ident); isName && name.Name == "pb" {
						t.Errorf("%s: %s has a type of protobuf", file, declared.Name.Name)
					}
					return true
				})
			}
		}
	}
}

func TestAnOutageCostsNoMatchHoweverTheBotWrapsItsError(t *testing.T) {
	ways := map[string]func(err error) error{
		"as it is":      func(err error) error { return err },
		"with %w":       func(err error) error { return fmt.Errorf("no move: %w", err) },
		"joined":        func(err error) error { return errors.Join(errors.New("no move"), err) },
		"as a text":     func(err error) error { return errors.New(err.Error()) },
		"as a panic":    func(err error) error { panic(err) },
		"swallowed":     func(error) error { return errors.New("no move") },
		"as its cause":  func(err error) error { return errors.Unwrap(err) },
		"in a BotError": func(err error) error { return &BotError{"no move", err} },
	}
	for way, wrapped := range ways {
		for _, when := range []string{"at its turn", "as its move is refused"} {
			t.Run(way+", "+when, func(t *testing.T) {
				p := newPeer(t)
				tries := 0
				p.match = func(*pb.GetMatchRequest) (*pb.GetMatchResponse, error) {
					if tries++; tries == 1 {
						return nil, refusing(pb.RefusalReason_REFUSAL_REASON_DRAINING, codes.Unavailable)
					}
					return &pb.GetMatchResponse{Match: &pb.Match{MatchId: "m1", Label: "good"}}, nil
				}
				bot := &scripted{choose: func(ctx context.Context, turn *Turn) (Choice, error) {
					if when != "at its turn" && turn.Refused == nil {
						return Move{Text: "bad"}, nil
					}
					found, err := turn.Client().Match(ctx, "m1", false)
					if err != nil {
						return nil, wrapped(err)
					}
					return Move{Text: found.GetLabel()}, nil
				}}
				p.plays(bot, Options{Patience: time.Nanosecond}) // the call itself is not made again
				stream := p.meet()
				stream.turn(turnAt("m1", 0))
				if when != "at its turn" {
					stream.refuse(stream.read(), pb.RefusalReason_REFUSAL_REASON_MOVE_ILLEGAL, codes.FailedPrecondition, nil)
				}
				if act := stream.read(); act.GetMove().GetMove() != "good" {
					t.Errorf("expected the move, got %v", act)
				}
			})
		}
	}
}
