// The smallest bot: it plays the first legal move.
//
//	go run ./samples/first_move --name alice
package main

import (
	"context"
	"fmt"

	arbiter "github.com/game-arbiter/arbiter/clients/go"
)

// FirstMove plays the first legal move.
type FirstMove struct{}

// Profile describes the bot.
func (FirstMove) Profile() arbiter.Profile {
	return arbiter.Profile{Name: "first-move", Extras: arbiter.Extras{LegalMovesUpTo: 500}}
}

// Choose returns the first legal move.
func (FirstMove) Choose(ctx context.Context, turn *arbiter.Turn) (arbiter.Choice, error) {
	moves, err := turn.Moves(ctx)
	if err != nil {
		return nil, err
	}
	return arbiter.Move{Text: moves[0].Text}, nil
}

// Ended prints the result of a match.
func (FirstMove) Ended(_ context.Context, finished *arbiter.FinishedMatch) {
	score, _ := finished.Score()
	fmt.Printf("%s against %s: %v (%s)\n", finished.Game, finished.Opponent, score, finished.Result.Reason)
}

func main() { arbiter.Main(FirstMove{}) }
