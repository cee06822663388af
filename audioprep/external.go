package audioprep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrNoFFmpeg is returned by FindFFmpeg where no ffmpeg is on PATH.
var ErrNoFFmpeg = errors.New("there is no ffmpeg on PATH")

// oldestFFmpeg is the first major version whose log tells the level of its lines
// (-loglevel level+info), which is how errors are told from talk.
const oldestFFmpeg = 4

// FFmpeg is an ffmpeg program for the forms that this package does not decode
// itself: WMA, AMR, AC-3, the sound of old films. Each upload that goes through it
// gets a process of its own, which is kept on a short lead:
//
//   - The upload comes as an open file, the samples go back through a pipe. No other
//     file and no address can be opened: of the protocols only file is allowed, and
//     of the containers only those that hold their sound themselves. Playlists, cue
//     sheets and session descriptions, which are lists of other places to read
//     from, are not among them, however deep they are wrapped.
//   - It has no terminal, no home, no variables but where programs and libraries lie.
//   - It must keep up with real time after a minute's grace. Its memory is bounded to 1 GiB
//     and it can write no file (on Linux; elsewhere single allocations are bounded).
//   - When the request ends, its whole process group is killed.
//
// An FFmpeg holds no state; it may be used by many goroutines.
type FFmpeg struct {
	find func() (*FFmpeg, error) // or nil for one that has been found

	path    string
	version string
	grace   time.Duration // how far it may fall behind real time
	longest time.Duration // of what comes back where the caller sets no limit
}

// ffmpegGrace is the time an upload has before its first sample: a large film on a slow disk
// with every core busy takes some seconds.
const ffmpegGrace = time.Minute

// FindFFmpeg looks for a program: on PATH where path is empty, else there. The error is
// ErrNoFFmpeg, or says why the program cannot be used.
func FindFFmpeg(ctx context.Context, path string) (*FFmpeg, error) {
	if path == "" {
		path = "ffmpeg"
	}
	found, err := exec.LookPath(path)
	switch {
	case err != nil && path == "ffmpeg" && errors.Is(err, exec.ErrNotFound):
		return nil, ErrNoFFmpeg
	case err != nil:
		return nil, err
	}
	if found, err = filepath.Abs(found); err != nil { // it runs in another folder
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ffmpegGrace)
	defer cancel()
	text, err := askVersion(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", found, err)
	}
	version := parseVersion(text)
	if version == "" {
		return nil, fmt.Errorf("%s: does not say that it is ffmpeg", found)
	}
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldestFFmpeg {
		return nil, fmt.Errorf("%s: version %s is too old, at least %d is needed", found, version, oldestFFmpeg)
	}
	return &FFmpeg{path: found, version: version, grace: ffmpegGrace, longest: longestExternal}, nil
}

// FFmpegOnDemand is the program that FindFFmpeg finds on PATH, looked for when the first file needs it, since
// asking it what it is takes as long as transcribing a short clip. If there is none, or it can't be used, it
// decodes nothing. Path and Version are empty.
func FFmpegOnDemand() *FFmpeg {
	return &FFmpeg{find: sync.OnceValues(func() (*FFmpeg, error) { return FindFFmpeg(context.Background(), "") })}
}

// found is the program itself, or nil if there is none.
func (f *FFmpeg) found() *FFmpeg {
	if f == nil || f.find == nil {
		return f
	}
	program, err := f.find()
	if err != nil {
		return nil
	}
	return program
}

// Path is where the program lies.
func (f *FFmpeg) Path() string { return f.path }

// Version is what the program calls its version, without what packagers append: "5.1.9".
func (f *FFmpeg) Version() string { return f.version }

// String is how Info.Decoder names the program: "ffmpeg 5.1.9".
func (f *FFmpeg) String() string { return "ffmpeg " + f.version }

// versionLine is how ffmpeg introduces itself. Builds between releases are called N-12345-g0123abc
// or by their date, releases of some packagers n6.0.
var versionLine = regexp.MustCompile(`^ffmpeg version n?([0-9A-Za-z.]+)`)

// parseVersion takes the version out of what ffmpeg -version prints, or "".
func parseVersion(text []byte) string {
	m := versionLine.FindSubmatch(text)
	if m == nil || len(m[1]) > 40 {
		return ""
	}
	return string(m[1])
}

func askVersion(ctx context.Context, path string) ([]byte, error) {
	p, err := startProcess(ctx, path, []string{"-version"}, nil)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 4096)
	n, _ := io.ReadFull(p.stdout, head)
	err = p.wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case n == 0 && err != nil:
		return nil, err
	}
	return head[:n], nil
}

// soundForms are what Sniff finds and ffmpeg can decode, beside a container that Decode takes with
// a codec that it does not.
var soundForms = []string{
	"ac3", "amr", "ape", "asf", "avi", "dts", "flv", "mpeg-ps", "mpeg-ts", "musepack", "nist",
	"realmedia", "tta", "voc", "wavpack",
}

// Convertible reports whether ffmpeg, where it was not tried, can most likely decode what was found: it is a form
// of sound, or a container that is taken with a codec that is not ("mp4 with AMR").
func (e *FormatError) Convertible() bool {
	container, _, foreign := strings.Cut(e.Found, " with ")
	return !e.tried && (slices.Contains(soundForms, e.Found) || foreign && slices.Contains(e.Accepted, container))
}

// worthTrying reports whether it makes sense to show an upload to ffmpeg: it may hold sound, or nobody knows. Texts,
// pictures and archives are not worth a process.
func (e *FormatError) worthTrying() bool {
	return e.Convertible() || e.Found == "" || e.Found == "iff" || e.Found == "riff" ||
		strings.HasPrefix(e.Found, "opus of ")
}
