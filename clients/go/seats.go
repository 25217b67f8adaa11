package arbiter

import (
	"context"
	"fmt"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

// seat is a seat of the bot in a live match: the choice that is under way, and the act that is not answered yet. In a
// match of the bot against itself there are two, independent of each other.
type seat struct {
	match         *LiveMatch    // only its moves change once the bot has been told of it
	begun         chan struct{} // closed once the bot has been told of the match; nil before it is being told
	cancel        context.CancelFunc
	thinking      bool
	thoughtPly    int
	turn          *Turn  // the turn that the last choice answered
	requestID     string // the move, claim or resignation that waits for its answer
	nextPly       int    // turns before this one are done
	offerAnswered bool
}

func (s *seat) over() {
	if !s.match.IsOver() {
		close(s.match.over)
	}
	if s.cancel != nil {
		s.cancel()
	}
}

func (r *runner) onMatch(match *pb.Match) {
	if match.GetPhase() == pb.Phase_PHASE_ENDED || r.slots.isOver(match.GetMatchId()) || len(match.GetPlayers()) != 2 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var begun []<-chan struct{}
	for at, player := range match.GetPlayers() {
		if player != r.player {
			continue
		}
		number := at + 1
		seat := r.seat(match.GetMatchId(), match.GetGame(), number, match.GetPlayers()[1-at])
		seat.describe(match)
		begun = append(begun, r.begin(seat, int(match.GetPly()), int(match.GetTurn())))
		if by := int(match.GetDrawOfferedBy()); by != 0 && by != number {
			r.answerOffer(seat)
		}
	}
	if len(begun) > 0 && (match.GetPhase() == pb.Phase_PHASE_PENDING || match.GetPhase() == pb.Phase_PHASE_PAUSED) {
		r.spawn(func(ctx context.Context) { r.sayReady(ctx, match.GetMatchId(), begun) })
	}
}

// sayReady says that the bot is ready for a match, once Started has returned: no clock of the match starts before.
func (r *runner) sayReady(ctx context.Context, matchID string, begun []<-chan struct{}) {
	for _, told := range begun {
		select {
		case <-told:
		case <-ctx.Done():
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, playing := r.seats[matchID]; playing {
		r.outbox.say(&pb.PlayAct{MatchId: matchID, Act: &pb.PlayAct_Ready{Ready: &pb.ReadyAct{}}})
	}
}

func (r *runner) seat(matchID, game string, number int, opponent string) *seat {
	if r.seats[matchID] == nil {
		r.seats[matchID] = map[int]*seat{}
		r.slots.begun(matchID)
	}
	if r.seats[matchID][number] == nil {
		match := &LiveMatch{ID: matchID, Game: game, Seat: number, Opponent: opponent, over: make(chan struct{})}
		r.seats[matchID][number] = &seat{match: match, thoughtPly: -1}
	}
	return r.seats[matchID][number]
}

// describe notes what a match is, until the bot has been told of it: then the bot may read it at any time.
func (s *seat) describe(match *pb.Match) {
	if s.begun != nil {
		return
	}
	s.match.TimeControl = ownControl(match.GetTimeControl(), match.GetTimeControls(), s.match.Seat)
	s.match.MatchTimeControl, s.match.Rated, s.match.Label = match.GetTimeControl(), match.GetRated(), match.GetLabel()
	s.match.OpeningPlies, s.match.StartPosition = int(match.GetOpeningPlies()), match.GetStartPosition()
}

// begin tells the bot of a match, once; the channel is closed after that. ply and turn are where the match is, for the
// log: it goes on if the bot has moved in it, in an earlier run.
func (r *runner) begin(seat *seat, ply, turn int) <-chan struct{} {
	if seat.begun == nil {
		match := seat.match
		begins, played := "begins", ply-match.OpeningPlies
		if played > 1 || played == 1 && turn != match.Seat {
			begins = "goes on"
		}
		r.log.Info(fmt.Sprintf("%s %s: %s as seat %d against %s", match.ID, begins, match.Game, match.Seat, match.Opponent))
		told := make(chan struct{})
		seat.begun = told
		r.spawn(func(ctx context.Context) {
			defer close(told)
			if bot, wants := r.bot.(Starter); wants {
				r.callback("started", func() { bot.Started(ctx, match) })
			}
		})
	}
	return seat.begun
}
