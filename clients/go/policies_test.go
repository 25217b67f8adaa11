package arbiter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// lines is a log that a test may read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// all returns the lines so far, as LEVEL MESSAGE.
func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.text.String()), "\n")
}

func (l *lines) log() *slog.Logger {
	strip := func(_ []string, attribute slog.Attr) slog.Attr {
		if attribute.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attribute
	}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: strip}))
}

func challengeItem(id, by string) *pb.PlayItem {
	challenge := &pb.Challenge{ChallengeId: id, Challenger: by, Terms: &pb.Terms{Game: "pods"}}
	return &pb.PlayItem{Item: &pb.PlayItem_Challenge{Challenge: challenge}}
}

func matchItem(id string, ply, turn int32) *pb.PlayItem {
	match := &pb.Match{MatchId: id, Game: "pods", Players: []string{"alice", "bob"}, Phase: pb.Phase_PHASE_ACTIVE,
		TimeControl: "5m:2m", TimeControls: []string{"5m", "2m"}, Ply: ply, Turn: turn}
	return &pb.PlayItem{Item: &pb.PlayItem_Match{Match: match}}
}

// quiet waits until the bot has handled all earlier items.
func (s *peerStream) quiet() {
	s.t.Helper()
	s.say(ping(99))
	for s.read().GetPong() == nil {
		continue
	}
}

func TestNoMoreSeeksAreMadeThanMatchesAreLeft(t *testing.T) {
	p := newPeer(t)
	bot := always("a")
	bot.profile = Profile{Seeks: []Terms{{Game: "pods"}, {Game: "hop-it"}, {Game: "pondlife"}}}
	outcome, _ := p.plays(bot, Options{Matches: 2})
	stream := p.meet()
	for range 2 {
		next(t, "seek", p.seeks)
	}
	closed := func(id, match string) *pb.PlayItem {
		return &pb.PlayItem{Item: &pb.PlayItem_ChallengeClosed{ChallengeClosed: &pb.ChallengeClosed{ChallengeId: id, MatchId: match}}}
	}
	ended := func(match string) *pb.PlayItem {
		return &pb.PlayItem{Item: &pb.PlayItem_Ended{Ended: &pb.MatchEnded{MatchId: match, Seat: 1, Cursor: match}}}
	}
	stream.quiet()
	stream.say(closed("s1", "m1")) // one seek is open, one match is left beside m1
	stream.quiet()
	stream.say(matchItem("m1", 0, 1), ended("m1"))
	if stream.read().GetAcknowledge() == nil {
		t.Fatal("the result was not acknowledged")
	}
	stream.say(challengeItem("c1", "bob")) // the seek may still become the last match: there is room for it
	next(t, "match", p.accepted)
	if withdrawn := next(t, "withdrawal", p.declined); withdrawn.GetChallengeId() != "s2" {
		t.Errorf("withdrew %v", withdrawn)
	}
	stream.say(matchItem("m-c1", 0, 1), ended("m-c1"))
	if err := next(t, "outcome", outcome); err != nil {
		t.Errorf("the run ended with %v", err)
	}
	if made := p.made.Load(); made != 2 {
		t.Errorf("%d seeks were made", made)
	}
}

func TestAChallengeIsAcceptedOnceTheSeekForTheLastMatchIsWithdrawn(t *testing.T) {
	for _, taken := range []string{"", "s1"} {
		p := newPeer(t)
		p.taken = taken
		bot := always("a")
		bot.profile = Profile{Seeks: []Terms{{Game: "pods"}}}
		p.plays(bot, Options{Matches: 1})
		stream := p.meet()
		next(t, "seek", p.seeks)
		stream.say(challengeItem("c1", "bob"))
		if withdrawn := next(t, "withdrawal", p.declined); withdrawn.GetChallengeId() != "s1" {
			t.Errorf("declined %v", withdrawn)
		}
		if taken == "" {
			next(t, "match", p.accepted)
			continue
		}
		for declined := range p.declined { // the seek may be withdrawn in vain once more
			if declined.GetChallengeId() == "c1" {
				break
			}
		}
		if len(p.accepted) != 0 {
			t.Error("agreed to two matches")
		}
	}
}

func TestASeekIsKnownUntilItIsWithdrawn(t *testing.T) {
	p := newPeer(t)
	p.failing.Store(1)
	bot := always("a")
	bot.profile = Profile{Seeks: []Terms{{Game: "pods"}}, MostMatches: 1}
	p.plays(bot, Options{})
	stream := p.meet()
	next(t, "seek", p.seeks)
	stream.quiet()
	stream.say(matchItem("m1", 0, 1))
	for range 2 { // the first withdrawal fails
		if withdrawn := next(t, "withdrawal", p.declined); withdrawn.GetChallengeId() != "s1" {
			t.Errorf("withdrew %v", withdrawn)
		}
	}
}

