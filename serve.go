package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"hark/batcher"
	"hark/engine"
	"hark/server"
)

// serveCmd answers requests over HTTP until it is told to stop.
type serveCmd struct {
	Addr      string     `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where to listen; port 0 takes a free one (default: ${default})."`
	Model     modelNames `default:"${default_model}" placeholder:"NAME" help:"Model to serve, several times or separated by commas; the first is also the one for requests that name none or one of OpenAI's. Fetched if it is not here (default: ${default})."`
	NoAliases bool       `help:"Refuse OpenAI's model names (whisper-1, ...), which otherwise mean the first model."`

	KeepAlive   time.Duration `placeholder:"TIME" help:"How long a model that nobody uses stays in memory; the next request loads it again (default: for ever)."`
	ModelMemory byteCount     `placeholder:"SIZE" help:"Memory for all models' weights together; one that does not fit beside the others takes the place of those used longest ago (default: no limit)."`

	MaxUpload         byteCount     `default:"2GiB" placeholder:"SIZE" help:"Largest file accepted (default: ${default})."`
	MaxDuration       time.Duration `default:"6h" placeholder:"TIME" help:"Longest audio of one request (default: ${default})."`
	MaxPending        int           `default:"512" placeholder:"N" help:"Transcriptions under way at once; more are told to come back (default: ${default})."`
	MaxDecoded        byteCount     `default:"2GiB" placeholder:"SIZE" help:"Memory for decoded audio; more of it lies on disk (default: ${default})."`
	SpoolDir          string        `placeholder:"DIR" help:"Where uploads beyond 8 MiB lie meanwhile (default: the system's folder for temporary files)."`
	UploadTimeout     time.Duration `default:"1h" placeholder:"TIME" help:"Longest time for an upload (default: ${default})."`
	UploadIdleTimeout time.Duration `default:"30s" placeholder:"TIME" help:"Longest pause in an upload (default: ${default})."`
	WriteTimeout      time.Duration `default:"2m" placeholder:"TIME" help:"Longest time for a client to read its answer (default: ${default})."`
	ShutdownGrace     time.Duration `default:"30s" placeholder:"TIME" help:"How long requests may go on after a signal to stop; a second signal ends everything at once (default: ${default})."`

	LogLevel  string `enum:"debug,info,warn,error" default:"info" placeholder:"WORD" help:"Least important lines to log: ${enum} (default: ${default})."`
	LogFormat string `enum:"auto,text,json" default:"auto" placeholder:"WORD" help:"How to log: ${enum}; auto is text on a terminal and json elsewhere (default: ${default})."`

	accessFlags     `embed:""`
	liveFlags       `embed:""`
	jobsFlags       `embed:""`
	schedulingFlags `embed:""`
	ffmpegFlags     `embed:""`
	deviceFlags     `embed:""`
}

func (s *serveCmd) Run(ctx context.Context, c *console, cli *commandLine) error {
	cfg, doors, err := s.settings(ctx)
	if err != nil {
		return err
	}
	log := s.logger(c)
	loader, err := newLoader(ctx, c, cli, s.deviceFlags)
	if err != nil {
		return err
	}
	defer loader.close()
	loader.log = &log
	if err := s.checkModels(loader); err != nil {
		return err
	}
	registry := engine.NewRegistry(engine.RegistryConfig{
		Load: loader.load, Size: loader.modelBytes, KeepAlive: s.KeepAlive, MemoryBytes: int64(s.ModelMemory),
	})
	defer registry.Close()
	listener, err := net.Listen("tcp", s.Addr)
	if err != nil {
		return listenError(s.Addr, err)
	}
	defer listener.Close()
	store, err := s.jobsFlags.open(&cfg, log) // behind the port, since its jobs run at once
	if err != nil {
		return err
	}
	if store != nil {
		defer store.Close()
	}
	srv, err := server.New(cfg, registry, log)
	if err != nil {
		return err
	}
	if f := cfg.FFmpeg; f != nil {
		log.Info().Str("path", f.Path()).Str("version", f.Version()).Msg("ffmpeg decodes what hark does not")
	}
	s.announce(log, loader, doors, listener.Addr())
	return s.run(ctx, srv, doors, listener, log)
}

// settings checks the flags and makes of them what the server is to keep to, but for its jobs.
func (s *serveCmd) settings(ctx context.Context) (cfg server.Config, d doors, err error) {
	if err := s.check(); err != nil {
		return cfg, d, err
	}
	scheduling, err := s.schedulingFlags.config()
	if err != nil {
		return cfg, d, err
	}
	if d, err = s.doors(); err != nil {
		return cfg, d, err
	}
	cfg = s.config(scheduling)
	if cfg.FFmpeg, err = s.find(ctx); err != nil {
		return cfg, d, err
	}
	s.accessFlags.set(&cfg, d)
	s.liveFlags.set(&cfg)
	if err := cfg.Validate(); err != nil {
		return cfg, d, &usage{err}
	}
	return cfg, d, nil
}

// checkModels refuses a name that nobody knows at once, not behind a server that never gets ready.
func (s *serveCmd) checkModels(l *loader) error {
	for _, name := range s.Model {
		if err := l.known(name); err != nil {
			return err
		}
	}
	return nil
}

