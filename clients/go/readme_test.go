package arbiter_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"testing"

	arbiter "github.com/game-arbiter/arbiter/clients/go"
)

// brief plays the first legal move in its first turns, and then resigns.
type brief struct{ left int }

func (b *brief) Profile() arbiter.Profile { return arbiter.Profile{Name: "brief"} }

func (b *brief) Choose(ctx context.Context, turn *arbiter.Turn) (arbiter.Choice, error) {
	if b.left--; b.left < 0 {
		return arbiter.Resign{}, nil
	}
	moves, err := turn.Moves(ctx) // the server's answer, since the profile asks for no list
	if err != nil {
		return nil, err
	}
	return arbiter.Move{Text: moves[0].Text}, nil
}

func TestTheLocalMatchOfTheReadme(t *testing.T) {
	program, err := filepath.Abs(cmp.Or(os.Getenv("ARBITER_COMMAND"), "../../.venv/bin/arbiter"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ARBITER_COMMAND", program)
	ctx, first, second := t.Context(), &brief{left: 2}, &brief{left: 1}
	finished, err := arbiter.LocalMatch(ctx, first, second, "pods", arbiter.LocalOptions{TimeControl: "1m+1s"})
	if err != nil {
		t.Fatal(err)
	}
	if finished.Result.Reason != "resignation" || len(finished.Match.Moves()) < 2 {
		t.Errorf("the match ended with %v after %v", finished, finished.Match.Moves())
	}
}
