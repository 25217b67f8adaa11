package arbiter

import (
	"math"
	"sync"
)

const rememberedEnds = 10_000

// matchSlots counts a bot's matches: those under way, and those agreed on that the stream has not announced yet.
// changed is called after a possible change of their number.
type matchSlots struct {
	mu       sync.Mutex
	most     int
	live     map[string]bool
	expected map[string]bool
	agreed   int
	inAll    int // how many matches the bot plays before it stops; 0 for no limit
	count    int // of those that have ended
	over     map[string]bool
	order    []string // of those over
	changed  func()
}

func newMatchSlots(most, inAll int) *matchSlots {
	return &matchSlots{most: most, inAll: inAll, live: map[string]bool{}, expected: map[string]bool{}, over: map[string]bool{}, changed: func() {}}
}

// holds returns whether there is room for the matches agreed on, and for those that so many open seeks may become.
func (s *matchSlots) holds(seeks int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold(seeks)
}

// hold does the same for a caller that holds the lock.
func (s *matchSlots) hold(seeks int) bool {
	taken := s.taken()
	atOnce := s.most <= 0 || taken+min(seeks, 1) <= s.most
	return atOnce && (s.inAll <= 0 || s.count+taken+seeks <= s.inAll)
}

// taken returns how many matches are under way or agreed on. The caller holds the lock.
func (s *matchSlots) taken() int { return len(s.live) + len(s.expected) + s.agreed }

func (s *matchSlots) playing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken()
}

// left returns how many more matches the bot may agree on before it stops, besides those that it plays now.
func (s *matchSlots) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inAll == 0 {
		return math.MaxInt
	}
	return max(0, s.inAll-s.count-s.taken())
}

// begun counts a match that is under way.
func (s *matchSlots) begun(matchID string) {
	s.change(func() {
		s.live[matchID] = true
		delete(s.expected, matchID)
	})
}

// ended counts the end of a match; it returns whether the end was not known yet.
func (s *matchSlots) ended(matchID string) (news bool) {
	s.change(func() {
		delete(s.live, matchID)
		delete(s.expected, matchID)
		if news = !s.over[matchID]; news {
			s.over[matchID] = true
			s.count++
			if s.order = append(s.order, matchID); len(s.order) > rememberedEnds {
				delete(s.over, s.order[0])
				s.order = s.order[1:]
			}
		}
	})
	return news
}

// isOver returns whether a match is known to have ended.
func (s *matchSlots) isOver(matchID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over[matchID]
}

// expect reserves a place for a match that has been agreed on, until the stream announces it.
func (s *matchSlots) expect(matchID string) {
	s.change(func() {
		if !s.live[matchID] && !s.over[matchID] {
			s.expected[matchID] = true
		}
	})
}

// agreeing reserves a place while a match is being agreed on; it returns false if there is none.
func (s *matchSlots) agreeing(agree func()) (room bool) {
	s.change(func() {
		if room = s.hold(1); room {
			s.agreed++
		}
	})
	if room {
		defer s.change(func() { s.agreed-- })
		agree()
	}
	return room
}

func (s *matchSlots) change(how func()) {
	s.mu.Lock()
	how()
	s.mu.Unlock()
	s.changed()
}
