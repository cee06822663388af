package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// longAudio is the least audio that is worth a bar.
const longAudio = 30 * time.Second

// audioProgress shows how far the audio of several files has come, as one bar for all of them.
type audioProgress struct {
	console *console
	files   int
	begin   time.Time

	mu       sync.Mutex
	done     map[int]time.Duration // by file
	total    map[int]time.Duration
	finished int
}

func newAudioProgress(c *console, files int) *audioProgress {
	return &audioProgress{console: c, files: files, begin: time.Now(), done: map[int]time.Duration{},
		total: map[int]time.Duration{}}
}

// set notes how far file i has come and draws the bar.
func (p *audioProgress) set(i int, done, total time.Duration) {
	p.mu.Lock()
	p.done[i], p.total[i] = done, total
	line := p.line(time.Since(p.begin))
	p.mu.Unlock()
	if line != "" {
		p.console.draw(line)
	}
}

// finish notes that a file is done with, well or not.
func (p *audioProgress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished++
}

// line is the bar after a time, "" while there is little audio. The caller holds mu.
func (p *audioProgress) line(elapsed time.Duration) string {
	var done, total time.Duration
	for i := range p.total {
		done += p.done[i]
		total += p.total[i]
	}
	if total < longAudio {
		return ""
	}
	line := fmt.Sprintf("%s %s of %s", bar(int64(done), int64(total)), clock(done), clock(total))
	if p.files > 1 {
		line += fmt.Sprintf(", %d of %d files done", p.finished, p.files)
	}
	line += fmt.Sprintf(", %s so far", clock(elapsed))
	// Windows of a batch end together, so early on nothing can be told from how many have.
	if elapsed > 2*time.Second && 10*done >= total {
		left := time.Duration(float64(elapsed) * float64(total-done) / float64(done))
		line += fmt.Sprintf(", %s left", clock(left))
	}
	return line
}

// bar draws done of total.
func bar(done, total int64) string {
	const width = 24
	share := 0.0
	if total > 0 {
		share = min(1, float64(done)/float64(total))
	}
	full := int(share * width)
	return fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("#", full), strings.Repeat("-", width-full), 100*share)
}

// clock is a duration as a clock shows it: 2:05, 1:02:05.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
