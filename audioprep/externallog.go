package audioprep

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Bounds of what is kept of ffmpeg's log, which an upload can make as long as it likes.
const (
	maxLogLine    = 1024
	maxLogStreams = 64
	maxLogMessage = 200
)

// ffmpegLog reads what ffmpeg says on stderr as it comes:
//
//	[info] Input #0, asf, from 'file:/proc/self/fd/3':
//	[info]   Stream #0:0(eng): Audio: wmav2 (a[1][0][0] / 0x0161), 44100 Hz, stereo, fltp, 64 kb/s (default)
//	[info] Stream mapping:
//	[info]   Stream #0:0 -> #0:0 (wmav2 (native) -> pcm_f32be (native))
//	[wmav2 @ 0x55d0c8a0] [error] frame_len overflow
//
// Parts of it are the upload's words, languages for one: it is good for showing, and nothing is decided by it.
// An ffmpegLog is an io.Writer that never fails.
type ffmpegLog struct {
	line []byte // unfinished, at most maxLogLine

	container string // "asf", "mov,mp4,m4a,3gp,3g2,mj2"
	streams   []ffmpegStream
	mapped    int // index of the stream that is decoded, if hasMapped
	hasMapped bool
	past      bool   // beyond the description of the input
	errors    int    // of level error: packets, or what else
	message   string // the last of them in the decoder's words, else the last line of all
	told      bool   // the decoder has said what was wrong with a packet, and ffmpeg is about to say that there was
	unable    string // the first thing that ffmpeg says it can't do; what it calls errors may be due to that
	corrupt   bool   // a packet came in part, as where a file is cut short
	pause     int    // errors that the pause which goes on still explains
	unpaused  int    // errors that no pause explains
}

// ffmpegStream is an audio stream as ffmpeg describes it; what it does not say is empty.
type ffmpegStream struct {
	index    int // among the streams of all kinds
	language string
	codec    string
	rate     int
	channels int
	standard bool // marked as default
}

var (
	logLevel  = regexp.MustCompile(`^(?:\[[^\]]* @ [^\]]*\] )?\[(quiet|panic|fatal|error|warning|info|verbose|debug|trace)\] ?`)
	logInput  = regexp.MustCompile(`^Input #0, (\S+), from `)
	logStream = regexp.MustCompile(`^\s*Stream #0:(\d{1,6})(?:\[0x[0-9a-f]+\])?(?:\(([^()]{1,40})\))?: Audio: (\w{1,40})(.*)$`)
	logForm   = regexp.MustCompile(`, (\d{1,7}) Hz, ([^,]{1,40})`)
	logUnable = regexp.MustCompile(`[Nn]ot (yet )?implemented`)
	logPause  = regexp.MustCompile(`^(dtx|SID) mode is not implemented`)
	logBroken = regexp.MustCompile(`: corrupt input packet in stream \d+$`)
	logPacket = regexp.MustCompile(`^Error (while decoding stream|submitting packet to decoder)`)
	logMapped = regexp.MustCompile(`^\s*Stream #0:(\d{1,6}) -> #0:0`)
)

func (l *ffmpegLog) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		l.line = append(l.line, part[:min(len(part), maxLogLine-len(l.line))]...)
		if end < 0 {
			break
		}
		l.end()
		p = p[end+1:]
	}
	return n, nil
}

// end takes the line that was begun.
func (l *ffmpegLog) end() {
	line := strings.TrimRight(string(l.line), " \r")
	l.line = l.line[:0]
	level := ""
	if m := logLevel.FindStringSubmatch(line); m != nil {
		level, line = m[1], line[len(m[0]):]
	}
	failed := level == "error" || level == "fatal" || level == "panic"
	if unable := logUnable.FindStringIndex(line); unable != nil && l.unable == "" && (failed || level == "warning") {
		l.unable = logMessage(line[:unable[1]])
	}
	if m := logPause.FindStringSubmatch(line); m != nil {
		l.pause = pauseErrors[m[1]]
	}
	l.corrupt = l.corrupt || logBroken.MatchString(line)
	switch {
	case failed:
		l.wrong(line)
	case l.errors == 0 && strings.TrimSpace(line) != "":
		l.message = logMessage(line)
	}
	l.describe(line)
}

