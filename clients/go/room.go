package arbiter

import (
	"math"
	"sync"
)

const rememberedEnds = 10_000

// room counts a bot's matches: those under way, and those that were agreed on but that the stream has not told yet.
// changed is called whenever their number may be another one.
type room struct {
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

func newRoom(most, inAll int) *room {
	return &room{most: most, inAll: inAll, live: map[string]bool{}, expected: map[string]bool{}, over: map[string]bool{}, changed: func() {}}
}

// full says whether the bot has as many matches as it takes.
func (r *room) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most > 0 && r.taken() >= r.most || r.inAll > 0 && r.count+r.taken() >= r.inAll
}

// taken returns how many matches are under way or agreed on. The caller holds the lock.
func (r *room) taken() int { return len(r.live) + len(r.expected) + r.agreed }

func (r *room) playing() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken()
}

// left returns how many matches more the bot may agree on before it stops, whatever it plays now.
func (r *room) left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inAll == 0 {
		return math.MaxInt
	}
	return max(0, r.inAll-r.count-r.taken())
}

// begun is told of a match that is under way.
func (r *room) begun(matchID string) {
	r.change(func() {
		r.live[matchID] = true
		delete(r.expected, matchID)
	})
}

// ended is told of the end of a match; it returns whether that is news.
func (r *room) ended(matchID string) (news bool) {
	r.change(func() {
		delete(r.live, matchID)
		delete(r.expected, matchID)
		if news = !r.over[matchID]; news {
			r.over[matchID] = true
			r.count++
			if r.order = append(r.order, matchID); len(r.order) > rememberedEnds {
				delete(r.over, r.order[0])
				r.order = r.order[1:]
			}
		}
	})
	return news
}

// isOver says whether a match is known to have ended.
func (r *room) isOver(matchID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over[matchID]
}

// expect keeps a place for a match that has been agreed on, until the stream tells of it.
func (r *room) expect(matchID string) {
	r.change(func() {
		if !r.live[matchID] && !r.over[matchID] {
			r.expected[matchID] = true
		}
	})
}

// agreeing keeps a place while a match is being agreed on.
func (r *room) agreeing(agree func()) {
	r.change(func() { r.agreed++ })
	defer r.change(func() { r.agreed-- })
	agree()
}

func (r *room) change(how func()) {
	r.mu.Lock()
	how()
	r.mu.Unlock()
	r.changed()
}
