package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"hark/access"
	"hark/audioprep"
	"hark/batcher"
	"hark/jobs"
)

// Defaults of Config.
const (
	DefaultMaxUploadBytes    = 2 << 30
	DefaultMaxDuration       = 6 * time.Hour
	DefaultSpoolThreshold    = 8 << 20
	DefaultMaxPending        = 512
	DefaultMaxDecodedBytes   = 2 << 30
	DefaultUploadIdleTimeout = 30 * time.Second
	DefaultUploadTimeout     = time.Hour
	DefaultWriteTimeout      = 2 * time.Minute
	DefaultShutdownGrace     = 30 * time.Second
	DefaultMaxLive           = 64
	DefaultMaxLiveTime       = 2 * time.Hour
	DefaultLiveIdleTimeout   = 5 * time.Minute
)

// Config holds a server's settings. Models must be set; every other field's zero value means its default.
type Config struct {
	// Models are the names under which models are served, as the registry loads them; the first is the default.
	Models []string

	// NoAliases refuses OpenAI's model names (whisper-1, gpt-4o-transcribe, …), which otherwise mean the default model.
	NoAliases bool

	// MaxUploadBytes is the largest audio file, in bytes. Default 2 GiB: three hours of 16-bit 44.1 kHz stereo WAV fit.
	MaxUploadBytes int64

	// MaxDuration is the longest audio of one request. Default 6 h. What it decodes to takes 230 MB an hour.
	MaxDuration time.Duration

	// SpoolDir is where uploads beyond SpoolThreshold lie while they are read, and the decoded audio that is not kept
	// in memory until it's transcribed. Default: the system's folder for temporary files. The files have no name there
	// where the system allows that, so that nothing is left after a crash.
	SpoolDir string

	// SpoolThreshold is how many bytes of an upload stay in memory. Default 8 MiB.
	SpoolThreshold int64

	// MaxPending is how many transcriptions may be under way at once, uploads included; further ones are
	// answered with 429 before their body is read. Default 512.
	MaxPending int

	// Scheduling is how requests share the device; what depends on the model (MaxBatch, CostCapMillis) and the Observer
	// are the server's own. Its QueueLimit defaults to MaxPending.
	Scheduling batcher.Config

	// MaxDecodedBytes is how much decoded audio may lie in memory, in bytes. Of one upload four minutes do; the rest,
	// and what has no room within the bound, lies in files in SpoolDir. Default 2 GiB, about 9 h of audio.
	MaxDecodedBytes int64

	// FFmpeg decodes the files that hark does not decode itself. nil: they are refused.
	FFmpeg *audioprep.FFmpeg

	// UploadIdleTimeout is how long an upload may stand still, and UploadTimeout how long it may take in all, before
	// it is answered with 408. Defaults 30 s and 1 h.
	UploadIdleTimeout, UploadTimeout time.Duration

	// WriteTimeout is how long a client may take to read its answer. Default 2 min.
	WriteTimeout time.Duration

	// MaxLive is how many live sessions may be open at once; further ones are answered with 429. Each may hold five
	// minutes of sound that wait to be transcribed, 19 MB. Default 64.
	MaxLive int

	// MaxLiveTime is the longest that a live session may last. Default 2 h.
	MaxLiveTime time.Duration

	// LiveIdleTimeout is how long a live session may send nothing. Default 5 min.
	LiveIdleTimeout time.Duration

	// Keys are the API keys of those who may call; nil: everybody may, and needs none.
	Keys *access.Keyring

	// ProtectProbes and ProtectMetrics ask for a key for /healthz and /readyz, and for /metrics, too.
	ProtectProbes, ProtectMetrics bool

	// CORSOrigins are the origins of the pages that browsers let use the server, "https://example.org", or "*" for any.
	// Default: none where keys are set, else those of this machine.
	CORSOrigins []string

	// Jobs keeps what is accepted to be done later. nil: nothing is. It stays the caller's
	// and is to be closed after the server.
	Jobs *jobs.Store

	// JobsOff is why Jobs is nil, for who asks for a job, in words that follow a comma:
	// "since its folder can't be written to".
	JobsOff string

	// WebhookKeys sign the calls that tell of jobs that are over. They must be set where Jobs is.
	WebhookKeys jobs.Keys

	// FetchPrivate lets requests name files by URLs, and webhooks, on this machine and in private
	// networks. Metadata services are refused even so.
	FetchPrivate bool

	// ShutdownGrace is how long Serve lets requests finish once it is told to stop.
	// Default 30 s; negative means not at all.
	ShutdownGrace time.Duration
}

