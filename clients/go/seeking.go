package arbiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// place holds terms for which a seek should be open, and the open seek; refused if the server does not accept them.
type place struct {
	terms       Terms
	challengeID string
}

// seeker keeps a seek open for each of several terms, while the bot has room for a match. A single goroutine makes and
// withdraws them, so that no seek is made twice; all other methods only wake it.
type seeker struct {
	client *Client
	slots  *matchSlots
	log    *slog.Logger
	fail   func(error) // ends the run if the server does not accept the terms of a seek
	wake   chan struct{}
	busy   sync.Mutex // held while the server is asked

	mu      sync.Mutex
	places  []*place
	player  string
	greeted bool
	stopped bool
	closing map[string]bool // ids that were closed during the call to the server
}

func newSeeker(terms []Terms, client *Client, slots *matchSlots, log *slog.Logger) *seeker {
	s := &seeker{client: client, slots: slots, log: log, fail: func(error) {}, wake: make(chan struct{}, 1), closing: map[string]bool{}}
	for _, each := range terms {
		s.places = append(s.places, &place{terms: each})
	}
	return s
}

// onGreeting begins a new stream: the state of the seeks is read from the server again.
func (s *seeker) onGreeting(player string) {
	s.mu.Lock()
	s.player, s.greeted = player, true
	s.mu.Unlock()
	s.look()
}

// closed reacts to the end of a challenge or seek: it is no longer open, and at once counts as the match that it became.
func (s *seeker) closed(challengeID, matchID string) {
	s.mu.Lock()
	if matchID != "" {
		s.slots.expect(matchID)
	}
	s.closing[challengeID] = true
	for _, place := range s.places {
		if place.challengeID == challengeID {
			place.challengeID = ""
		}
	}
	s.mu.Unlock()
	s.look()
}

// look wakes the goroutine that makes and withdraws seeks, because something has changed.
func (s *seeker) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run makes and withdraws seeks after every change, until the context ends.
func (s *seeker) run(ctx context.Context) {
	pauses := newBackoff()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		greeting := s.client.greeting()
		s.busy.Lock()
		err := s.arrange(ctx)
		s.busy.Unlock()
		if err == nil {
			pauses.reset()
			continue
		}
		pause := pauses.next(retryAfter(err))
		s.log.Log(ctx, s.client.severity(err), fmt.Sprintf("seeks can't be kept open, trying again in %.1f s: %v", pause.Seconds(), err))
		if !rest(ctx, pause, greeting, err) {
			return
		}
		s.look()
	}
}

// close makes no more seeks, and withdraws those that are open.
func (s *seeker) close(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.busy.Lock()
	defer s.busy.Unlock()
	return s.arrange(ctx)
}

// makeRoom withdraws the seeks that leave no room for the match being agreed on; it returns false if that is too late.
func (s *seeker) makeRoom(ctx context.Context) (bool, error) {
	s.busy.Lock()
	defer s.busy.Unlock()
	for _, place := range s.places {
		if s.hasRoom() {
			break
		}
		if err := s.withdraw(ctx, place); err != nil {
			return false, err
		}
	}
	return s.hasRoom(), nil
}

func (s *seeker) hasRoom() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := 0
	for _, place := range s.places {
		if place.challengeID != "" {
			open++
		}
	}
	return !s.stopped && s.slots.holds(open)
}

func (s *seeker) arrange(ctx context.Context) error {
	if err := s.findAgain(ctx); err != nil {
		return err
	}
	count := 0 // open seeks: each may become a match, so there are not more than matches left
	for _, place := range s.openFirst() {
		s.mu.Lock()
		wanted := !s.stopped && s.player != "" && s.slots.holds(count+1)
		open := place.challengeID
		s.mu.Unlock()
		var err error
		switch {
		case wanted && open == "":
			err = s.make(ctx, place)
		case !wanted && open != "":
			err = s.withdraw(ctx, place)
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		if place.challengeID != "" {
			count++
		}
		s.mu.Unlock()
	}
	return nil
}

// openFirst returns the places, those with an open seek first.
func (s *seeker) openFirst() []*place {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open, missing []*place
	for _, place := range s.places {
		if place.challengeID != "" {
			open = append(open, place)
		} else {
			missing = append(missing, place)
		}
	}
	return append(open, missing...)
}

// findAgain finds the open seeks after a new stream began: those of before, and those of an earlier run that was
// killed.
func (s *seeker) findAgain(ctx context.Context) error {
	s.mu.Lock()
	wanted := s.greeted && !s.stopped
	clear(s.closing)
	s.mu.Unlock()
	if !wanted {
		return nil
	}
	all, err := s.client.Challenges(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeted = false
	left := map[string]Challenge{}
	for _, challenge := range all {
		if challenge.Challenger == s.player && challenge.Opponent == "" && !s.closing[challenge.ID] {
			left[challenge.ID] = challenge
		}
	}
	for _, place := range s.places {
		if _, open := left[place.challengeID]; !open {
			place.challengeID = ""
		}
		delete(left, place.challengeID)
	}
	for _, place := range s.places {
		for id, seek := range left {
			if place.challengeID == "" && fits(seek.Terms, place.terms) {
				place.challengeID = id
				delete(left, id)
			}
		}
	}
	return nil
}

func (s *seeker) make(ctx context.Context, place *place) error {
	s.mu.Lock()
	clear(s.closing)
	s.mu.Unlock()
	seek, err := s.client.Seek(ctx, place.terms)
	if err != nil {
		var refusal *ArbiterError
		if !errors.As(err, &refusal) || wasAway(err) {
			return err
		}
		s.mu.Lock()
		s.stopped = true
		s.mu.Unlock()
		s.fail(err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing[seek.ID] { // it was not accepted before the answer arrived
		place.challengeID = seek.ID
	}
	return nil
}

// withdraw withdraws a seek. If another player has just accepted it, it counts until the stream says it is closed.
func (s *seeker) withdraw(ctx context.Context, place *place) error {
	s.mu.Lock()
	open := place.challengeID
	s.mu.Unlock()
	if open == "" {
		return nil
	}
	err := s.client.DeclineChallenge(ctx, open, "")
	var refusal *ArbiterError
	if errors.As(err, &refusal) && refusal.Reason == ReasonChallengeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	place.challengeID = ""
	return nil
}

// fits returns whether an open seek has the given terms. Terms that were left to the server match anything.
func fits(said, terms Terms) bool {
	return said.Game == terms.Game && said.Rated == terms.Rated && said.Position == terms.Position &&
		(terms.TimeControl == "" || sameControl(terms.TimeControl, said.TimeControl)) &&
		(terms.Seat == 0 || terms.Seat == said.Seat) &&
		(terms.AbandonMs == nil || said.AbandonMs != nil && *said.AbandonMs == *terms.AbandonMs)
}