func TestRatingsOfChallengersAreAskedForAndLimited(t *testing.T) {
	p := newPeer(t)
	p.ratings = map[string][]float64{"bob": {1500, 1900}, "carol": {1399.5}, "dave": {1601}}
	bot := always("a")
	bot.profile = Profile{LeastRating: Limit(1400), MostRating: Limit(1600)}
	p.plays(bot, Options{})
	stream := p.meet()
	for _, player := range []string{"bob", "carol", "dave", "erin"} {
		stream.say(challengeItem(player, player))
	}
	if id := next(t, "match", p.accepted); id != "bob" {
		t.Errorf("accepted %s", id)
	}
	reasons := map[string]string{}
	for range 3 {
		said := next(t, "reason", p.declined)
		reasons[said.GetChallengeId()] = said.GetReason()
	}
	if reasons["carol"] != "this bot plays against ratings of at least 1400" ||
		reasons["dave"] != "this bot plays against ratings of at most 1600" || reasons["erin"] != reasons["carol"] {
		t.Errorf("declined because %v", reasons)
	}
}

func TestATimeControlIsComparedByMeaningAndRefusedAtTheStart(t *testing.T) {
	p := newPeer(t)
	bot := always("a")
	bot.profile = Profile{TimeControls: []string{"60s+2s"}}
	p.plays(bot, Options{})
	challenge := challengeItem("c1", "bob")
	challenge.GetChallenge().Terms.TimeControl = "1m+2s"
	p.meet().say(challenge)
	next(t, "match", p.accepted)
	for _, profile := range []Profile{{TimeControls: []string{"1m", "5 min"}}, {Seeks: []Terms{{Game: "pods", TimeControl: "60"}}}} {
		var refusal *ArbiterError
		wrong := always("a")
		wrong.profile = profile
		if err := Play(t.Context(), wrong, Options{Server: p.address, Token: "secret"}); !errors.As(err, &refusal) || refusal.Reason != ReasonParameterInvalid {
			t.Errorf("%v: %v", profile, err)
		}
	}
}

func TestTheBotMayReadItsMatchWhileTheConnectionIsLost(t *testing.T) {
	p := newPeer(t)
	thinking, goOn, found := make(chan struct{}, 1), make(chan struct{}), make(chan LiveMatchFacts, 1)
	bot := &scripted{choose: func(_ context.Context, turn *Turn) (Choice, error) {
		thinking <- struct{}{}
		for open := true; open; {
			select {
			case <-goOn:
				open = false
			default:
			}
			match := turn.Match
			facts := LiveMatchFacts{match.TimeControl, match.MatchTimeControl, match.Rated, match.OpeningPlies}
			if !open {
				found <- facts
			}
		}
		return Move{Text: "a"}, nil
	}}
	p.plays(bot, Options{})
	stream := p.meet()
	stream.say(matchItem("m1", 0, 1), turnItem(turnAt("m1", 0)))
	next(t, "thought", thinking)
	stream.end <- refusing(pb.RefusalReason_REFUSAL_REASON_DRAINING, codes.Unavailable)
	stream = p.meet()
	stream.say(matchItem("m1", 0, 1), turnItem(turnAt("m1", 0)))
	stream.quiet()
	close(goOn)
	if facts := next(t, "match", found); facts != (LiveMatchFacts{"5m", "5m:2m", false, 0}) {
		t.Errorf("it is %+v", facts)
	}
}

// LiveMatchFacts are what a bot reads of its match.
type LiveMatchFacts struct {
	own, both    string
	rated        bool
	openingPlies int
}

func TestAnOutageIsTwoLines(t *testing.T) {
	p := newPeer(t)
	said := &lines{}
	var mu sync.Mutex
	var events []string
	note := func(event string) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, event)
	}
	hooks := Hooks{Connected: func(_, player string) { note("connected as " + player) },
		Disconnected: func(string, error) { note("disconnected"); panic("a hook that fails") }}
	p.plays(always("a"), Options{Log: said.log(), Hooks: hooks})
	p.meet().end <- refusing(pb.RefusalReason_REFUSAL_REASON_DRAINING, codes.Unavailable)
	for range 3 { // attempts before the server is back
		stream := next(t, "stream", p.streams)
		stream.read()
		stream.end <- refusing(pb.RefusalReason_REFUSAL_REASON_STORE_UNAVAILABLE, codes.Unavailable)
	}
	p.meet().quiet()
	found := slices.DeleteFunc(said.all(), func(line string) bool { return strings.Contains(line, "hook") })
	if len(found) != 3 || !strings.Contains(found[0], "level=INFO msg=\"connected to") ||
		!strings.Contains(found[1], "level=WARN msg=\"the connection to "+p.address+" is lost, trying again: said no") ||
		!strings.Contains(found[2], " as alice again, after ") {
		t.Errorf("logged %q", found)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(events, []string{"connected as alice", "disconnected", "connected as alice"}) {
		t.Errorf("told %v", events)
	}
}

