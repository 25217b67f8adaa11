// A bot with a simple search and no rules of its own: it asks the server to play the moves. It tries its own moves and
// the opponent's answers to the best of them, and counts pieces.
//
//	go run ./samples/search --name carol
package main

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	arbiter "github.com/game-arbiter/arbiter/clients/go"
)

const (
	width      = 8   // own moves to try
	depthWidth = 2   // of these, how many to try with the opponent's answers
	answers    = 4   // answers to try
	win        = 100 // the value of a won game, in pieces
)

type valued struct {
	move  string
	worth int
}

// Search looks two moves ahead through PlayMoves, with many calls at once.
type Search struct{}

// Profile describes the bot.
func (Search) Profile() arbiter.Profile { return arbiter.Profile{Name: "search"} }

// Choose returns the move whose worst answer is the least bad.
func (Search) Choose(ctx context.Context, turn *arbiter.Turn) (arbiter.Choice, error) {
	client, line, seat := turn.Client(), turn.Line(), turn.Seat
	best, err := look(ctx, client, line, seat, width)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(best, func(a, b valued) int { return cmp.Compare(b.worth, a.worth) })
	if best[0].worth >= win {
		return arbiter.Move{Text: best[0].move}, nil
	}
	best = best[:min(len(best), depthWidth)]
	if err := atOnce(len(best), func(at int) error {
		replies, err := look(ctx, client, line.Then(best[at].move), seat, answers)
		for _, reply := range replies {
			best[at].worth = min(best[at].worth, reply.worth)
		}
		return err
	}); err != nil {
		return nil, err
	}
	choice := slices.MaxFunc(best, func(a, b valued) int { return cmp.Compare(a.worth, b.worth) })
	return arbiter.Move{Text: choice.move}, nil
}

// look returns some of the moves after a line, and the value of each for a seat.
func look(ctx context.Context, client *arbiter.Client, line arbiter.Line, seat, most int) ([]valued, error) {
	legal, err := client.LegalMoves(ctx, line)
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(legal), func(i, j int) { legal[i], legal[j] = legal[j], legal[i] })
	found := make([]valued, min(most, len(legal)))
	err = atOnce(len(found), func(at int) (err error) {
		found[at].move = legal[at].Text
		found[at].worth, err = worth(ctx, client, line.Then(found[at].move), seat)
		return err
	})
	return found, err
}

// atOnce does several things at the same time, and returns their errors.
func atOnce(count int, work func(at int) error) error {
	var group sync.WaitGroup
	failed := make([]error, count)
	for at := range count {
		group.Add(1)
		go func() {
			defer group.Done()
			failed[at] = work(at)
		}()
	}
	group.Wait()
	return errors.Join(failed...)
}

// worth returns the value of the end of a line for a seat: a win, a loss, or the difference in pieces.
func worth(ctx context.Context, client *arbiter.Client, line arbiter.Line, seat int) (int, error) {
	played, err := client.PlayMoves(ctx, line, len(line.Moves), true)
	if err != nil {
		return 0, err
	}
	if end := played.Outcome; end != nil && end.Winner != 0 {
		if end.Winner == seat {
			return win, nil
		}
		return -win, nil
	}
	pieces := 0
	for _, cell := range played.Positions[len(played.Positions)-1].Board {
		switch cell.Owner {
		case 0:
		case seat:
			pieces++
		default:
			pieces--
		}
	}
	return pieces, nil
}

func main() { arbiter.Main(Search{}) }
