package audioprep

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// errLate is why an ffmpeg that does not keep up is ended.
var errLate = errors.New("ffmpeg does not keep up with real time")

// errEnough is why one is ended that would go on beyond all limits.
var errEnough = errors.New("that is enough")

// decode writes to s what ffmpeg makes of an upload that was refused with the error given.
func (f *FFmpeg) decode(in *input, s *sink, refused *FormatError) error {
	if s.opt.Track < 0 {
		return &ChoiceError{What: "track", Got: s.opt.Track, Have: 1}
	}
	file, release, err := in.file(s.opt.Storage.Dir)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancelCause(in.ctx)
	defer cancel(nil)
	longest := f.longest
	if s.opt.MaxDuration > 0 {
		longest = s.opt.MaxDuration
	}
	start := time.Now()
	late := time.AfterFunc(f.grace, func() { cancel(errLate) })
	defer late.Stop()
	// A second more, so that what is beyond the limit is seen to be.
	p, err := startProcess(ctx, f.path, decodeArgs(inputName(file), s.opt.Track-1, longest+time.Second), file)
	if err != nil {
		return withReason(refused, fmt.Sprintf("%s can't be started: %v", f, err))
	}
	s.info.Decoder = f.String()
	err = readAU(p.stdout, s, func() error {
		late.Reset(time.Until(start.Add(f.grace + s.duration())))
		if s.duration() > longest {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errNoAU) { // then it ends by itself, and may say why
		p.kill()
	}
	exit := p.wait()
	p.log.tell(s)
	switch {
	case in.ctx.Err() != nil:
		return in.ctx.Err()
	case context.Cause(ctx) == errLate:
		return &CorruptError{Container: s.info.Container, Err: errLate}
	case err == errEnough:
		s.faults(fmt.Sprintf("only the first %v were decoded", longest))
		return nil
	case errors.Is(err, errNoAU):
		return f.explain(&p.log, s.opt.Track, exit, refused)
	case err != nil:
		return err
	}
	p.log.complain(s, exit)
	return nil
}

// explain is the error for an upload of which no audio came.
func (f *FFmpeg) explain(log *ffmpegLog, track int, exit error, refused *FormatError) error {
	if n := len(log.streams); track > n && n > 0 {
		return &ChoiceError{What: "track", Got: track, Have: n}
	}
	return withReason(refused, fmt.Sprintf("%s does not take it either: %s", f, log.why(exit)))
}

// withReason is a refusal with what ffmpeg has to say about it.
func withReason(e *FormatError, reason string) error {
	if e.Reason != "" {
		reason = e.Reason + "; " + reason
	}
	return &FormatError{Found: e.Found, Accepted: e.Accepted, Reason: reason, tried: true}
}

// complain notes in s what was wrong with an upload of which audio came.
func (l *ffmpegLog) complain(s *sink, exit error) {
	switch {
	case exit != nil:
		s.faults("truncated: ffmpeg ended early: " + l.why(exit))
	case l.corrupt:
		s.faults("damaged: ffmpeg tells of packets that are not whole, as where a file is cut short")
	case l.errors > 0 && l.unable != "":
		s.faults("undecoded: ffmpeg left out parts of it: " + l.unable)
		if l.errors > l.unpaused && l.unpaused > 0 {
			s.faults(fmt.Sprintf("damaged: ffmpeg tells of %d errors beside those", l.unpaused))
		}
	case l.errors == 1 && strings.HasPrefix(l.message, "Packet is too small"):
		// It is what is left behind the last whole block, such as a byte of padding.
	case l.errors > 0:
		s.faults(fmt.Sprintf("damaged: ffmpeg tells of %d errors, the last: %s", l.errors, l.message))
	}
}

// why is what the log says about an end, or how the process ended where it says nothing.
func (l *ffmpegLog) why(exit error) string {
	switch {
	case l.message != "":
		return l.message
	case exit != nil:
		return exit.Error()
	}
	return "it found no sound"
}

// tell notes in s what the log says of the upload.
func (l *ffmpegLog) tell(s *sink) {
	if s.info.Container == "" {
		s.info.Container = l.name()
	}
	decoded := l.decoded()
	for i := range l.streams {
		st := &l.streams[i]
		s.info.Tracks = append(s.info.Tracks, Track{
			Codec: st.codec, SampleRate: st.rate, Channels: st.channels, Language: st.language,
			Default: st.standard || st == decoded && s.opt.Track == 0,
		})
		if st == decoded && st.codec != "none" { // which it says where it knows no decoder
			s.info.Codec, s.info.Track = st.codec, i+1
		}
	}
}

// errNoAU is what readAU returns where not even a header came.
var errNoAU = errors.New("no audio came from ffmpeg")

// readAU writes to s the samples of an AU stream of 32-bit floats, whose header is
// ".snd", its own length, the length of the samples (unknown), 6 for floats, the
// rate, and the number of channels, 32 bits each. progress is called after each block; its error
// ends reading.
func readAU(r io.Reader, s *sink, progress func() error) error {
	var head [24]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != ".snd" ||
		binary.BigEndian.Uint32(head[12:]) != auFloat {
		return errNoAU
	}
	// What follows the header's fixed part is a text.
	text := int64(binary.BigEndian.Uint32(head[4:])) - int64(len(head))
	if n, err := io.CopyN(io.Discard, r, min(max(text, 0), 64<<10)); err != nil || n != text {
		return errNoAU
	}
	rate, channels := int64(binary.BigEndian.Uint32(head[16:])), int64(binary.BigEndian.Uint32(head[20:]))
	if err := s.open(rate, int(channels)); err != nil {
		return corrupt(s.info.Container, err)
	}
	form, _ := newPCM(tagFloat, int(channels), 32, binary.BigEndian)
	decode := form.decode()
	raw := make([]byte, 32<<10/form.frameBytes()*form.frameBytes())
	block := make([]float32, len(raw)/form.sampleBytes)
	for {
		n, end := io.ReadFull(r, raw)
		n -= n % form.frameBytes()
		decode(block[:n/form.sampleBytes], raw[:n])
		if err := s.write(block[:n/form.sampleBytes]); err != nil {
			return err
		}
		if end != nil {
			return nil // how it ended is for the process to say
		}
		if err := progress(); err != nil {
			return err
		}
	}
}

// auFloat is AU's encoding of 32-bit floats.
const auFloat = 6

// file returns the upload as a file that another program can read from its start, until release is called: the
// one it already is, or a copy in dir without a name. A *StorageError says that there can be no copy.
func (in *input) file(dir string) (f *os.File, release func(), err error) {
	if in.total(); in.err != nil { // all of it has to be there
		return nil, nil, in.err
	}
	if f := in.ownFile(); f != nil {
		_, err := f.Seek(0, io.SeekStart) // which some systems share with the other program
		return f, func() {}, err
	}
	if _, err := in.src.Seek(0, io.SeekStart); err != nil {
		in.fail(err)
		return nil, nil, err
	}
	f, err = os.CreateTemp(dir, "hark-ffmpeg-*")
	if err != nil {
		return nil, nil, &StorageError{err}
	}
	named := os.Remove(f.Name()) != nil // some systems keep the name of an open file
	release = func() {
		f.Close()
		if named {
			os.Remove(f.Name())
		}
	}
	if _, err = io.Copy(f, inputSource{in}); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		release()
		if ended := in.ctx.Err(); ended != nil {
			return nil, nil, ended
		}
		return nil, nil, &StorageError{err} // unless it was the upload that failed, which in.err says
	}
	return f, release, nil
}

// ownFile is the regular file that the upload is or, as its reader says, lies in from
// the start on; nil if it is in none.
func (in *input) ownFile() *os.File {
	f, _ := in.src.(*os.File)
	if reader, ok := in.src.(interface{ File() *os.File }); ok {
		f = reader.File()
	}
	if f == nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return f
}
