package arbiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/game-arbiter/arbiter/clients/go/arbiterpb"
)

const repeatAfter = 500 * time.Millisecond // the pause after a temporary refusal that names none

// end is a match that has ended, and its seat if the bot saw it live.
type end struct {
	message *pb.MatchEnded
	seat    *seat
}

// runner plays a bot: it handles the items of its stream, calls its methods, and puts acts into the outbox. outcome
// gets nil once enough matches have ended and been acknowledged, or the error that ends the run.
type runner struct {
	bot      Bot
	profile  Profile
	client   *Client
	outbox   *outbox
	options  *Options
	log      *slog.Logger
	hooks    *Hooks
	slots    *matchSlots
	policies *policies
	thinkers chan struct{}
	outcome  chan error
	ctx      context.Context
	stop     context.CancelFunc
	work     sync.WaitGroup
	ends     chan end
	ended    atomic.Int64 // matches of whose end the bot has been told
	dealing  atomic.Bool  // whether it is being told of one

	mu     sync.Mutex
	player string
	seats  map[string]map[int]*seat
	asked  map[string]*seat // by the id of the request that the seat is waiting for
}

func newRunner(bot Bot, profile Profile, client *Client, outbox *outbox, options *Options) *runner {
	ctx, stop := context.WithCancel(context.Background())
	r := &runner{bot: bot, profile: profile, client: client, outbox: outbox, options: options, log: options.log(), hooks: &options.Hooks,
		slots: newMatchSlots(profile.MostMatches, options.Matches), thinkers: make(chan struct{}, options.thinkers()), outcome: make(chan error, 1),
		ctx: ctx, stop: stop, ends: make(chan end, 1024), seats: map[string]map[int]*seat{}, asked: map[string]*seat{}}
	r.policies = newPolicies(bot, &r.profile, client, r.slots, r.log, r.spawn, r.callback)
	look := r.slots.changed
	r.slots.changed = func() {
		look()
		r.finishIfDone()
	}
	r.policies.seeker.fail = r.finish
	r.spawn(r.dealWithEnds)
	return r
}

// spawn runs a function in the background, until close.
func (r *runner) spawn(work func(ctx context.Context)) {
	r.work.Add(1)
	go func() {
		defer r.work.Done()
		work(r.ctx)
	}()
}

// stopThinking tells all running choices that their results are not needed any more.
func (r *runner) stopThinking() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, seats := range r.seats {
		for _, seat := range seats {
			seat.over()
		}
	}
}

// close ends everything that is under way.
func (r *runner) close() {
	r.stopThinking()
	r.stop()
}

// greeted begins a new stream of a player.
func (r *runner) greeted(player string) {
	r.mu.Lock()
	r.player = player
	r.mu.Unlock()
	r.policies.greeted(player)
}

// take handles an item of the stream, without waiting; unknown items are ignored.
func (r *runner) take(item *pb.PlayItem) {
	switch item := item.GetItem().(type) {
	case *pb.PlayItem_Match:
		r.onMatch(item.Match)
	case *pb.PlayItem_Turn:
		r.onTurn(item.Turn)
	case *pb.PlayItem_Answer:
		r.onAnswer(item.Answer)
	case *pb.PlayItem_Ended:
		r.onEnded(item.Ended)
	case *pb.PlayItem_DrawOffered:
		r.onDrawOffered(item.DrawOffered)
	case *pb.PlayItem_Challenge:
		r.policies.onChallenge(item.Challenge)
	case *pb.PlayItem_ChallengeClosed:
		r.policies.onChallengeClosed(item.ChallengeClosed)
	case *pb.PlayItem_Seek:
		r.policies.onSeek(item.Seek)
	case *pb.PlayItem_Tournament:
		r.policies.onCall(item.Tournament)
	}
}

// ---- matches ---------------------------------------------------------------------------------------------------------

func (r *runner) onEnded(message *pb.MatchEnded) {
	r.mu.Lock()
	seats := r.seats[message.GetMatchId()]
	delete(r.seats, message.GetMatchId())
	for _, seat := range seats {
		seat.over()
		r.outbox.answered(seat.requestID)
		delete(r.asked, seat.requestID)
	}
	r.mu.Unlock()
	select {
	case r.ends <- end{message, seats[int(message.GetSeat())]}:
	case <-r.ctx.Done():
	}
}

