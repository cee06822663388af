package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rs/zerolog"

	"hark/jobs"
	"hark/server"
)

// jobsFlags are those of serve about work that is accepted now and done later, and about files that are named by URL.
type jobsFlags struct {
	JobsDir           string        `placeholder:"DIR" group:"jobs" help:"Where jobs lie with their audio until they are done, and their results until they expire; \"off\" takes no jobs (default: hark/jobs in the user's folder for state, and off if that can't be used)."`
	JobsKeep          time.Duration `default:"24h" placeholder:"TIME" group:"jobs" help:"How long a job's result is kept (default: ${default})."`
	JobsMaxBytes      byteCount     `default:"20GiB" placeholder:"SIZE" group:"jobs" help:"What all jobs may take on disk, audio and results together (default: ${default})."`
	MaxJobs           int           `default:"10000" placeholder:"N" group:"jobs" help:"Unfinished jobs at once; more are told to come back (default: ${default})."`
	WebhookSecretFile string        `placeholder:"FILE" group:"jobs" help:"Secrets that webhooks are signed with, one a line: whsec_ and base64, or 16 characters or more (default: one that is made in the jobs' folder)."`
	FetchPrivate      bool          `group:"jobs" help:"Let requests name files by URLs, and webhooks, on this machine and in private networks. Metadata services stay out of reach."`
}

// jobsOff is the --jobs-dir that takes no jobs.
const jobsOff = "off"

// check returns an error that names the first flag that can't be used.
func (f *jobsFlags) check() error {
	for _, v := range []struct {
		flag  string
		value int64
	}{{"jobs-keep", int64(f.JobsKeep)}, {"jobs-max-bytes", int64(f.JobsMaxBytes)}, {"max-jobs", int64(f.MaxJobs)}} {
		if v.value <= 0 {
			return &usage{fmt.Errorf("--%s: want more than 0", v.flag)}
		}
	}
	return nil
}

// open opens the folder of jobs and fills in the server's part. The store is nil where there are no jobs: a folder that
// was named must be of use, the usual one may not be, as in a container that can't write.
func (f *jobsFlags) open(cfg *server.Config, log zerolog.Logger) (*jobs.Store, error) {
	cfg.FetchPrivate = f.FetchPrivate
	keys, err := f.secrets()
	if err != nil {
		return nil, err
	}
	if f.JobsDir == jobsOff {
		cfg.JobsOff = "since it was told so"
		return nil, nil
	}
	dir := f.JobsDir
	if dir == "" {
		if dir, err = stateDir("jobs"); err != nil {
			f.without(cfg, log, dir, err)
			return nil, nil
		}
	}
	store, err := f.openStore(dir)
	var corrupt *jobs.CorruptError
	switch {
	case err == nil:
	case errors.As(err, &corrupt):
		return nil, withHint(err, "what was accepted can't be read: move %s away to start anew, or restore it from a copy", dir)
	case f.JobsDir == "":
		f.without(cfg, log, dir, err)
		return nil, nil
	case errors.Is(err, jobs.ErrLocked):
		return nil, withHint(fmt.Errorf("--jobs-dir %s: %w", dir, err),
			"maybe another hark: stop it, or give each a folder of its own with --jobs-dir")
	default:
		return nil, withHint(fmt.Errorf("--jobs-dir %s: %w", dir, pathCause(err)),
			"it must be a folder that can be written to, or made")
	}
	if keys == nil {
		var path string
		if keys, path, err = jobs.OwnKeys(dir); err != nil {
			return nil, errors.Join(err, store.Close())
		}
		log.Debug().Str("path", path).Msg("webhooks are signed with the secret there")
	}
	cfg.Jobs, cfg.WebhookKeys = store, keys
	log.Info().Str("dir", dir).Int("unfinished", len(store.Unfinished())).Msg("jobs are kept")
	return store, nil
}

func (f *jobsFlags) openStore(dir string) (*jobs.Store, error) {
	return jobs.Open(jobs.Config{Dir: dir, Keep: f.JobsKeep, MaxBytes: int64(f.JobsMaxBytes), MaxOpen: f.MaxJobs})
}

// without has the server go without jobs, and say why.
func (f *jobsFlags) without(cfg *server.Config, log zerolog.Logger, dir string, err error) {
	cfg.JobsOff = "since it has no folder for them that it can use"
	log.Warn().Str("dir", dir).Err(err).Msg("no jobs are taken: --jobs-dir names a folder for them, or off")
}

// secrets reads the file of secrets, if one is named.
func (f *jobsFlags) secrets() (jobs.Keys, error) {
	if f.WebhookSecretFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.WebhookSecretFile)
	if err != nil {
		return nil, &usage{fmt.Errorf("--webhook-secret-file %s: %w", f.WebhookSecretFile, pathCause(err))}
	}
	keys, err := jobs.ParseKeys(text)
	if err != nil {
		return nil, withHint(&usage{fmt.Errorf("--webhook-secret-file %s: %w", f.WebhookSecretFile, err)},
			"a line of it is whsec_ and at least 24 bytes in base64: echo whsec_$(head -c 32 /dev/urandom | base64)")
	}
	return keys, nil
}

// stateDir is a folder of hark's where programs keep what must outlive them: of the XDG base directory specification,
// $XDG_STATE_HOME or ~/.local/state, elsewhere what the system has.
func stateDir(name string) (string, error) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "hark", name), err
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the specification has relative ones ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%w: %w", fs.ErrNotExist, err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "hark", name), nil
}
