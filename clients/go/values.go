package arbiter

import (
	"context"
	"sync"
	"time"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// LiveMatch is a match that the bot plays, from its first turn to its end. A match of the bot against itself is two of
// these, one a seat.
type LiveMatch struct {
	ID          string
	Game        string // the variant
	Seat        int    // 1 or 2
	Opponent    string
	TimeControl string
	Rated       bool
	Label       string
	// OpeningPlies says how many of the first moves nobody played.
	OpeningPlies int
	// Memory is the bot's own, for what it wants to keep from turn to turn.
	Memory any

	mu    sync.Mutex
	moves []string
	over  chan struct{}
}

// Moves returns the moves played up to the bot's latest turn.
func (m *LiveMatch) Moves() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moves[:len(m.moves):len(m.moves)]
}

func (m *LiveMatch) setMoves(moves []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moves = moves
}

// Over is closed when the match has ended or the bot stops, so that a long search may give up.
func (m *LiveMatch) Over() <-chan struct{} { return m.over }

// IsOver says whether the match has ended or the bot stops.
func (m *LiveMatch) IsOver() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// Turn is the bot's turn: the message, and what the client knows about it.
type Turn struct {
	*pb.Turn
	// Match is the match that it is of.
	Match *LiveMatch
	// Refused is set when the bot's first choice for this turn was refused.
	Refused *ArbiterError

	client   *Client
	received time.Time
}

// Line returns the line of play that leads to this turn, for Client.LegalMoves and Client.PlayMoves.
func (t *Turn) Line() *pb.LineOfPlay {
	return &pb.LineOfPlay{Game: t.GetGame(), Moves: t.Match.Moves()[:t.GetPly()]}
}

// Moves returns the legal moves in bytewise order: those that the turn carries, or else the server's answer.
func (t *Turn) Moves(ctx context.Context) ([]*pb.LegalMove, error) {
	if moves := t.GetLegalMoves(); len(moves) > 0 {
		return moves, nil
	}
	return t.client.LegalMovesOfMatch(ctx, t.GetMatchId(), int(t.GetPly()))
}

// Client returns the connection, for every other call.
func (t *Turn) Client() *Client { return t.client }

// TimeLeft returns how long the bot may still think, from now, before its flag falls; false without a limit.
func (t *Turn) TimeLeft() (time.Duration, bool) {
	if t.GetAvailableMs() == 0 {
		return 0, false
	}
	thought := time.Duration(t.GetNowMs()-t.GetStartedMs())*time.Millisecond + time.Since(t.received)
	return max(0, time.Duration(t.GetAvailableMs())*time.Millisecond-thought), true
}

// FinishedMatch is a match of the bot's that has ended, perhaps while it was away.
type FinishedMatch struct {
	*pb.MatchEnded
	// Match is nil where the bot never saw it live.
	Match *LiveMatch
}

// Score returns the bot's points: 1, 0.5 or 0; false where the match does not count.
func (f *FinishedMatch) Score() (float64, bool) {
	result := f.GetResult()
	switch {
	case result.GetKind() == pb.ResultKind_RESULT_KIND_DRAW:
		return 0.5, true
	case result.GetKind() != pb.ResultKind_RESULT_KIND_WIN:
		return 0, false
	case result.GetWinner() == f.GetSeat():
		return 1, true
	default:
		return 0, true
	}
}

// joined returns the moves up to a turn, from those known and the turn's last ones; false where they leave a gap.
func joined(known []string, turn *pb.Turn) ([]string, bool) {
	ply := int(turn.GetPly())
	moves := append([]string(nil), known[:min(len(known), ply)]...)
	for _, recent := range turn.GetLastMoves() {
		at := int(recent.GetPly())
		switch {
		case at < 0 || at > len(moves), at < len(moves) && moves[at] != recent.GetMove():
			return nil, false
		case at == len(moves):
			moves = append(moves, recent.GetMove())
		}
	}
	return moves, len(moves) == ply
}
