package server

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"hark/batcher"
)

// queueReport is the answer of GET /v1/queue: for every model in use, who waits and
// for how long yet. It names no callers.
type queueReport struct {
	Models []modelReport `json:"models"`
}

type modelReport struct {
	Model string `json:"model"`
	// Turn is the lane whose turn it is, or null while nothing runs.
	Turn *string `json:"turn"`
	// CostCap is the most audio that a clip turn takes, in ms; Owed how many clips were left over by earlier ones.
	CostCap int64 `json:"cost_cap_ms"`
	Owed    int   `json:"owed"`
	// BatchWait is how long a lone clip is held for company.
	BatchWait  float64        `json:"batch_wait_ms"`
	Running    []queuedReport `json:"running"`
	Clips      []queuedReport `json:"clips"`
	Recordings []queuedReport `json:"recordings"`
}

// queuedReport is one request, in about the order in which they will be served.
type queuedReport struct {
	Position int     `json:"position"` // from 1; 0 for what runs
	Cost     int64   `json:"cost_ms"`
	Waited   float64 `json:"waited_ms"`
	// Predicted is how long its answer will take from now, by what batches have taken so far; 0 while that is unknown.
	Predicted float64 `json:"predicted_wait_ms"`
	Owed      bool    `json:"owed"`
	Started   bool    `json:"started"`
}

// queue shows the lanes.
func (s *Server) queue(w http.ResponseWriter, r *http.Request) {
	report := queueReport{Models: []modelReport{}}
	now := time.Now()
	for name, q := range s.transcriber.Queues() {
		m := modelReport{
			Model: name, CostCap: q.CapMillis, Owed: q.Owed, BatchWait: inMillis(q.BatchWait),
			Running:    queued(q.Running, now, false),
			Clips:      queued(q.Lanes[batcher.Clips], now, true),
			Recordings: queued(q.Lanes[batcher.Recordings], now, true),
		}
		if q.InTurn {
			lane := q.Turn.String()
			m.Turn = &lane
		}
		report.Models = append(report.Models, m)
	}
	slices.SortFunc(report.Models, func(a, b modelReport) int { return strings.Compare(a.Model, b.Model) })
	s.writeJSON(w, r, http.StatusOK, report)
}

func queued(waiters []batcher.Waiter, now time.Time, line bool) []queuedReport {
	out := make([]queuedReport, len(waiters))
	for i, w := range waiters {
		out[i] = queuedReport{
			Cost: w.CostMillis, Waited: inMillis(now.Sub(w.Since)), Predicted: inMillis(w.Predicted),
			Owed: w.Owed, Started: w.Started,
		}
		if line {
			out[i].Position = i + 1
		}
	}
	return out
}
