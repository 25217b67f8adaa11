package arbiter

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// stackKey is the attribute with the stack of a bot's panic.
const stackKey = "stack"

func newLog(to io.Writer, level slog.Level) *slog.Logger {
	return slog.New(&stackHandler{slog.NewTextHandler(to, &slog.HandlerOptions{Level: level}), to, &sync.Mutex{}})
}

// stackHandler passes records on, which slog quotes where they have characters that can't be printed, and writes a stack below its record, in several lines: as an attribute it would be
// one unreadable line.
type stackHandler struct {
	slog.Handler
	to   io.Writer
	busy *sync.Mutex
}

// Handle writes a record.
func (h *stackHandler) Handle(ctx context.Context, record slog.Record) error {
	stack := ""
	rest := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(attribute slog.Attr) bool {
		if attribute.Key == stackKey {
			stack = plainLines(strings.TrimRight(attribute.Value.String(), "\n") + "\n")
		} else {
			rest.AddAttrs(attribute)
		}
		return true
	})
	h.busy.Lock()
	defer h.busy.Unlock()
	if err := h.Handler.Handle(ctx, rest); err != nil || stack == "" {
		return err
	}
	_, err := io.WriteString(h.to, stack)
	return err
}

// WithAttrs returns a handler that adds attributes.
func (h *stackHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return &stackHandler{h.Handler.WithAttrs(attributes), h.to, h.busy}
}

// WithGroup returns a handler that groups attributes.
func (h *stackHandler) WithGroup(name string) slog.Handler {
	return &stackHandler{h.Handler.WithGroup(name), h.to, h.busy}
}
