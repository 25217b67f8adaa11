package arbiter

import (
	"sync"
	"sync/atomic"
	"time"
)

// watchdog ends a stream on which nothing has arrived for too long.
type watchdog struct {
	mu     sync.Mutex
	most   time.Duration
	timer  *time.Timer
	barked atomic.Bool
}

func newWatchdog(most time.Duration, end func()) *watchdog {
	w := &watchdog{most: most}
	w.timer = time.AfterFunc(most, func() {
		w.barked.Store(true)
		end()
	})
	return w
}

// pat restarts the time limit, because something has arrived.
func (w *watchdog) pat() { w.allow(w.limit()) }

// allow changes the time limit from now on.
func (w *watchdog) allow(most time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = most
	w.timer.Reset(most)
}

func (w *watchdog) limit() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

func (w *watchdog) stop() { w.timer.Stop() }