// dealWithEnds tells the bot of ended matches one after the other: an acknowledgement covers all results before it.
func (r *runner) dealWithEnds(ctx context.Context) {
	for {
		var ended end
		select {
		case <-ctx.Done():
			return
		case ended = <-r.ends:
		}
		r.dealing.Store(true)
		if r.slots.ended(ended.message.GetMatchId()) {
			finished := finishedOf(ended.message)
			if ended.seat != nil {
				finished.Match = ended.seat.match
			}
			r.log.Info(fmt.Sprintf("%s has ended: %s", finished.ID, told(finished)))
			if bot, wants := r.bot.(Ender); wants {
				r.callback("ended", func() { bot.Ended(ctx, finished) })
			}
			if r.options.finished != nil {
				r.options.finished(finished)
			}
			r.ended.Add(1)
		}
		seen := &pb.Acknowledgement{Cursor: ended.message.GetCursor()}
		r.outbox.say(&pb.PlayAct{Act: &pb.PlayAct_Acknowledge{Acknowledge: seen}})
		r.dealing.Store(false)
		r.finishIfDone()
	}
}

// finishIfDone ends the run if enough matches have ended, and the bot has agreed to no others.
func (r *runner) finishIfDone() {
	enough := r.options.Matches > 0 && r.ended.Load() >= int64(r.options.Matches)
	if enough && !r.dealing.Load() && r.slots.playing() == 0 {
		r.finish(nil)
	}
}

// told returns the end of a match in words.
func told(finished *FinishedMatch) string {
	how := "it does not count"
	if score, counts := finished.Score(); counts {
		how = map[float64]string{0: "lost", 0.5: "drawn", 1: "won"}[score]
	}
	return how + ", by " + finished.Result.Reason
}

// finish ends the run; only the first outcome counts.
func (r *runner) finish(err error) {
	select {
	case r.outcome <- err:
	default:
	}
}

// ---- turns -----------------------------------------------------------------------------------------------------------

func (r *runner) onTurn(message *pb.Turn) {
	if r.slots.isOver(message.GetMatchId()) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seat := r.seat(message.GetMatchId(), message.GetGame(), int(message.GetSeat()), message.GetOpponent())
	if message.GetDrawOffered() {
		r.answerOffer(seat)
	}
	ply := int(message.GetPly())
	if ply < seat.nextPly || r.isDealtWith(seat, ply) || seat.thinking && ply <= seat.thoughtPly {
		return // a repeated turn: its choice exists, and has been or will be sent again
	}
	turn := turnOf(message, seat.match, r.client)
	r.think(seat, turn, r.begin(seat, ply, turn.Seat), func(ctx context.Context) (Choice, error) {
		if err := r.bringLine(ctx, seat.match, message); err != nil {
			return nil, err
		}
		return r.choose(ctx, func() (Choice, error) { return r.bot.Choose(ctx, turn) })
	})
}

// isDealtWith returns whether the unanswered act of a seat answers the turn at a ply. A move for an earlier ply does
// not: that move has been played, since otherwise this turn would not exist. This happens if one seat moves twice in a
// row.
func (r *runner) isDealtWith(seat *seat, ply int) bool {
	act := r.outbox.waiting(seat.requestID)
	return act != nil && !(act.GetMove() != nil && int(act.GetMove().GetPly()) < ply)
}

