package arbiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	farewellWait   = 5 * time.Second // time limit for the server to end the stream after the bot
	withdrawalWait = 2 * time.Second // time limit for withdrawing the bot's seeks before that
)

// Run plays a bot until it is done, or SIGINT or SIGTERM comes. It returns as Play does, and nil after a signal.
func Run(bot Bot, options Options) error {
	return runAs(bot, bot.Profile(), options)
}

func runAs(bot Bot, profile Profile, options Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := play(ctx, bot, profile, options)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Play plays a bot on a server, until enough matches have ended, or the context ends. In any case its open seeks are
// withdrawn, its last acts are sent, and the server's end of the stream is awaited, for some seconds at most.
//
// It returns *ArbiterError if the server refuses the bot (SESSION_SUPERSEDED: the same player plays elsewhere), and
// before anything is sent if one of its time controls is none (PARAMETER_INVALID); *ConnectionError, *CredentialsError, *BotError, or the context's error.
func Play(ctx context.Context, bot Bot, options Options) error {
	return play(ctx, bot, bot.Profile(), options)
}

// play plays a bot with a given profile.
func play(ctx context.Context, bot Bot, profile Profile, options Options) error {
	profile.Version = either(profile.Version, "1")
	if err := profile.checkControls(); err != nil {
		return err
	}
	name := either(options.Name, os.Getenv("ARBITER_NAME"), profile.Name)
	client, err := NewClient(ClientOptions{Server: options.Server, Token: options.Token, Name: name, TLS: options.TLS, Patience: options.Patience})
	if err != nil {
		return err
	}
	defer client.Close()
	waiting := saysItWaits(options.log(), client.patience)
	client.onWait.Store(&waiting)
	if err := identify(ctx, client, name, options); err != nil {
		return err
	}

	box := newOutbox()
	player := newRunner(bot, profile, client, box, &options)
	defer player.close()
	live := &session{client: client, hello: profile.hello(), outbox: box, runner: player, log: options.log(), hooks: &options.Hooks, tries: newTries(client.addresses)}
	stopping, ended := make(chan struct{}), make(chan error, 1)
	streams, cut := context.WithCancel(context.Background())
	defer cut()
	go func() { ended <- live.run(streams, stopping) }()

	select {
	case err := <-ended:
		return err
	case err = <-player.outcome:
	case <-ctx.Done():
		err = ctx.Err()
		player.stopThinking()
	}
	withdrawing, enough := context.WithTimeout(context.Background(), withdrawalWait)
	defer enough()
	if failed := player.policies.seeker.close(withdrawing); failed != nil {
		options.log().Warn(fmt.Sprintf("the bot's seeks may still be open: %v", failed))
	}
	close(stopping)
	box.close()
	select {
	case <-ended:
	case <-time.After(farewellWait):
	}
	return err
}

// saysItWaits returns a function that logs once that the client waits for a server that was never reached, and for how
// long.
func saysItWaits(log *slog.Logger, patience time.Duration) func(error) {
	var said atomic.Bool
	return func(err error) {
		level := slog.LevelWarn
		if said.Swap(true) {
			level = slog.LevelDebug
		}
		log.Log(context.Background(), level, fmt.Sprintf("%v; trying for %v", err, patience))
	}
}

// identify gives the client a token: a player without one is registered, and so is one whose stored token the server
// does not know, because it has a new database.
func identify(ctx context.Context, client *Client, name string, options Options) error {
	if options.Token != "" || os.Getenv("ARBITER_TOKEN") != "" {
		return nil
	}
	if *client.token.Load() != "" {
		_, err := client.Myself(ctx)
		var refusal *ArbiterError
		if !errors.As(err, &refusal) || refusal.Reason != ReasonTokenInvalid {
			return err
		}
		client.setToken("")
	}
	if name == "" {
		return &CredentialsError{"who plays? Give a name to register, or a token (ARBITER_NAME or ARBITER_TOKEN)"}
	}
	// A registration is not repeated, so first wait for a server that answers, as long as patience allows.
	var nobody *ConnectionError
	if _, err := client.ServerInfo(ctx); errors.As(err, &nobody) || ctx.Err() != nil {
		return err
	}
	token, err := client.Register(ctx, name, options.Invitation)
	var refusal *ArbiterError
	if errors.As(err, &refusal) && refusal.Reason == ReasonPlayerExists {
		path, _ := CredentialsPath()
		refusal.Message = fmt.Sprintf("there is a player %s already: give its token (ARBITER_TOKEN) or another name; %s has none for it", name, path)
	}
	if err != nil {
		return err
	}
	if err := SaveToken(client.servers(), name, token); err != nil {
		return err
	}
	client.setToken(token)
	return nil
}
