package arbiter

import "sync"

const rememberedEnds = 10_000

// room counts a bot's matches: those under way, and those that were agreed on but that the stream has not told yet.
// changed is called whenever their number may be another one.
type room struct {
	mu       sync.Mutex
	most     int
	live     map[string]bool
	expected map[string]bool
	agreed   int
	over     map[string]bool
	order    []string // of those over
	changed  func()
}

func newRoom(most int) *room {
	return &room{most: most, live: map[string]bool{}, expected: map[string]bool{}, over: map[string]bool{}, changed: func() {}}
}

// full says whether the bot has as many matches as it takes.
func (r *room) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most > 0 && len(r.live)+len(r.expected)+r.agreed >= r.most
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
