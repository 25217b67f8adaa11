package arbiter

import (
	"math/rand/v2"
	"time"
)

// backoff has the pauses between attempts: exponential, with jitter, so that many clients do not reconnect at the same
// time. Pauses double from first up to most, each shortened by at most a half, by chance (0 to 1).
type backoff struct {
	first, most time.Duration
	chance      func() float64
	tries       int
}

func newBackoff() *backoff {
	return &backoff{first: 100 * time.Millisecond, most: 5 * time.Second, chance: rand.Float64}
}

// next returns the next pause, plus the pause that the server has asked all its clients for.
func (b *backoff) next(atLeast time.Duration) time.Duration {
	whole := b.most
	if b.tries < 30 {
		whole = min(b.most, b.first<<b.tries)
	}
	b.tries++
	return atLeast + time.Duration(float64(whole)*(1-b.chance()/2))
}

// reset starts again from the first pause, after a success.
func (b *backoff) reset() { b.tries = 0 }
