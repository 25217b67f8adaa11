package arbiter

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Hooks are functions of the program for its metrics and logs; each may be nil. The client calls them while it works, so
// they return at once. One that panics is logged, and costs nothing else.
type Hooks struct {
	Connected    func(server, player string)             // after each hello of a server
	Disconnected func(server string, err error)          // when a connection after a hello is lost
	Thought      func(turn *Turn, took time.Duration)    // when the bot has chosen: the time from the turn's arrival
	Refused      func(turn *Turn, refusal *ArbiterError) // when a choice was refused
	Log          func(level, line string)                // for each line of the log, unless Options.Log is set
}

func (h *Hooks) connected(log *slog.Logger, server, player string) {
	if h.Connected != nil {
		called(log, "connected", func() { h.Connected(server, player) })
	}
}

func (h *Hooks) disconnected(log *slog.Logger, server string, err error) {
	if h.Disconnected != nil {
		called(log, "disconnected", func() { h.Disconnected(server, err) })
	}
}

func (h *Hooks) thought(log *slog.Logger, turn *Turn, took time.Duration) {
	if h.Thought != nil {
		called(log, "thought", func() { h.Thought(turn, took) })
	}
}

func (h *Hooks) refused(log *slog.Logger, turn *Turn, refusal *ArbiterError) {
	if h.Refused != nil {
		called(log, "refused", func() { h.Refused(turn, refusal) })
	}
}

func called(log *slog.Logger, name string, call func()) {
	if err := guarded(call); err != nil {
		log.Error(fmt.Sprintf("the hook %s failed: %v", name, err), stackOf(err)...)
	}
}

// hookHandler gives each record to a hook as one line, which has its attributes at the end.
type hookHandler struct {
	log        func(level, line string)
	attributes []slog.Attr
}

var levelNames = map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warning", slog.LevelError: "error"}

// Enabled returns true: the hook chooses.
func (h *hookHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle gives a record to the hook.
func (h *hookHandler) Handle(_ context.Context, record slog.Record) error {
	line := &strings.Builder{}
	line.WriteString(record.Message)
	add := func(attribute slog.Attr) bool {
		fmt.Fprintf(line, " %s=%v", attribute.Key, attribute.Value)
		return true
	}
	for _, attribute := range h.attributes {
		add(attribute)
	}
	record.Attrs(add)
	h.log(levelNames[record.Level], line.String())
	return nil
}

// WithAttrs returns a handler that adds attributes.
func (h *hookHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return &hookHandler{h.log, append(h.attributes[:len(h.attributes):len(h.attributes)], attributes...)}
}

// WithGroup returns the handler: lines have no groups.
func (h *hookHandler) WithGroup(string) slog.Handler { return h }
