package arbiter

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

const endWait = 10 * time.Second // time limit for the rules to end after their match

// LocalOptions are the terms of a local match. The zero value is a match without clocks from the initial position.
type LocalOptions struct {
	TimeControl string       // as on a server, two with a colon for time odds; default "none"
	Opening     []string     // the first moves, which nobody plays
	Position    string       // the start position; default the game's initial one
	Program     string       // the arbiter's command; default $ARBITER_COMMAND, or "arbiter"
	Log         *slog.Logger // of both bots; default none
}

// LocalMatch plays a match of two bots of this program without a server of yours, and returns its end as the bot of
// seat 1 sees it; its Match has the moves. It starts `arbiter rules serve` for it, so the arbiter is to be installed.
// The bots are called and judged as on any server, and their own calls work; their names are seat-1 and seat-2.
//
// It returns *ArbiterError for an unknown game, a wrong time control, position or opening, *BotError for an error of a
// bot, *ConnectionError if the rules can't be started or end before the match, or the context's error.
func LocalMatch(ctx context.Context, first, second Bot, game string, options LocalOptions) (*FinishedMatch, error) {
	rules, err := startRules(either(options.Program, os.Getenv("ARBITER_COMMAND"), "arbiter"))
	if err != nil {
		return nil, err
	}
	defer rules.end()
	playing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-rules.over:
			stop(rules.lost())
		case <-playing.Done():
		}
	}()
	finished, err := rules.play(playing, stop, []Bot{first, second}, game, options)
	if err != nil && playing.Err() != nil {
		return nil, context.Cause(playing)
	}
	return finished, err
}

// rules is a process of `arbiter rules serve`, with the address and the tokens that it says.
type rules struct {
	server string
	tokens map[string]string // by player

	process *exec.Cmd
	input   io.Closer
	said    bytes.Buffer // on standard error; to be read once the process is over
	over    chan struct{}
}

func startRules(program string) (*rules, error) {
	r := &rules{process: exec.Command(program, "rules", "serve"), over: make(chan struct{})}
	r.process.Stderr = &r.said
	input, err := r.process.StdinPipe()
	if err != nil {
		return nil, &ConnectionError{Message: fmt.Sprintf("can't make a pipe: %v", err), Cause: err}
	}
	r.input = input
	output, written, err := os.Pipe()
	if err != nil {
		return nil, &ConnectionError{Message: fmt.Sprintf("can't make a pipe: %v", err), Cause: err}
	}
	defer output.Close()
	r.process.Stdout = written
	err = r.process.Start()
	written.Close()
	if err != nil {
		message := fmt.Sprintf("can't start `%s rules serve`: %v: install game-arbiter, or name its command in ARBITER_COMMAND", program, unwrapped(err))
		return nil, &ConnectionError{Message: message, Cause: err}
	}
	go func() {
		_ = r.process.Wait()
		close(r.over)
	}()
	line, _ := bufio.NewReader(output).ReadBytes('\n')
	said, err := parseCredentials(string(line)) // their form is that of a credentials file
	if err != nil || len(said) != 1 {
		r.end()
		return nil, r.lost()
	}
	for r.server, r.tokens = range said {
	}
	return r, nil
}

// end ends the process.
func (r *rules) end() {
	_ = r.input.Close()
	select {
	case <-r.over:
	case <-time.After(endWait):
		_ = r.process.Process.Kill()
		<-r.over
	}
}

// lost returns the error for a process that has ended, with its last words.
func (r *rules) lost() error {
	lines := strings.Split(strings.TrimSpace(r.said.String()), "\n")
	message := fmt.Sprintf("`%s` has ended before the match: %v", strings.Join(r.process.Args, " "), r.process.ProcessState)
	if last := lines[len(lines)-1]; last != "" {
		message += ": " + last
	}
	return &ConnectionError{Message: message}
}

// play makes the match, and plays it by two runs; stop ends both.
func (r *rules) play(ctx context.Context, stop func(error), bots []Bot, game string, options LocalOptions) (*FinishedMatch, error) {
	organiser, err := NewClient(ClientOptions{Server: r.server, Token: r.tokens["admin"], TLS: NoTLS})
	if err != nil {
		return nil, err
	}
	defer organiser.Close()
	players := []string{"seat-1", "seat-2"}
	_, err = organiser.CreateMatch(ctx, &pb.CreateMatchRequest{Game: game, Players: players, TimeControl: either(options.TimeControl, "none"),
		Opening: options.Opening, Position: options.Position})
	if err != nil {
		return nil, err
	}
	log := options.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var finished *FinishedMatch
	outcomes := make(chan error, len(bots))
	for at, bot := range bots {
		run := Options{Server: r.server, Name: players[at], Token: r.tokens[players[at]], TLS: NoTLS, Matches: 1, OnError: OnErrorRaise, Log: log}
		if at == 0 {
			run.finished = func(match *FinishedMatch) { finished = match }
		}
		go func() { outcomes <- play(ctx, bot, atHome(bot.Profile()), run) }()
	}
	for range bots {
		if failed := <-outcomes; failed != nil && err == nil {
			err = failed
			stop(err)
		}
	}
	if err == nil && finished == nil {
		err = errors.New("the run of seat 1 has ended without a match")
	}
	return finished, err
}

// atHome returns a profile without what looks for other matches.
func atHome(profile Profile) Profile {
	return Profile{Name: profile.Name, Version: profile.Version, Capabilities: profile.Capabilities, Extras: profile.Extras, DeclineChallenges: true}
}
