package aac

import (
	"math"

	"hark/audioprep/internal/bits"
)

// msMask says in which bands a pair is coded as middle and side (section 4.6.8.1).
type msMask struct {
	present int // 0 none, 1 as used says, 2 all
	used    [shortWindows][maxBands]bool
}

func (m *msMask) read(r *bits.Reader, f *icsInfo) error {
	m.present = r.Take(2)
	switch m.present {
	case 1:
		for g := range f.groups {
			for b := range f.maxBand {
				m.used[g][b] = r.Flag()
			}
		}
	case 2:
		for g := range f.groups {
			for b := range f.maxBand {
				m.used[g][b] = true
			}
		}
	case 3:
		return ErrPacket
	}
	return nil
}

// undo makes left and right of middle and side.
func (m *msMask) undo(left, right *channel) {
	if m.present == 0 {
		return
	}
	f := &left.info
	first := 0
	for g := range f.groups {
		for b := range f.maxBand {
			if !m.used[g][b] || left.book[g][b] >= bookNoise || right.book[g][b] >= bookNoise {
				continue
			}
			for w := first; w < first+f.length[g]; w++ {
				from, to := w*shortLines+f.bands[b], w*shortLines+f.bands[b+1]
				x, y := left.coef[from:to], right.coef[from:to]
				for i, s := range y {
					y[i] = x[i] - s
					x[i] += s
				}
			}
		}
		first += f.length[g]
	}
}

// undoIntensity fills bands of the right channel that are copies of the left one at
// another level, 2^(-position/4), and perhaps turned over (section 4.6.8.2).
func undoIntensity(left, right *channel, m *msMask) {
	f := &right.info
	first := 0
	for g := range f.groups {
		for b := range f.maxBand {
			book := right.book[g][b]
			if book != bookIntensity && book != bookIntensity2 {
				continue
			}
			scale := float32(math.Exp2(-float64(right.scale[g][b]) / 4))
			if (book == bookIntensity2) != (m.present == 1 && m.used[g][b]) {
				scale = -scale
			}
			for w := first; w < first+f.length[g]; w++ {
				from, to := w*shortLines+f.bands[b], w*shortLines+f.bands[b+1]
				for i, v := range left.coef[from:to] {
					right.coef[from+i] = v * scale
				}
			}
		}
		first += f.length[g]
	}
}
