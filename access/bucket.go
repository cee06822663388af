package access

import (
	"math"
	"time"
)

// bucket fills at an even rate up to its size, and is full at first. What is taken on credit makes it negative.
type bucket struct {
	size   float64
	period time.Duration // from empty to full
	level  float64
	at     time.Time // when level was right; zero: never touched, so full
}

// resize changes the rate and keeps what was used.
func (b *bucket) resize(size float64, period time.Duration) {
	if b.size == size && b.period == period {
		return
	}
	b.level += size - b.size
	b.size, b.period = size, period
}

// settle fills the bucket up to now.
func (b *bucket) settle(now time.Time) {
	switch gone := now.Sub(b.at); {
	case b.at.IsZero():
		b.level = b.size
	case gone <= 0: // two callers may have read the clock in another order than they came here
		return
	default:
		b.level = min(b.size, b.level+b.size*gone.Seconds()/b.period.Seconds())
	}
	b.at = now
}

// until is how long it takes to fill to a level, in whole ms, 0 if it is that full.
func (b *bucket) until(level float64) time.Duration {
	missing := level - b.level
	if missing <= 0 {
		return 0
	}
	const rounding = 1e-6 // of a ms, which the division may be off by
	return time.Duration(math.Ceil(missing/b.size*float64(b.period.Milliseconds())-rounding)) * time.Millisecond
}

func (b *bucket) standing() Standing {
	return Standing{Limit: int(b.size), Remaining: max(0, int(b.level)), Reset: b.until(b.size)}
}