// think begins a choice, in place of the one under way. The caller holds the lock.
func (r *runner) think(seat *seat, turn *Turn, begun <-chan struct{}, choose func(ctx context.Context) (Choice, error)) {
	if seat.cancel != nil {
		seat.cancel()
	}
	ctx, cancel := context.WithCancel(r.ctx)
	seat.cancel, seat.thinking, seat.thoughtPly = cancel, true, turn.Ply
	r.spawn(func(context.Context) {
		defer cancel()
		select {
		case <-begun:
		case <-ctx.Done():
		}
		choice, err := choose(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		if ctx.Err() != nil {
			return // another choice has taken its place, or is not needed
		}
		seat.thinking = false
		if err == nil {
			r.hooks.thought(r.log, turn, time.Since(turn.received))
		}
		r.act(seat, turn, choice, err)
	})
}

// choose calls the bot, and calls it again if its choice failed while the arbiter was away. That is so if its error, or
// one that it wraps, shows it, or if any call failed in that way meanwhile: a bot may wrap an error in any way, or keep
// only its text.
func (r *runner) choose(ctx context.Context, ask func() (Choice, error)) (Choice, error) {
	for pauses := newBackoff(); ; {
		outages, greeting := r.client.outages.Load(), r.client.greeting()
		choice, err := r.chooseOnce(ctx, ask)
		away := wasAway(err) || r.client.outages.Load() != outages
		if err == nil || !away || ctx.Err() != nil {
			return choice, err
		}
		r.log.Log(ctx, r.client.severity(err), fmt.Sprintf("the choice is made again, the server was away: %v", err))
		if !rest(ctx, pauses.next(retryAfter(err)), greeting, err) {
			return nil, ctx.Err()
		}
	}
}

// chooseOnce calls the bot as soon as fewer than the largest number of choices are under way.
func (r *runner) chooseOnce(ctx context.Context, ask func() (Choice, error)) (choice Choice, err error) {
	select {
	case r.thinkers <- struct{}{}:
		defer func() { <-r.thinkers }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if failed := guarded(func() { choice, err = ask() }); failed != nil {
		return nil, failed
	}
	return choice, err
}

// bringLine completes the match's moves up to a turn: from the turn's last moves, or if these leave a gap, from the
// server.
func (r *runner) bringLine(ctx context.Context, match *LiveMatch, turn *pb.Turn) error {
	moves, whole := joined(match.Moves(), turn)
	for pauses := newBackoff(); !whole; {
		greeting := r.client.greeting()
		found, err := r.client.Match(ctx, match.ID, true)
		switch {
		case err == nil && len(found.GetMoves()) >= int(turn.GetPly()):
			moves, whole = found.GetMoves()[:turn.GetPly()], true
		case err == nil:
			return fmt.Errorf("the arbiter tells of %d moves at ply %d", len(found.GetMoves()), turn.GetPly())
		case !wasAway(err):
			return err
		case !rest(ctx, pauses.next(retryAfter(err)), greeting, err):
			return ctx.Err()
		}
	}
	match.setMoves(moves)
	return nil
}

// act sends the bot's choice. The caller holds the lock.
func (r *runner) act(seat *seat, turn *Turn, choice Choice, err error) {
	if err == nil && choice == nil {
		err = errors.New("it chose nothing: expected Move, OfferDraw, ClaimDraw or Resign")
	}
	if err != nil {
		if choice = r.failed(seat, turn, err); choice == nil {
			return
		}
	}
	for _, act := range choice.acts() {
		act.MatchId = seat.match.ID
		if move := act.GetMove(); move != nil {
			move.Ply = int32(turn.Ply)
		}
		seat.requestID = r.request(seat, act)
	}
	seat.turn = turn
}

func (r *runner) request(seat *seat, act *pb.PlayAct) string {
	id := r.outbox.request(act)
	r.asked[id] = seat
	return id
}

// failed handles an error of the bot in its turn: it logs it, and returns what to do by the run's policy.
func (r *runner) failed(seat *seat, turn *Turn, err error) Choice {
	where := fmt.Sprintf("%s failed in match %s at ply %d", either(r.profile.Name, "the bot"), seat.match.ID, turn.Ply)
	switch r.options.OnError {
	case OnErrorRaise:
		r.finish(&BotError{fmt.Sprintf("%s: %v", where, err), err})
		return nil
	case OnErrorWait:
		r.log.Error(fmt.Sprintf("%s, and its clock runs on: %v", where, err), stackOf(err)...)
		return nil
	default:
		r.log.Error(fmt.Sprintf("%s, and it resigns: %v", where, err), stackOf(err)...)
		return Resign{}
	}
}

// ---- answers ---------------------------------------------------------------------------------------------------------

func (r *runner) onAnswer(answer *pb.MoveAnswer) {
	act := r.outbox.waiting(answer.GetRequestId())
	if act == nil {
		return // answered before
	}
	if answer.GetRefusal() != nil {
		r.onRefusal(act, fromRefusal(answer.GetRefusal()))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seat := r.settled(answer.GetRequestId())
	if seat != nil && act.GetMove() != nil {
		ply := int(act.GetMove().GetPly())
		seat.nextPly = max(seat.nextPly, ply+1)
		seat.offerAnswered = false // a move ends the opponent's offer
		if moves := seat.match.Moves(); len(moves) == ply && int(answer.GetReceipt().GetPly()) == ply+1 {
			seat.match.setMoves(append(moves, act.GetMove().GetMove()))
		}
	}
}

// settled marks a request as answered; it returns the seat that made it, or nil if its match is over.
func (r *runner) settled(requestID string) *seat {
	r.outbox.answered(requestID)
	seat := r.asked[requestID]
	delete(r.asked, requestID)
	if seat == nil || seat.match.IsOver() {
		return nil
	}
	return seat
}

func (r *runner) onRefusal(act *pb.PlayAct, refusal *ArbiterError) {
	if refusal.Temporary() {
		pause := refusal.RetryAfter()
		if pause == 0 {
			pause = repeatAfter
		}
		time.AfterFunc(pause, func() { r.outbox.again(act.GetRequestId()) })
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seat := r.settled(act.GetRequestId())
	switch refusal.Reason {
	case ReasonPlyMismatch, ReasonNotYourTurn, ReasonMatchNotActive:
		r.log.Debug(fmt.Sprintf("an act in match %s came too late: %v", act.GetMatchId(), refusal))
		return
	}
	answersTurn := act.GetMove() != nil || act.GetClaimDraw() != nil
	if seat == nil {
		return
	}
	r.log.Warn(fmt.Sprintf("refused in match %s: %v", act.GetMatchId(), refusal))
	if answersTurn && seat.turn != nil && seat.requestID == act.GetRequestId() {
		r.hooks.refused(r.log, seat.turn, refusal)
		r.chooseAgain(seat, seat.turn, refusal)
	}
}

// chooseAgain asks the bot for another choice; a second refusal for the same turn is an error of the bot.
func (r *runner) chooseAgain(seat *seat, turn *Turn, refusal *ArbiterError) {
	again := *turn
	again.Refused = refusal
	r.think(seat, &again, r.begin(seat, turn.Ply, turn.Seat), func(ctx context.Context) (Choice, error) {
		if turn.Refused != nil {
			return nil, refusal
		}
		return r.choose(ctx, func() (Choice, error) {
			if bot, deals := r.bot.(Refuser); deals {
				if choice, err := bot.Refused(ctx, turn, refusal); choice != nil || err != nil {
					return choice, err
				}
			}
			return r.bot.Choose(ctx, &again)
		})
	})
}

// ---- draws -----------------------------------------------------------------------------------------------------------

func (r *runner) onDrawOffered(message *pb.DrawOffered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, seat := range r.seats[message.GetMatchId()] {
		r.answerOffer(seat)
	}
}

// answerOffer asks the bot for its answer to a draw offer, once. The caller holds the lock.
func (r *runner) answerOffer(seat *seat) {
	if seat.offerAnswered {
		return
	}
	seat.offerAnswered = true
	r.spawn(func(ctx context.Context) {
		accept := false
		if bot, answers := r.bot.(DrawAnswerer); answers {
			r.callback("draw offered", func() { accept = bot.DrawOffered(ctx, seat.match) })
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !seat.match.IsOver() {
			answer := &pb.AnswerDrawAct{Accept: accept}
			r.request(seat, &pb.PlayAct{MatchId: seat.match.ID, Act: &pb.PlayAct_AnswerDraw{AnswerDraw: answer}})
		}
	})
}

// callback calls the bot; a panic is logged, or ends the run.
func (r *runner) callback(what string, call func()) {
	err := guarded(call)
	switch {
	case err == nil:
	case r.options.OnError == OnErrorRaise:
		r.finish(&BotError{fmt.Sprintf("%s failed in %s: %v", either(r.profile.Name, "the bot"), what, err), err})
	default:
		r.log.Error(fmt.Sprintf("%s failed in %s: %v", either(r.profile.Name, "the bot"), what, err), stackOf(err)...)
	}
}

// stackOf returns the stack of a panic as an attribute for the log, since it has many lines.
func stackOf(err error) []any {
	var panicked *PanicError
	if errors.As(err, &panicked) {
		return []any{stackKey, panicked.Stack}
	}
	return nil
}

// guarded makes a panic an error.
func guarded(call func()) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value, string(debug.Stack())}
		}
	}()
	call()
	return nil
}
