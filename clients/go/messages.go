package arbiter

import (
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// The messages of the server to a bot, as plain values: they have the fields of the protocol's messages, which describe
// them in full. Fields that are newer than this client are left out.

// RecentMove is a move that was played, after Ply others.
type RecentMove struct {
	Ply  int
	Seat int
	Move string
}

// Clock is a player's clock.
type Clock struct {
	Remaining   time.Duration // left, after the last move that was charged
	Available   time.Duration // the time that it may use for the next move before the flag falls
	PeriodsLeft int           // of byo-yomi, where the control has them
	MovesLeft   int           // to the next session, where the control has them
}

// Cell is a cell of the board with its content.
type Cell struct {
	Cell   string // its name
	Owner  int    // the seat of the piece's owner; 0 if there is no piece
	Piece  string // the piece's letter in upper case
	Facing *int   // its facing or face, where it has one
	Height *int   // tiles in the cell's stack, in games that have stacks
	Mark   string // a lasting property of the cell, such as "lily"
}

// BoardArray returns a board, such as that of a turn, as rows of cells in reading order: the lines of the game's board.
// A cell without content is nil.
func BoardArray(board *pb.Board, contents []Cell) [][]*Cell {
	byName := map[string]*Cell{}
	for at := range contents {
		byName[contents[at].Cell] = &contents[at]
	}
	rows := make([][]*Cell, len(board.GetLines()))
	for at, line := range board.GetLines() {
		for _, name := range line.GetCells() {
			rows[at] = append(rows[at], byName[name])
		}
	}
	return rows
}

// LegalMove is a legal move: its text, and its visible parts if they were asked for.
type LegalMove struct {
	Text  string
	Steps []Step
}

// Step is one visible part of a move.
type Step struct {
	Action string // "place", "move", "hop", "dig", "hatch", "pay" or "pass"
	Source string // the cell that it goes from
	Target string // the cell that it goes to
	Piece  string // the letter of the piece that appears or pays
	Facing *int   // of the piece afterwards, where that matters
}

// Line is a line of play: a variant, a start position (the initial one where it is empty) and the moves since.
type Line struct {
	Game     string
	Position string
	Moves    []string
}

// Then returns this line with more moves at its end; the line itself does not change.
func (l Line) Then(moves ...string) Line {
	l.Moves = append(l.Moves[:len(l.Moves):len(l.Moves)], moves...)
	return l
}

func (l Line) message() *pb.LineOfPlay {
	return &pb.LineOfPlay{Game: l.Game, Position: l.Position, Moves: l.Moves}
}

// PlayedLine is a line that was played: the positions that were asked for, and the end of the game if it reaches it.
type PlayedLine struct {
	Positions []PlayedPosition
	Outcome   *Outcome // nil while the game goes on
}

// PlayedPosition is a position on a line.
type PlayedPosition struct {
	Ply      int
	Position string
	Turn     int // the seat to move
	Board    []Cell
	Claim    string // the reason for which the seat to move may claim a draw; empty if it may not
}

// Outcome is how a game ends by its rules.
type Outcome struct {
	Winner int // the winner's seat; 0 for a draw
	Reason string
}

// ResultKind is the kind of an end. What is newer than this client is "".
type ResultKind string

// The kinds of ends.
const (
	Win  ResultKind = "WIN"
	Draw ResultKind = "DRAW"
	Void ResultKind = "VOID"
)

// Result is how a match ended.
type Result struct {
	Kind            ResultKind
	Winner          int    // the winner's seat; 0 unless Kind is Win
	Reason          string // the game's end reason, or one of the protocol's, such as "time"
	Cause           string // its cause: the names of Cause in match.proto, such as "RULES"
	Party           string // who is responsible: the names of Party in match.proto
	ResponsibleSeat int    // where Party is "PLAYER"
	Note            string // the organiser's words
}

// Terms are the terms of a challenge or seek.
type Terms struct {
	Game        string // the variant, such as `pods(size=5)`
	TimeControl string // such as `1m+1s`; default the server's
	Rated       bool
	Seat        int    // the challenger's: 1 or 2; 0 for a random one
	Position    string // that the match starts from; default the game's initial one. Such a match is not rated
	AbandonMs   *int64 // how long a player may be absent before it has lost, 0: as long as its clock allows; default the server's
}

func (t Terms) message() *pb.Terms {
	return &pb.Terms{Game: t.Game, TimeControl: t.TimeControl, Rated: t.Rated, Seat: int32(t.Seat), Position: t.Position,
		AbandonMs: t.AbandonMs}
}

// Challenge is a challenge; a seek is one whose Opponent is empty.
type Challenge struct {
	ID         string
	Challenger string
	Opponent   string
	Terms      Terms
	Created    time.Time
	// Rating is that of the challenger's newest version in the game; nil if it has none, or the bot has no limits for it.
	Rating *float64
}

// ChallengeClosed says that a challenge or seek of the bot's is no longer open.
type ChallengeClosed struct {
	ID      string
	MatchID string // the match that it led to; empty if there is none
	Reason  string // the reason why there is none
}

// TournamentCall is a tournament that the bot may enter, or one that it plays in.
type TournamentCall struct {
	ID          string
	Name        string
	Format      string // the names of TournamentFormat in tournament.proto, such as "SWISS"
	Games       []string
	TimeControl string
	Rated       bool
	Phase       string // the names of TournamentPhase in tournament.proto, such as "ENTRY"
	Entered     bool
	Creator     string
	Start       time.Time // zero: when its creator starts it
	EntryCloses time.Time // zero: when it starts
}

// nameOf returns the name of an enumeration's value without its prefix; "" for what is unspecified or newer.
func nameOf[E protoreflect.Enum](value E, prefix string) string {
	known := value.Descriptor().Values().ByNumber(value.Number())
	if known == nil || value.Number() == 0 {
		return ""
	}
	return strings.TrimPrefix(string(known.Name()), prefix)
}

func each[M, V any](messages []M, convert func(M) V) []V {
	if messages == nil {
		return nil
	}
	values := make([]V, len(messages))
	for at, message := range messages {
		values[at] = convert(message)
	}
	return values
}

func optional(number *int32) *int {
	if number == nil {
		return nil
	}
	value := int(*number)
	return &value
}

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func recentMoveOf(m *pb.RecentMove) RecentMove {
	return RecentMove{Ply: int(m.GetPly()), Seat: int(m.GetSeat()), Move: m.GetMove()}
}

func clockOf(m *pb.Clock) Clock {
	return Clock{Remaining: duration(m.GetRemainingMs()), Available: duration(m.GetAvailableMs()),
		PeriodsLeft: int(m.GetPeriodsLeft()), MovesLeft: int(m.GetMovesLeft())}
}

func cellOf(m *pb.CellContent) Cell {
	return Cell{Cell: m.GetCell(), Owner: int(m.GetOwner()), Piece: m.GetPiece(), Facing: optional(m.Facing), Height: optional(m.Height),
		Mark: m.GetMark()}
}

func legalMoveOf(m *pb.LegalMove) LegalMove {
	return LegalMove{Text: m.GetText(), Steps: each(m.GetSteps(), stepOf)}
}

func stepOf(m *pb.Step) Step {
	return Step{Action: m.GetAction(), Source: m.GetSource(), Target: m.GetTarget(), Piece: m.GetPiece(), Facing: optional(m.Facing)}
}

func playedLineOf(m *pb.PlayMovesResponse) *PlayedLine {
	played := &PlayedLine{Positions: each(m.GetPositions(), playedPositionOf)}
	if outcome := m.GetOutcome(); outcome != nil {
		played.Outcome = &Outcome{Winner: int(outcome.GetWinner()), Reason: outcome.GetReason()}
	}
	return played
}

func playedPositionOf(m *pb.PlayedPosition) PlayedPosition {
	return PlayedPosition{Ply: int(m.GetPly()), Position: m.GetPosition(), Turn: int(m.GetTurn()), Board: each(m.GetBoard(), cellOf),
		Claim: m.GetClaim()}
}

func resultOf(m *pb.Result) Result {
	return Result{Kind: ResultKind(nameOf(m.GetKind(), "RESULT_KIND_")), Winner: int(m.GetWinner()), Reason: m.GetReason(),
		Cause: nameOf(m.GetCause(), "CAUSE_"), Party: nameOf(m.GetParty(), "PARTY_"), ResponsibleSeat: int(m.GetResponsibleSeat()),
		Note: m.GetNote()}
}

func termsOf(m *pb.Terms) Terms {
	terms := Terms{Game: m.GetGame(), TimeControl: m.GetTimeControl(), Rated: m.GetRated(), Seat: int(m.GetSeat()), Position: m.GetPosition()}
	if m != nil {
		terms.AbandonMs = m.AbandonMs
	}
	return terms
}

func challengeOf(m *pb.Challenge) Challenge {
	return Challenge{ID: m.GetChallengeId(), Challenger: m.GetChallenger(), Opponent: m.GetOpponent(), Terms: termsOf(m.GetTerms()),
		Created: instant(m.GetCreatedMs())}
}

func challengeClosedOf(m *pb.ChallengeClosed) *ChallengeClosed {
	return &ChallengeClosed{ID: m.GetChallengeId(), MatchID: m.GetMatchId(), Reason: m.GetReason()}
}

func callOf(m *pb.TournamentCall) *TournamentCall {
	return &TournamentCall{ID: m.GetTournamentId(), Name: m.GetName(), Format: nameOf(m.GetFormat(), "TOURNAMENT_FORMAT_"),
		Games: m.GetGames(), TimeControl: m.GetTimeControl(), Rated: m.GetRated(), Phase: nameOf(m.GetPhase(), "TOURNAMENT_PHASE_"),
		Entered: m.GetEntered(), Creator: m.GetCreator(), Start: instant(m.GetStartMs()), EntryCloses: instant(m.GetEntryClosesMs())}
}
