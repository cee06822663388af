package server

import (
	"cmp"
	"slices"
	"strconv"

	"hark/engine"
)

// series is several jobs whose windows are one request's.
type series struct {
	jobs       []engine.Job
	sequential bool
	at         int // the first job that may have more windows
}

// Next hands out the windows of one job after the other. A sequential job's next window comes when the last one has
// run: what it hands out ends a batch's worth.
func (s *series) Next(max int) []engine.Window {
	var windows []engine.Window
	for s.at < len(s.jobs) && len(windows) < max {
		more := s.jobs[s.at].Next(max - len(windows))
		windows = append(windows, more...)
		if len(more) == 0 {
			s.at++
		} else if s.sequential {
			break
		}
	}
	return windows
}

// Progress is that of all jobs together.
func (s *series) Progress() (done, total int) {
	for _, j := range s.jobs {
		d, t := j.Progress()
		done, total = done+d, total+t
	}
	return done, total
}

// speakers is the job of a file whose channels are heard one by one, each as a speaker.
type speakers struct {
	series        // of the channels in which there is speech
	numbers []int // of these channels
}

// Result merges what was heard by the time at which it begins. Its language is that of most of the speech.
func (s *speakers) Result() *engine.Result {
	all := &engine.Result{}
	spoken := map[string]float64{}
	for i, j := range s.jobs {
		r := j.Result()
		for _, segment := range r.Segments {
			segment.Speaker = strconv.Itoa(s.numbers[i])
			all.Segments = append(all.Segments, segment)
			spoken[r.Language] += segment.End - segment.Start
		}
		if all.Language == "" || spoken[r.Language] > spoken[all.Language] {
			all.Language = r.Language
		}
	}
	slices.SortStableFunc(all.Segments, func(a, b engine.Segment) int { return cmp.Compare(a.Start, b.Start) })
	return all
}
