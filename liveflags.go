package main

import (
	"time"

	"hark/server"
)

// liveFlags bound live sessions.
type liveFlags struct {
	MaxLive         int           `default:"64" placeholder:"N" help:"Live sessions open at once; more are told to come back (default: ${default})."`
	MaxLiveTime     time.Duration `default:"2h" placeholder:"TIME" help:"Longest live session (default: ${default})."`
	LiveIdleTimeout time.Duration `default:"5m" placeholder:"TIME" help:"Longest time for a live session to send nothing (default: ${default})."`
}

// set sets them for a server.
func (f *liveFlags) set(cfg *server.Config) {
	cfg.MaxLive, cfg.MaxLiveTime, cfg.LiveIdleTimeout = f.MaxLive, f.MaxLiveTime, f.LiveIdleTimeout
}
