package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"hark/access"
	"hark/engine"
	"hark/fetch"
)

// errStopping is why the requests that outlive the grace of a stop are cut off.
var errStopping = errors.New("the server is stopping")

// Server answers HTTP requests with transcripts. Make it with [New], then [Server.Warm] and [Server.Serve], or mount
// [Server.Handler] and end with [Server.Shutdown].
type Server struct {
	cfg         Config
	log         zerolog.Logger
	models      *engine.Registry
	transcriber *Transcriber
	metrics     *metrics
	handler     http.Handler
	fetcher     *fetch.Fetcher
	jobs        *office // nil where there are no jobs
	started     time.Time

	memory   memoryShare  // of uploads
	pending  atomic.Int64 // transcriptions under way
	streams  atomic.Int64 // of jobs' events
	warm     atomic.Bool
	stopping atomic.Bool
	// resumable are streams that a client may come back for.
	resumable streams
	// keepAliveEvery is the constant, but in tests.
	keepAliveEvery time.Duration

	live    liveSessions
	secrets access.Secrets[*liveSettings] // good for a live session each

	// cut ends cutCtx, and with it every transcription, wherever it stands.
	cut    context.CancelFunc
	cutCtx context.Context

	busyMu sync.Mutex
	busy   sync.WaitGroup // transcriptions under way; none is added once stopping is set
}

// New makes a server over the models of a registry, which stays the caller's and is to be closed after the server. The
// error names a setting that can't be used.
func New(cfg Config, models *engine.Registry, log zerolog.Logger) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, log: log, models: models, started: time.Now(), keepAliveEvery: keepAliveEvery}
	s.metrics = newMetrics(models.Loaded)
	s.transcriber = NewTranscriber(models, TranscriberConfig{
		MaxDuration:     cfg.MaxDuration,
		MaxDecodedBytes: cfg.MaxDecodedBytes,
		SpoolDir:        cfg.SpoolDir,
		Scheduling:      cfg.Scheduling,
		Auto:            cfg.Models,
		FFmpeg:          cfg.FFmpeg,
		Observer:        s.metrics.observer,
		Charge:          s.charge,
		Weight:          s.weight,
	})
	s.live.stop = make(chan struct{})
	s.cutCtx, s.cut = context.WithCancel(context.Background())
	s.fetcher = newFetcher(cfg)
	if cfg.Jobs != nil {
		s.jobs = newOffice(s, cfg.Jobs)
	}
	s.handler = s.routes()
	return s, nil
}

// Handler answers every route of the server.
func (s *Server) Handler() http.Handler { return s.handler }

// Warm loads every model that is served and runs a second of sound through each; then /readyz says 200.
// Transcriptions are accepted before, and wait.
func (s *Server) Warm(ctx context.Context) error {
	for _, name := range s.cfg.Models {
		begin := time.Now()
		if err := s.transcriber.Warm(ctx, name); err != nil {
			return err
		}
		s.log.Info().Str("model", name).Dur("took_ms", time.Since(begin)).Msg("model is ready")
	}
	s.warm.Store(true)
	s.metrics.ready.Set(1)
	return nil
}

// HTTPServer wraps the handler with time limits against slow and idle clients. Bodies and answers have limits of their
// own, since a long recording may rightly take hours.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       withLink,
		ErrorLog:          quietLog(s.log),
	}
}

// Serve answers on l until ctx ends, then stops in order: no new links, requests finish within ShutdownGrace, what is
// left is answered with 503 and cut off. It returns nil after such a stop. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	hs := s.HTTPServer()
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		s.Shutdown(canceled())
		return fmt.Errorf("server: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), max(0, s.cfg.ShutdownGrace))
	defer cancel()
	s.log.Info().Int64("pending", s.pending.Load()).Msg("stopping")
	s.refuse()
	hs.SetKeepAlivesEnabled(false)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		hs.Shutdown(context.WithoutCancel(grace)) // ends once every request is answered, which Shutdown below sees to
	}()
	err := s.Shutdown(grace)
	if err != nil {
		s.log.Warn().Err(err).Msg("requests were cut off")
	}
	select {
	case <-closed:
	case <-time.After(lastWords):
		hs.Close()
	}
	return nil
}

// lastWords is how long answers may take to leave once nothing is under way any more.
const lastWords = 3 * time.Second

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Shutdown refuses new transcriptions and waits until those under way are answered. When ctx ends before, they are
// answered with 503 and ctx's error comes back. Afterwards no model is in use by the server.
//
// Jobs go no further, and are left for the next start.
func (s *Server) Shutdown(ctx context.Context) error {
	s.refuse()
	if s.jobs != nil {
		s.jobs.close()
	}
	idle := make(chan struct{})
	go func() {
		s.busy.Wait()
		close(idle)
	}()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = ctx.Err()
		s.cut()
		<-idle
	}
	s.fetcher.Close()
	return errors.Join(err, s.transcriber.Close(ctx))
}

// refuse makes the server not ready and closed to new transcriptions.
func (s *Server) refuse() {
	s.busyMu.Lock()
	s.stopping.Store(true)
	s.busyMu.Unlock()
	s.live.once.Do(func() { close(s.live.stop) })
	s.metrics.ready.Set(0)
}

// place is what a transcription occupies from its admission on.
type place struct {
	server *Server
	freed  bool
}

// admit takes a place for a transcription, before its body is read.
func (s *Server) admit() (*place, error) {
	s.busyMu.Lock()
	defer s.busyMu.Unlock()
	if s.stopping.Load() {
		return nil, stopping(nil)
	}
	if s.pending.Load() >= int64(s.cfg.MaxPending) {
		return nil, queueFull()
	}
	s.pending.Add(1)
	s.metrics.pending.Inc()
	s.busy.Add(1)
	return &place{server: s}, nil
}

// free lets the next one in; what is left to do is to write the answer.
func (p *place) free() {
	if !p.freed {
		p.freed = true
		p.server.pending.Add(-1)
		p.server.metrics.pending.Dec()
	}
}

// leave says that the answer is written.
func (p *place) leave() {
	p.free()
	p.server.busy.Done()
}
