package arbiter

import (
	"context"
	"sync"
	"time"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// LiveMatch is a match that the bot plays, from its first turn to its end. A match of the bot against itself is two of
// these, one for each seat.
type LiveMatch struct {
	ID          string
	Game        string // the variant
	Seat        int    // 1 or 2
	Opponent    string
	TimeControl string // the bot's own
	// MatchTimeControl is the match's; with a colon between two that differ.
	MatchTimeControl string
	Rated            bool
	Label            string
	// OpeningPlies says how many of the first moves nobody played.
	OpeningPlies int
	// StartPosition is where the match began; empty for the initial position.
	StartPosition string
	// Memory is free for the bot's own data about the match.
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

// Over is closed when the match has ended or the bot stops, so that a long search may end.
func (m *LiveMatch) Over() <-chan struct{} { return m.over }

// IsOver returns whether the match has ended or the bot stops.
func (m *LiveMatch) IsOver() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// Turn is the bot's turn.
type Turn struct {
	Game     string // the canonical variant
	Seat     int    // the bot's: the one to move
	Ply      int    // how many moves were played before it
	Position string // its text
	Opponent string
	// LastMoves are at least those since the bot's last turn; Match.Moves has all.
	LastMoves []RecentMove
	Clocks    []Clock // by seat; empty without a time control
	// DrawClaim is the reason for which the bot may claim a draw; empty if it may not.
	DrawClaim   string
	DrawOffered bool // whether the opponent's draw offer stands
	// Board is the board, if Profile.Extras ask for it.
	Board []Cell
	// LegalMoveCount is the number of legal moves, if Profile.Extras ask for it and the server knows it.
	LegalMoveCount *int
	// LegalMoves are the legal moves, if Profile.Extras ask for them and they are not too many; Moves always has them.
	LegalMoves []LegalMove
	Started    time.Time     // when the bot's clock started, on the server's clock
	Now        time.Time     // the server's clock when it handed the turn over
	Available  time.Duration // the time that the bot may use for this move before the flag falls; 0 without a limit
	Revision   int64         // of the event that made it a turn

	// Match is the match that it is of.
	Match *LiveMatch
	// Refused is set when the bot's first choice for this turn was refused.
	Refused *ArbiterError

	client   *Client
	received time.Time
}

func turnOf(m *pb.Turn, match *LiveMatch, client *Client) *Turn {
	turn := &Turn{Game: m.GetGame(), Seat: int(m.GetSeat()), Ply: int(m.GetPly()), Position: m.GetPosition(), Opponent: m.GetOpponent(),
		LastMoves: each(m.GetLastMoves(), recentMoveOf), Clocks: each(m.GetClocks(), clockOf), DrawClaim: m.GetDrawClaim(),
		DrawOffered: m.GetDrawOffered(), Board: each(m.GetBoard(), cellOf), LegalMoves: each(m.GetLegalMoves(), legalMoveOf),
		Started: instant(m.GetStartedMs()), Now: instant(m.GetNowMs()), Available: duration(m.GetAvailableMs()), Revision: m.GetRevision(),
		Match: match, client: client, received: time.Now()}
	if m.LegalMoveCount != nil {
		count := int(m.GetLegalMoveCount())
		turn.LegalMoveCount = &count
	}
	return turn
}

// Line returns the line of play that leads to this turn, for Client.LegalMoves and Client.PlayMoves.
func (t *Turn) Line() Line {
	return Line{Game: t.Game, Position: t.Match.StartPosition, Moves: t.Match.Moves()[:t.Ply]}
}

// Moves returns the legal moves in bytewise order: those in the turn, or else the server's answer.
func (t *Turn) Moves(ctx context.Context) ([]LegalMove, error) {
	if len(t.LegalMoves) > 0 {
		return t.LegalMoves, nil
	}
	return t.client.LegalMovesOfMatch(ctx, t.Match.ID, t.Ply)
}

// Client returns the connection, for every other call.
func (t *Turn) Client() *Client { return t.client }

// TimeLeft returns the time that the bot has from now until its flag falls; false without a limit.
func (t *Turn) TimeLeft() (time.Duration, bool) {
	if t.Available == 0 {
		return 0, false
	}
	return max(0, t.Available-t.Now.Sub(t.Started)-time.Since(t.received)), true
}

// FinishedMatch is a match of the bot that has ended, perhaps while it was away.
type FinishedMatch struct {
	ID       string
	Game     string // the canonical variant
	Seat     int    // the bot's; 1 in a match against itself
	Opponent string
	Result   Result
	Position string // the position's text at the end
	// Match is nil if this run never saw it live.
	Match *LiveMatch
}

func finishedOf(m *pb.MatchEnded) *FinishedMatch {
	return &FinishedMatch{ID: m.GetMatchId(), Game: m.GetGame(), Seat: int(m.GetSeat()), Opponent: m.GetOpponent(),
		Result: resultOf(m.GetResult()), Position: m.GetPosition()}
}

// Score returns the bot's points: 1, 0.5 or 0; false if the match is void.
func (f *FinishedMatch) Score() (float64, bool) {
	switch {
	case f.Result.Kind == Draw:
		return 0.5, true
	case f.Result.Kind != Win:
		return 0, false
	case f.Result.Winner == f.Seat:
		return 1, true
	default:
		return 0, true
	}
}

// joined returns the moves up to a turn, from the known ones and the turn's last ones; false if there is a gap.
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
