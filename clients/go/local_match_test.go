package arbiter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// program returns the arbiter's command.
func program(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(either(os.Getenv("ARBITER_COMMAND"), "../../.venv/bin/arbiter"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// local is a bot with choices for its turns, one after the other; then it resigns.
type local struct {
	scripted
	choices []Choice
	accepts bool
	turns   []*Turn
	started bool
}

func newLocal(choices ...Choice) *local {
	bot := &local{choices: choices}
	bot.profile = Profile{Name: "local", Seeks: []Terms{{Game: "pods"}}, Games: []string{"hop-it"}, Extras: Extras{Board: true, LegalMoveCount: true, LegalMovesUpTo: 500}}
	bot.choose = func(ctx context.Context, turn *Turn) (Choice, error) {
		bot.turns = append(bot.turns, turn)
		if bot.accepts { // it has been offered a draw
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if len(bot.choices) == 0 {
			return Resign{}, nil
		}
		choice := bot.choices[0]
		bot.choices = bot.choices[1:]
		return choice, nil
	}
	bot.ended = make(chan *FinishedMatch, 1)
	return bot
}

func (l *local) Started(context.Context, *LiveMatch) { l.started = true }

func (l *local) DrawOffered(context.Context, *LiveMatch) bool { return l.accepts }

func TestALocalMatchIsPlayedToItsEndAndOneBotMayPlayBothSeats(t *testing.T) {
	var lock sync.Mutex
	names := map[string]int{}
	bot := &scripted{choose: func(ctx context.Context, turn *Turn) (Choice, error) {
		self, err := turn.Client().Myself(ctx)
		if err != nil {
			return nil, err
		}
		moves, err := turn.Moves(ctx)
		if err != nil {
			return nil, err
		}
		lock.Lock()
		defer lock.Unlock()
		names[self.GetPlayer().GetName()] |= turn.Seat
		return Move{Text: moves[0].Text}, nil
	}}
	finished, err := LocalMatch(t.Context(), bot, bot, "pods(size=3)", LocalOptions{Program: program(t)})
	if err != nil {
		t.Fatal(err)
	}
	if finished.Result.Cause != "RULES" || len(names) != 2 || names["seat-1"] != 1 || names["seat-2"] != 2 {
		t.Errorf("the match ended with %v, for %v", finished, names)
	}
	if finished.Seat != 1 || finished.Opponent != "seat-2" || len(finished.Match.Moves()) == 0 {
		t.Errorf("the match ended with %v after %d moves", finished, len(finished.Match.Moves()))
	}
}

func TestBotsOfALocalMatchAreToldWhatAServerTells(t *testing.T) {
	first, second := newLocal(Move{Text: "a2"}), newLocal()
	options := LocalOptions{Program: program(t), TimeControl: "5m:2m", Opening: []string{"a1", "b1"}}
	finished, err := LocalMatch(t.Context(), first, second, "pods(size=3)", options)
	if err != nil {
		t.Fatal(err)
	}
	if score, _ := finished.Score(); score != 1 || finished.Result.Reason != "resignation" || !first.started || !second.started {
		t.Errorf("the match ended with %v", finished)
	}
	if lost := <-second.ended; lost.Seat != 2 {
		t.Errorf("seat 2 was told %v", lost)
	}
	turn := first.turns[0]
	if turn.Ply != 2 || turn.Match.OpeningPlies != 2 || len(turn.Board) == 0 || len(turn.LegalMoves) != *turn.LegalMoveCount {
		t.Errorf("the first turn is %+v", turn)
	}
	if turn.Match.TimeControl != "5m" || turn.Match.MatchTimeControl != "5m:2m" || len(turn.Clocks) != 2 || turn.Available <= 0 {
		t.Errorf("the first turn has the clocks %v of %q", turn.Clocks, turn.Match.TimeControl)
	}
	if moves := second.turns[0].Match.Moves(); strings.Join(moves, " ") != "a1 b1 a2" {
		t.Errorf("the moves are %v", moves)
	}
}

func TestInALocalMatchDrawsAreOfferedAndIllegalMovesRefused(t *testing.T) {
	first, second := newLocal(Move{Text: "nonsense"}, OfferDraw{Move{Text: "e2e4"}}), newLocal()
	second.accepts = true
	finished, err := LocalMatch(t.Context(), first, second, "chess", LocalOptions{Program: program(t)})
	if err != nil {
		t.Fatal(err)
	}
	if finished.Result.Cause != "AGREEMENT" {
		t.Errorf("the match ended with %v", finished)
	}
	if refused := first.turns[1].Refused; refused == nil || refused.Reason != ReasonMoveMalformed {
		t.Errorf("the move was refused with %v", refused)
	}
}

func TestTheErrorsOfALocalMatchAreNamed(t *testing.T) {
	_, err := LocalMatch(t.Context(), newLocal(), newLocal(), "ludo", LocalOptions{Program: program(t)})
	var refusal *ArbiterError
	if !errors.As(err, &refusal) || refusal.Reason != "GAME_UNKNOWN" {
		t.Errorf("an unknown game: %v", err)
	}
	_, err = LocalMatch(t.Context(), newLocal(), newLocal(), "pods", LocalOptions{Program: filepath.Join(t.TempDir(), "arbiter")})
	var lost *ConnectionError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "ARBITER_COMMAND") {
		t.Errorf("a program that is not there: %v", err)
	}
	failing := &scripted{choose: func(context.Context, *Turn) (Choice, error) { return nil, errors.New("no idea") }}
	_, err = LocalMatch(t.Context(), failing, newLocal(), "pods", LocalOptions{Program: program(t)})
	var failed *BotError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "no idea") {
		t.Errorf("a bot that fails: %v", err)
	}
}

func TestRulesThatAreKilledEndTheLocalMatchWithAnError(t *testing.T) {
	folder := t.TempDir()
	wrapper, noted := filepath.Join(folder, "arbiter"), filepath.Join(folder, "pid")
	script := fmt.Sprintf("#!/bin/sh\necho $$ > %s\nexec %s \"$@\"\n", noted, program(t))
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	killing := &scripted{choose: func(ctx context.Context, _ *Turn) (Choice, error) {
		text, err := os.ReadFile(noted)
		if err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, err
		}
		process, err := os.FindProcess(pid)
		if err != nil {
			return nil, err
		}
		if err := process.Kill(); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	_, err := LocalMatch(t.Context(), killing, newLocal(), "pods", LocalOptions{Program: wrapper})
	var lost *ConnectionError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "has ended before the match: signal: killed") {
		t.Errorf("the rules were killed: %v", err)
	}
}
