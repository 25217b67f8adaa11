package arbiter

import (
	"strings"
	"time"
)

// How long to think for a move: a share of the main time, and most of what the time control adds for every move. The
// rules, the same in every client, are in clients/README.md; clients/vectors/think_times.json has the numbers.

// ExpectedPlies is how many plies a game still has, from any position, unless the bot knows better.
const ExpectedPlies = 60

const (
	heldBackMs = 1_000.0 // of the main time, but never more than half of it: the way to the server in a long game
	mostOfIt   = 0.7     // share of the time that is added, or lost, after the move
	beforeFlag = 0.6     // share of the time until the flag falls, for one choice
	reserveMs  = 15.0    // reserve before the flag falls
	switchMs   = 5.0     // the same for each other match in the process
	leastMs    = 5.0     // for one choice, while the flag is far away
	farMs      = 200.0
)

// Thinking is what ThinkTime computes from: the state of a clock.
type Thinking struct {
	TimeControl   string        // the bot's own
	Left          time.Duration // until the flag falls
	Main          time.Duration // main time left; with a fixed time a move, the bank
	MovesLeft     int           // to go in the session; 0: there is none
	ExpectedPlies int           // to the end of the game, of both players
	Matches       int           // how many think in this process
}

// ThinkTime returns the time for a move, never negative.
func (t Thinking) ThinkTime() time.Duration {
	left, main := inMs(t.Left), inMs(t.Main)
	moves := max(1, (t.ExpectedPlies+1)/2)
	if t.MovesLeft > 0 {
		moves = min(moves, t.MovesLeft)
	}
	share := (main - min(heldBackMs, main/2)) / float64(moves)
	more := mostOfIt * float64(eachMoveMs(t.TimeControl))
	wanted := share + more
	if strings.Contains(t.TimeControl, "x") { // byo-yomi
		wanted = max(share, more)
	}
	if left > farMs {
		wanted = max(wanted, leastMs)
	}
	reserve := reserveMs + switchMs*float64(max(t.Matches, 1)-1)
	return time.Duration(max(0, min(wanted, beforeFlag*left, left-reserve)) * float64(time.Millisecond))
}

// ThinkTime returns how long to think for this move from now; false without a time limit. expectedPlies are those to
// the end of the game, of both players (ExpectedPlies, if the bot does not know), matches those that think in this
// process.
func (t *Turn) ThinkTime(expectedPlies, matches int) (time.Duration, bool) {
	left, limited := t.TimeLeft()
	if !limited {
		return 0, false
	}
	thinking := Thinking{TimeControl: t.Match.TimeControl, Left: left, Main: left, ExpectedPlies: expectedPlies, Matches: matches}
	if len(t.Clocks) >= t.Seat {
		clock := t.Clocks[t.Seat-1]
		thinking.Main, thinking.MovesLeft = min(left, clock.Remaining), clock.MovesLeft
	}
	return thinking.ThinkTime(), true
}

func inMs(span time.Duration) float64 { return float64(span) / float64(time.Millisecond) }
