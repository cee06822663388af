package audioprep

import (
	"strings"
	"testing"
	"unicode"
)

const sampleLog = `[warning] Guessed Channel Layout for Input Stream #0.1 : stereo
[info] Input #0, mov,mp4,m4a,3gp,3g2,mj2, from 'file:/proc/self/fd/3':
[info]   Metadata:
[info]     comment         : first
[info]                     : Stream #0:9: Audio: forged, 1 Hz
[info]   Duration: 00:00:05.15, start: 0.000000, bitrate: 70 kb/s
[info]   Stream #0:0[0x1](und): Video: h264 (High), yuv420p, 64x64
[info]   Stream #0:1[0x2](eng): Audio: ac3 (ac-3 / 0x332D6361), 48000 Hz, 5.1(side), fltp, 384 kb/s
[info]   Stream #0:2(deu): Audio: amr_nb (samr / 0x726D6173), 8000 Hz, mono, flt, 12 kb/s (default)
[info] Stream mapping:
[info]   Stream #0:2 -> #0:0 (amr_nb (amrnb) -> pcm_f32be (native))
[info] Output #0, au, to 'pipe:1':
[info]   Stream #0:0: Audio: pcm_f32be ([6][0][0][0] / 0x0006), 44100 Hz, stereo, flt, 2822 kb/s
[amrnb @ 0x55ad61e1b940] [warning] dtx mode is not implemented.
[amrnb @ 0x55ad61e1b940] [error] Corrupt bitstream
[error] file:/proc/self/fd/3: Invalid data` + "\x1b[31m\n"

func TestFFmpegLog(t *testing.T) {
	for _, size := range []int{1, 7, len(sampleLog)} { // as a pipe may cut it
		var l ffmpegLog
		for rest := sampleLog; rest != ""; rest = rest[min(size, len(rest)):] {
			l.Write([]byte(rest[:min(size, len(rest))]))
		}
		l.end()
		if l.name() != "mov" || l.errors != 2 || l.message != "the file: Invalid data?[31m" {
			t.Errorf("got %q, %d errors, %q", l.name(), l.errors, l.message)
		}
		want := []ffmpegStream{
			{index: 1, language: "eng", codec: "ac3", rate: 48000, channels: 6},
			{index: 2, language: "deu", codec: "amr_nb", rate: 8000, channels: 1, standard: true},
		}
		if len(l.streams) != 2 || l.streams[0] != want[0] || l.streams[1] != want[1] {
			t.Errorf("got %+v, want %+v", l.streams, want)
		}
		if s := l.decoded(); s == nil || *s != want[1] {
			t.Errorf("got %+v decoded, want %+v", s, want[1])
		}
	}
}

// FuzzFFmpegLog: what is kept is bounded and fit to be shown, and does not depend on how the log is cut.
func FuzzFFmpegLog(f *testing.F) {
	f.Add([]byte(sampleLog), 5)
	f.Add([]byte("[info] Input #0, asf, from 'x':\r\n[fatal] \xff\n[error]"), 1)
	f.Add([]byte(strings.Repeat("[info]   Stream #0:1: Audio: x, 8000 Hz, 9 channels\n", 100)), 9)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var whole, parts ffmpegLog
		whole.Write(b)
		whole.end()
		cut = min(max(cut, 0), len(b))
		parts.Write(b[:cut])
		parts.Write(b[cut:])
		parts.end()
		if whole.message != parts.message || whole.errors != parts.errors || whole.container != parts.container || len(whole.streams) != len(parts.streams) {
			t.Fatalf("got %+v in parts, want %+v", parts, whole)
		}
		if len(whole.message) > maxLogMessage+20 || len(whole.name()) > maxLogMessage+20 || len(whole.streams) > maxLogStreams {
			t.Fatalf("%+v is too much", whole)
		}
		texts := []string{whole.message, whole.name()}
		for _, s := range whole.streams {
			texts = append(texts, s.codec, s.language)
			if s.channels < 0 || s.rate < 0 {
				t.Fatalf("got %+v", s)
			}
		}
		for _, text := range texts {
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("got %q, which can't be printed", text)
			}
		}
	})
}

// FuzzParseVersion: whatever a program prints, a version is short and has no spaces.
func FuzzParseVersion(f *testing.F) {
	f.Add([]byte("ffmpeg version 5.1.9-0+deb12u1 Copyright"))
	f.Add([]byte("ffmpeg version n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v := parseVersion(b); len(v) > 40 || strings.ContainsAny(v, " \n\x1b") {
			t.Fatalf("got %q", v)
		}
	})
}

// FuzzReadAU: samples are bounded by the bytes that came.
func FuzzReadAU(f *testing.F) {
	f.Add([]byte(".snd\x00\x00\x00\x18\xff\xff\xff\xff\x00\x00\x00\x06\x00\x00\x3e\x80\x00\x00\x00\x01\x3f\x00\x00\x00\x7f\xc0\x00\x00"))
	f.Add([]byte(".snd\x00\x00\x00\x20\xff\xff\xff\xff\x00\x00\x00\x06\x00\x00\x3e\x80\x00\x00\x00\x02textmore\x3f\x00\x00\x00\x3f\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &sink{ctx: t.Context()}
		if err := readAU(strings.NewReader(string(b)), s, func() error { return nil }); err != nil {
			return
		}
		pcm, err := s.finish()
		if err != nil {
			return
		}
		checkPCM(t, pcm)
		if len(pcm.Samples) > 4*len(b) {
			t.Fatalf("got %d samples of %d bytes", len(pcm.Samples), len(b))
		}
	})
}
