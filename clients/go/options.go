package arbiter

import (
	"log/slog"
	"time"
)

// OnError is the cost of a bot's error in its turn.
type OnError int

const (
	OnErrorResign OnError = iota // the match
	OnErrorWait                  // the time on its clock
	OnErrorRaise                 // the whole run, which ends with *BotError
)

// Options are the server, the player and the limits of a bot's run. The zero value takes everything from the
// environment.
type Options struct {
	Server     string        // HOST:PORT, or several addresses of one arbiter with commas; default $ARBITER_SERVER, or DefaultServer
	Name       string        // the player; default $ARBITER_NAME, or the profile's name
	Token      string        // default $ARBITER_TOKEN, or the credentials file; without one the player is registered
	TLS        *TLS          // default $ARBITER_ROOT_CERTIFICATE and so on, or none
	Matches    int           // stop after so many have ended (no more are agreed on, those under way are finished); 0: for ever
	Thinkers   int           // how many choices are under way at once; default 8
	OnError    OnError       // default OnErrorResign
	Patience   time.Duration // how long to try where no arbiter was ever reached; default 10 s
	Invitation string        // to register with, where one is needed
	Hooks      Hooks         // functions of the program for its metrics and logs
	Log        *slog.Logger  // default slog.Default(); the stack of a bot's panic is the attribute "stack"

	finished func(*FinishedMatch) // called once the bot has been told of an end
}

func (o *Options) thinkers() int {
	if o.Thinkers > 0 {
		return o.Thinkers
	}
	return 8
}

func (o *Options) log() *slog.Logger {
	if o.Log != nil {
		return o.Log
	}
	if o.Hooks.Log != nil {
		return slog.New(&hookHandler{log: o.Hooks.Log})
	}
	return slog.Default()
}
