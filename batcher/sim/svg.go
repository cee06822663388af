package sim

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"time"
)

// pictured is how much of a run a picture shows: beyond it batches are too narrow to tell apart.
const pictured = 120 * time.Second

// Sizes of the picture, in pixels.
const (
	pictureWidth = 1200
	leftMargin   = 150
	laneHeight   = 28
	queueHeight  = 40
	stripHeight  = 2*laneHeight + queueHeight + 44
)

var laneColours = [2]string{"#2a7fb8", "#d9822b"} // clips, recordings

// WriteSVG draws the first two minutes of each run: when each lane had the device, as high as its batches were
// full, and below how many of each waited.
func WriteSVG(w io.Writer, results []*Result) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		pictureWidth, len(results)*stripHeight+10)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="#fff"/>`)
	for i, r := range results {
		r.draw(out, i*stripHeight+10)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// draw draws one run from the height top downwards.
func (r *Result) draw(out io.Writer, top int) {
	shown := min(r.Duration, pictured)
	x := func(t time.Duration) float64 {
		return leftMargin + (pictureWidth-leftMargin-10)*t.Seconds()/shown.Seconds()
	}
	text := func(x, y int, format string, args ...any) {
		fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", x, y, html.EscapeString(fmt.Sprintf(format, args...)))
	}
	text(5, top+12, "%s, %s", r.Load, r.Policy)
	lanesTop := top + 18
	mostWindows, mostWaiting := 1, 1
	for _, s := range r.spans {
		mostWindows = max(mostWindows, s.windows)
		mostWaiting = max(mostWaiting, s.waiting[0], s.waiting[1])
	}
	for lane, name := range []string{"clips", "recordings"} {
		text(5, lanesTop+lane*laneHeight+18, "%s", name)
	}
	queueTop := lanesTop + 2*laneHeight + 4
	text(5, queueTop+14, "waiting, up to %d", mostWaiting)
	var lines [2]string
	for _, s := range r.spans {
		if s.began >= shown {
			break
		}
		end := min(s.ended, shown)
		height := float64(laneHeight-4) * float64(s.windows) / float64(mostWindows)
		base := float64(lanesTop + (int(s.lane)+1)*laneHeight - 2)
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n",
			x(s.began), base-height, max(x(end)-x(s.began)-0.3, 0.3), height, laneColours[s.lane])
		for lane, n := range s.waiting {
			y := float64(queueTop+queueHeight) - float64(queueHeight)*float64(n)/float64(mostWaiting)
			lines[lane] += fmt.Sprintf("%.1f,%.1f ", x(end), y)
		}
	}
	for lane, line := range lines {
		fmt.Fprintf(out, `<polyline points="%s" fill="none" stroke="%s"/>`+"\n", line, laneColours[lane])
	}
	axis := queueTop + queueHeight
	fmt.Fprintf(out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#999"/>`+"\n", leftMargin,
		axis, pictureWidth-10, axis)
	for t := time.Duration(0); t <= shown; t += shown / 6 {
		text(int(x(t))-8, axis+14, "%.0f s", t.Seconds())
	}
}