// run serves until it's told to stop, or a model can't be had.
func (s *serveCmd) run(ctx context.Context, srv *server.Server, doors doors, listener net.Listener,
	log zerolog.Logger) error {
	// The port is open from the start, /readyz says when the models are loaded and warm.
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	s.accessFlags.watch(ctx, doors, log)
	go func() {
		if err := srv.Warm(ctx); err != nil && ctx.Err() == nil {
			giveUp(err)
		}
	}()
	err := srv.Serve(ctx, doors.guard(listener))
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause // a model that can't be had
	}
	if err == nil {
		log.Info().Msg("stopped")
	}
	return err
}

// check returns an error that names the first flag that can't be used. (The server takes zero for its default, which
// nobody who writes 0 means.)
func (s *serveCmd) check() error {
	for _, f := range []struct {
		flag  string
		value int64
	}{
		{"max-duration", int64(s.MaxDuration)},
		{"max-pending", int64(s.MaxPending)},
		{"upload-timeout", int64(s.UploadTimeout)},
		{"upload-idle-timeout", int64(s.UploadIdleTimeout)},
		{"write-timeout", int64(s.WriteTimeout)},
		{"max-live", int64(s.MaxLive)},
		{"max-live-time", int64(s.MaxLiveTime)},
		{"live-idle-timeout", int64(s.LiveIdleTimeout)},
		{"keep-alive", int64(s.KeepAlive) + 1},         // here zero has a meaning: for ever
		{"shutdown-grace", int64(s.ShutdownGrace) + 1}, // here zero has a meaning: not at all
	} {
		if f.value <= 0 {
			return &usage{fmt.Errorf("--%s: want more than 0", f.flag)}
		}
	}
	if s.SpoolDir != "" {
		_, err := os.Stat(s.SpoolDir) // it's not made if it is missing
		if err == nil {
			err = writable(s.SpoolDir)
		}
		if err != nil {
			return withHint(&usage{fmt.Errorf("--spool-dir %s: %w", s.SpoolDir, pathCause(err))},
				"it must be a folder that is there and can be written to")
		}
	}
	if err := s.jobsFlags.check(); err != nil {
		return err
	}
	return checkModelNames(s.Model)
}

// config is the server's part of the flags.
func (s *serveCmd) config(scheduling batcher.Config) server.Config {
	grace := s.ShutdownGrace
	if grace == 0 {
		grace = -1 // the server takes zero for its default
	}
	return server.Config{
		Models:            s.Model,
		NoAliases:         s.NoAliases,
		MaxUploadBytes:    int64(s.MaxUpload),
		MaxDuration:       s.MaxDuration,
		MaxPending:        s.MaxPending,
		Scheduling:        scheduling,
		MaxDecodedBytes:   int64(s.MaxDecoded),
		SpoolDir:          s.SpoolDir,
		UploadTimeout:     s.UploadTimeout,
		UploadIdleTimeout: s.UploadIdleTimeout,
		WriteTimeout:      s.WriteTimeout,
		ShutdownGrace:     grace,
	}
}

// announce logs where the server listens and what it computes on.
func (s *serveCmd) announce(log zerolog.Logger, l *loader, d doors, addr net.Addr) {
	device := l.device.info()
	log.Info().Str("device", device.Kind).Str("why", l.device.why).Str("name", device.Name).
		Str("code", device.Detail).Msg("device")
	url, tcp := d.scheme()+"://"+addr.String(), addr.(*net.TCPAddr)
	if tcp.IP.IsUnspecified() { // all of this machine's addresses, of which this one works from here
		url = fmt.Sprintf("%s://localhost:%d", d.scheme(), tcp.Port)
	}
	log.Info().Str("url", url).Strs("models", s.Model).Msg("listening")
	switch {
	case d.keys == nil && !tcp.IP.IsLoopback():
		log.Warn().Msg("whoever reaches this machine can use the server: it asks for no key; --api-keys has it ask for one")
	case d.keys != nil && d.cert == nil && !tcp.IP.IsLoopback():
		log.Warn().Msg("keys and audio cross the network in the clear: give --tls-cert and --tls-key, or put a proxy with TLS before the server")
	}
	if d.keys != nil {
		log.Info().Int("keys", d.keys.Len()).Msg("callers need a key")
	}
}

// logger writes to stderr.
func (s *serveCmd) logger(c *console) zerolog.Logger {
	level, err := zerolog.ParseLevel(s.LogLevel)
	if err != nil { // the parser let only these through
		panic(err)
	}
	out := c.err
	if s.LogFormat == "text" || s.LogFormat == "auto" && c.terminal {
		out = zerolog.ConsoleWriter{Out: c.err, NoColor: !c.terminal, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// listenError says what to do about an address that can't be listened on.
func listenError(addr string, err error) error {
	var op *net.OpError
	cause := err
	if errors.As(err, &op) {
		cause = op.Err
	}
	err = fmt.Errorf("listen on %s: %w", addr, cause)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return withHint(err, "another program has this port, maybe another hark: stop it, or choose a port with --addr 127.0.0.1:8081")
	case errors.Is(err, syscall.EACCES):
		return withHint(err, "ports below 1024 need privileges: choose another with --addr 127.0.0.1:8080")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return withHint(err, "this machine does not have that address: 127.0.0.1 is itself, 0.0.0.0 all of its addresses")
	}
	return withHint(err, "--addr wants HOST:PORT, such as 127.0.0.1:8080")
}