func TestAMatchThatTheBotHasMovedInGoesOn(t *testing.T) {
	p := newPeer(t)
	said := &lines{}
	thought, refused := make(chan time.Duration, 8), make(chan *ArbiterError, 8)
	bot := &scripted{choose: func(_ context.Context, turn *Turn) (Choice, error) {
		if turn.Refused != nil {
			return Resign{}, nil
		}
		return Move{Text: "a"}, nil
	}}
	hooks := Hooks{Thought: func(_ *Turn, took time.Duration) { thought <- took }, Refused: func(_ *Turn, refusal *ArbiterError) { refused <- refusal }}
	p.plays(bot, Options{Log: said.log(), Hooks: hooks})
	stream := p.meet()
	stream.say(matchItem("new", 0, 1), matchItem("answered", 1, 1), matchItem("moved", 1, 2), matchItem("older", 8, 1))
	stream.turn(turnAt("new", 0))
	stream.refuse(stream.read(), pb.RefusalReason_REFUSAL_REASON_MOVE_ILLEGAL, codes.FailedPrecondition, nil)
	if stream.read().GetResign() == nil {
		t.Error("it does not resign")
	}
	if refusal := next(t, "refusal", refused); refusal.Reason != ReasonMoveIllegal {
		t.Errorf("refused: %v", refusal)
	}
	next(t, "thought", thought)
	next(t, "thought", thought)
	log := strings.Join(said.all(), "\n")
	for _, expected := range []string{"new begins", "answered begins", "moved goes on", "older goes on: pods as seat 1 against bob", "refused in match new: said no"} {
		if !strings.Contains(log, expected) {
			t.Errorf("%q is not in the log:\n%s", expected, log)
		}
	}
}

func TestTheLogGoesToAHook(t *testing.T) {
	p := newPeer(t)
	said := make(chan string, 64)
	p.plays(always("a"), Options{Hooks: Hooks{Log: func(level, line string) { said <- level + " " + line }}})
	p.meet()
	if line := next(t, "line", said); line != "info connected to "+p.address+" as alice" {
		t.Errorf("logged %q", line)
	}
}

func TestABookHasMovesForATurn(t *testing.T) {
	book, err := ParseOpeningBook("pods b1 c2\npods b1 d3\n")
	if err != nil {
		t.Fatal(err)
	}
	turn := &Turn{Game: "pods", Ply: 1, Match: &LiveMatch{moves: []string{"b1"}}}
	if move := book.Move(turn); move != "c2" && move != "d3" || turn.Line().Position != "" {
		t.Errorf("the book has %q", move)
	}
	turn.Match.StartPosition = "elsewhere"
	if move := book.Move(turn); move != "" || turn.Line().Position != "elsewhere" {
		t.Errorf("the book has %q in a match from a position of its own", move)
	}
}

func TestTermsHaveTheLongestAbsence(t *testing.T) {
	hour := int64(3_600_000)
	terms := Terms{Game: "chess", AbandonMs: &hour}
	if again := termsOf(terms.message()); again.AbandonMs == nil || *again.AbandonMs != hour {
		t.Errorf("%+v came back as %+v", terms, again)
	}
	if fits(Terms{Game: "chess"}, terms) || !fits(terms, terms) || !fits(terms, Terms{Game: "chess"}) {
		t.Error("a seek with another longest absence is taken for the bot's own")
	}
}

func TestTermsHaveTheirStartPosition(t *testing.T) {
	terms := Terms{Game: "chess", Position: "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1"}
	if again := termsOf(terms.message()); again != terms {
		t.Errorf("%+v came back as %+v", terms, again)
	}
	if fits(Terms{Game: "chess"}, terms) || !fits(terms, terms) {
		t.Error("a seek from another position is taken for the bot's own")
	}
}

// Panicking panics when it is asked about a challenge.
type panicking struct{ *scripted }

func (panicking) Challenged(context.Context, *Challenge) Answer { panic("ouch") }

func TestAPanicAboutAChallengeEndsTheRunWhereErrorsAreRaised(t *testing.T) {
	p := newPeer(t)
	outcome, _ := p.plays(panicking{always("a")}, Options{OnError: OnErrorRaise})
	p.meet().say(challengeItem("c1", "bob"))
	var failed *BotError
	if err := next(t, "outcome", outcome); !errors.As(err, &failed) {
		t.Errorf("the run ended with %v", err)
	}
}