// pauseErrors is how many errors follow when ffmpeg meets a frame of AMR that describes a pause's noise, which it
// can't make. In amrnb it is the frame, and the empty ones up to the next, which comes after eight (3GPP TS 26.093,
// section 5.1.2); amrwb passes over these.
var pauseErrors = map[string]int{"dtx": 8, "SID": 1}

// wrong takes an error. Of a packet there are two lines: what is wrong with it, from its decoder, and that it is.
func (l *ffmpegLog) wrong(line string) {
	packet := logPacket.MatchString(line)
	if !packet || !l.told {
		l.errors++
		l.message = logMessage(line)
		if l.pause == 0 {
			l.unpaused++
		} else {
			l.pause--
		}
	}
	l.told = !packet
}

// describe looks for what ffmpeg says of its input.
func (l *ffmpegLog) describe(line string) {
	if m := logInput.FindStringSubmatch(line); m != nil && l.container == "" {
		l.container = m[1]
	}
	if strings.HasPrefix(line, "Stream mapping:") || strings.HasPrefix(line, "Output #0") {
		l.past = true
	}
	if m := logMapped.FindStringSubmatch(line); m != nil && !l.hasMapped {
		l.mapped, _ = strconv.Atoi(m[1])
		l.hasMapped = true
	}
	m := logStream.FindStringSubmatch(line)
	if m == nil || l.past || len(l.streams) == maxLogStreams {
		return
	}
	s := ffmpegStream{language: printableText(m[2]), codec: m[3], standard: strings.HasSuffix(m[4], "(default)")}
	s.index, _ = strconv.Atoi(m[1])
	if form := logForm.FindStringSubmatch(m[4]); form != nil {
		s.rate, _ = strconv.Atoi(form[1])
		s.channels = channelsOf(form[2])
	}
	l.streams = append(l.streams, s)
}

// name is the container's, the first where ffmpeg has several for one form.
func (l *ffmpegLog) name() string {
	name, _, _ := strings.Cut(l.container, ",")
	return printableText(name)
}

// decoded is the stream whose samples came, or nil if that is not known.
func (l *ffmpegLog) decoded() *ffmpegStream {
	for i := range l.streams {
		if l.hasMapped && l.streams[i].index == l.mapped {
			return &l.streams[i]
		}
	}
	return nil
}

// channelsOf reads ffmpeg's names of channel layouts: "mono", "5.1(side)", "3 channels"; 0 for others.
func channelsOf(layout string) int {
	if n, ok := strings.CutSuffix(layout, " channels"); ok {
		count, _ := strconv.Atoi(n)
		return max(0, count)
	}
	switch layout {
	case "mono":
		return 1
	case "stereo", "downmix":
		return 2
	case "quad":
		return 4
	}
	// "5.1" has five channels and one for the lowest tones, "7.1(wide)" in another order.
	layout, _, _ = strings.Cut(layout, "(")
	full, low, ok := strings.Cut(layout, ".")
	a, err := strconv.Atoi(full)
	b, lowErr := strconv.Atoi(low)
	if !ok || err != nil || lowErr != nil || a < 1 || a > maxChannels || b < 0 || b > 9 {
		return 0
	}
	return a + b
}

// logMessage is a line of the log as an error may show it, without the names that the input and the pipe have there.
func logMessage(line string) string {
	line = strings.TrimSpace(printableText(line))
	for _, name := range []string{"file:/proc/self/fd/3", "file:/dev/fd/3"} {
		line = strings.ReplaceAll(line, name, "the file")
	}
	return line
}

// printableText is text of unknown origin without what could disturb a terminal or a log, and not long.
func printableText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if len(s) > maxLogMessage {
		s = strings.ToValidUTF8(s[:maxLogMessage], "") + "…"
	}
	return s
}
