package server

import "net/http"

// health says that the process answers.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is the answer of /readyz.
type readiness struct {
	// Status is "ready", "loading", "stopping" or "failed".
	Status string `json:"status"`
	// Error says why, where the status is "failed".
	Error  string       `json:"error,omitempty"`
	Models []readyModel `json:"models"`
}

type readyModel struct {
	Name   string `json:"name"`
	Loaded bool   `json:"loaded"`
	Device string `json:"device,omitempty"`
}

// ready answers 200 when every model is loaded and warm, and 503 before, once the
// server stops, and when a device is lost.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	answer := readiness{Status: "ready", Models: []readyModel{}}
	status := http.StatusOK
	lost := s.transcriber.Lost()
	switch {
	case s.stopping.Load():
		answer.Status = "stopping"
	case lost != nil:
		answer.Status, answer.Error = "failed", lost.Error()
	case !s.warm.Load():
		answer.Status = "loading"
	}
	if answer.Status != "ready" {
		status = http.StatusServiceUnavailable
	}
	for _, m := range s.modelObjects() {
		answer.Models = append(answer.Models, readyModel{m.ID, m.Hark.Loaded, m.Hark.Device})
	}
	s.writeJSON(w, r, status, answer)
}