// Validate returns an error that says which setting can't be used, in words for
// whoever runs the server, or nil. New calls it.
func (c Config) Validate() error {
	if err := checkServed(c.Models); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"the largest upload", c.MaxUploadBytes},
		{"the longest audio", int64(c.MaxDuration)},
		{"the part of an upload that stays in memory", c.SpoolThreshold},
		{"the number of transcriptions under way", int64(c.MaxPending)},
		{"the memory for decoded audio", c.MaxDecodedBytes},
		{"the longest pause in an upload", int64(c.UploadIdleTimeout)},
		{"the longest time for an upload", int64(c.UploadTimeout)},
		{"the longest time for reading an answer", int64(c.WriteTimeout)},
		{"the number of live sessions", int64(c.MaxLive)},
		{"the longest live session", int64(c.MaxLiveTime)},
		{"the longest pause in a live session", int64(c.LiveIdleTimeout)},
	} {
		if f.value < 0 {
			return fmt.Errorf("%s is negative: want more than 0, or 0 for the default", f.name)
		}
	}
	if c.Jobs != nil && len(c.WebhookKeys) == 0 {
		return errors.New("jobs have no secret to sign webhooks with")
	}
	for _, origin := range c.CORSOrigins {
		if err := checkOrigin(origin); err != nil {
			return err
		}
	}
	if err := c.Scheduling.Validate(); err != nil {
		return err
	}
	return checkSpoolDir(c.SpoolDir)
}

// checkServed returns an error for models that can't be served under the names given.
func checkServed(names []string) error {
	if len(names) == 0 {
		return errors.New("no model is named: want at least one to serve")
	}
	for i, name := range names {
		switch {
		case name == "":
			return errors.New("a model's name is empty")
		case slices.Contains(names[:i], name):
			return fmt.Errorf("model %q is named twice", name)
		}
	}
	return nil
}

// checkSpoolDir returns an error for a folder that isn't there; "" is the system's.
func checkSpoolDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err // it would name the folder once more
	}
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		return fmt.Errorf("the folder for uploads, %s: %w", dir, err)
	}
	return nil
}

// withDefaults returns c with every field set.
func (c Config) withDefaults() Config {
	c.MaxUploadBytes = cmp.Or(c.MaxUploadBytes, DefaultMaxUploadBytes)
	c.MaxDuration = cmp.Or(c.MaxDuration, DefaultMaxDuration)
	c.SpoolThreshold = cmp.Or(c.SpoolThreshold, DefaultSpoolThreshold)
	c.MaxPending = cmp.Or(c.MaxPending, DefaultMaxPending)
	c.Scheduling.QueueLimit = cmp.Or(c.Scheduling.QueueLimit, c.MaxPending)
	c.MaxDecodedBytes = cmp.Or(c.MaxDecodedBytes, DefaultMaxDecodedBytes)
	c.UploadIdleTimeout = cmp.Or(c.UploadIdleTimeout, DefaultUploadIdleTimeout)
	c.UploadTimeout = cmp.Or(c.UploadTimeout, DefaultUploadTimeout)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, DefaultWriteTimeout)
	c.MaxLive = cmp.Or(c.MaxLive, DefaultMaxLive)
	c.MaxLiveTime = cmp.Or(c.MaxLiveTime, DefaultMaxLiveTime)
	c.LiveIdleTimeout = cmp.Or(c.LiveIdleTimeout, DefaultLiveIdleTimeout)
	c.ShutdownGrace = cmp.Or(c.ShutdownGrace, DefaultShutdownGrace)
	return c
}
