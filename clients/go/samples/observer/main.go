// Watches a match, or everything: prints a line for each event, also after lost connections.
//
//	go run ./samples/observer            everything from now on
//	go run ./samples/observer MATCH      one match, from its beginning
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	arbiter "github.com/game-arbiter/arbiter/clients/go"
	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// describe returns an event as a line of text.
func describe(event *pb.MatchEvent) string {
	switch {
	case event.GetCreated() != nil:
		created := event.GetCreated()
		return fmt.Sprintf("%s: %s, %s", created.GetGame(), strings.Join(created.GetPlayers(), " against "), created.GetTimeControl())
	case event.GetMoved() != nil:
		moved := event.GetMoved()
		return fmt.Sprintf("%d. %s (seat %d, %d ms)", moved.GetPly()+1, moved.GetMove(), moved.GetSeat(), moved.GetLedger().GetChargedMs())
	case event.GetEnded() != nil:
		result := event.GetEnded()
		if result.GetWinner() != 0 {
			return fmt.Sprintf("seat %d wins: %s", result.GetWinner(), result.GetReason())
		}
		return result.GetReason()
	default:
		return fmt.Sprintf("%T", event.GetEvent())
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, arguments := arbiter.ParseConnection()
	client, err := arbiter.NewClient(options)
	if err != nil {
		return err
	}
	defer client.Close()
	show := func(event *pb.MatchEvent) {
		fmt.Printf("%s %d: %s\n", event.GetMatchId(), event.GetRevision(), describe(event))
	}
	if len(arguments) > 0 {
		for event, err := range client.Observe(ctx, arguments[0], 0) {
			if err != nil {
				return err
			}
			show(event)
		}
		return nil
	}
	for item, err := range client.ObserveAll(ctx, "", "") {
		if err != nil {
			return err
		}
		if event := item.GetEvent(); event != nil {
			show(event)
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "observer:", arbiter.PlainText(err.Error()))
		os.Exit(1)
	}
}
