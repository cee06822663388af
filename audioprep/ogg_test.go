package audioprep

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hark/audioprep/internal/opus"
)

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// toneLevels returns the amplitudes of 440 Hz and 1000 Hz in the middle of x, and
// what is left over below both, in dB.
func toneLevels(x []float32) (a440, a1000, restDB float64) {
	// A tenth of a second holds whole periods of both: they are orthogonal.
	const n = SampleRate / 10
	x = x[len(x)/2-n/2:][:n]
	total, found := 0.0, 0.0
	var amplitude [2]float64
	for k, hz := range [2]float64{440, 1000} {
		re, im := 0.0, 0.0
		for i, v := range x {
			sin, cos := math.Sincos(2 * math.Pi * hz * float64(i) / SampleRate)
			re += float64(v) * cos
			im += float64(v) * sin
		}
		amplitude[k] = 2 * math.Hypot(re, im) / n
		found += amplitude[k] * amplitude[k] / 2 * n
	}
	for _, v := range x {
		total += float64(v) * float64(v)
	}
	return amplitude[0], amplitude[1], 10 * math.Log10(math.Abs(total-found)/total+1e-12)
}

// tones are the files of testdata and what is in them.
var tones = []struct {
	file, container, codec string
	rate, channels         int
	samples                int     // at 16 kHz
	a440, a1000            float64 // mixed to mono
	restDB                 float64
}{
	{"silk.opus", "ogg", "opus", 48000, 1, 11200, 0.3, 0, -25},
	{"hybrid.opus", "ogg", "opus", 48000, 1, 11200, 0.3, 0, -22},
	{"celt.opus", "ogg", "opus", 48000, 2, 11200, 0.15, 0.15, -25},
	{"surround.opus", "ogg", "opus", 48000, 6, 6400, 0.2121, 0, -25},
	{"flac.oga", "ogg", "flac", 22050, 2, 6400, 0.15, 0.15, -60},
	{"opus.webm", "webm", "opus", 48000, 1, 11200, 0.3, 0, -22},
	{"opus-live.webm", "webm", "opus", 48000, 1, 11200, 0.3, 0, -22},
	{"stereo-vorbis.ogg", "ogg", "vorbis", 44100, 2, 11200, 0.15, 0.15, -25},
	{"mono-vorbis.ogg", "ogg", "vorbis", 16000, 1, 11200, 0.3, 0, -25},
	{"vorbis.webm", "webm", "vorbis", 44100, 1, 11355, 0.3, 0, -25},
	{"flac.mka", "matroska", "flac", 16000, 1, 6400, 0.3, 0, -60},
	{"pcm.mka", "matroska", "pcm_s16", 16000, 1, 4800, 0.3, 0, -60},
	{"aac.mka", "matroska", "aac", 16000, 1, 9216, 0.3, 0, -40},
	{"alac.mka", "matroska", "alac", 16000, 1, 8000, 0.3, 0, -60},
	{"mp3.mka", "matroska", "mp3", 24000, 1, 8832, 0.3, 0, -22},
}

func TestTones(t *testing.T) {
	for _, c := range tones {
		t.Run(c.file, func(t *testing.T) {
			pcm, err := decodeBytes(testFile(t, c.file))
			if err != nil {
				t.Fatal(err)
			}
			checkPCM(t, pcm)
			i := pcm.Info
			if i.Container != c.container || i.Codec != c.codec || i.SampleRate != c.rate || i.Channels != c.channels || i.Faults != nil {
				t.Errorf("got %+v", i)
			}
			if len(pcm.Samples) != c.samples {
				t.Errorf("got %d samples, want %d", len(pcm.Samples), c.samples)
			}
			a440, a1000, rest := toneLevels(pcm.Samples)
			if math.Abs(a440-c.a440) > 0.05*c.a440+0.001 || math.Abs(a1000-c.a1000) > 0.05*c.a1000+0.001 || rest > c.restDB {
				t.Errorf("got %.4f of 440 Hz, %.4f of 1000 Hz, the rest at %.1f dB", a440, a1000, rest)
			}
		})
	}
}

func newTestInput(t testing.TB, b []byte) *input {
	t.Helper()
	in, err := newInput(context.Background(), bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// oggParts cuts an Ogg file into its pages.
func oggParts(t testing.TB, b []byte) (pages [][]byte) {
	t.Helper()
	for len(b) > 0 {
		if len(b) < oggHeaderBytes || !bytes.HasPrefix(b, oggMagic) {
			t.Fatalf("no page at %.8q", b)
		}
		n := oggHeaderBytes + int(b[26])
		for _, v := range b[oggHeaderBytes:n] {
			n += int(v)
		}
		pages = append(pages, b[:n:n])
		b = b[n:]
	}
	return pages
}

// oggWrite makes pages of packets, which carry on from page to page where they do
// not fit into segments lacing values. granules has the position behind each
// packet.
func oggWrite(serial uint32, packets [][]byte, granules []int64, segments int) (file []byte) {
	var lacing, body []byte
	flags, seq, granule := byte(oggFirst), uint32(0), int64(-1)
	flush := func() {
		page := append([]byte("OggS\x00"), flags)
		page = binary.LittleEndian.AppendUint64(page, uint64(granule))
		page = binary.LittleEndian.AppendUint32(page, serial)
		page = binary.LittleEndian.AppendUint32(page, seq)
		page = append(page, 0, 0, 0, 0, byte(len(lacing)))
		page = append(append(page, lacing...), body...)
		binary.LittleEndian.PutUint32(page[22:], oggCRC(page))
		file = append(file, page...)
		flags, granule, lacing, body = 0, -1, nil, nil
		seq++
	}
	for i, p := range packets {
		for {
			n := min(len(p), 255)
			lacing, body, p = append(lacing, byte(n)), append(body, p[:n]...), p[n:]
			if n < 255 {
				break
			}
			if len(lacing) == segments {
				flush()
				flags = oggContinued
			}
		}
		granule = granules[i]
		if i == len(packets)-1 {
			flags |= oggLast
		}
		if i == 0 || i == len(packets)-1 || len(lacing) >= segments {
			flush()
		}
	}
	return file
}

// oggPackets returns the packets of a file with one stream, for Opus with the
// position behind each.
func oggPackets(t testing.TB, b []byte) (packets [][]byte, granules []int64) {
	t.Helper()
	tracks, _, err := nextOggTracks(&oggPages{w: &sliding{in: newTestInput(t, b)}})
	if err != nil || len(tracks) != 1 {
		t.Fatalf("got %d streams (%v)", len(tracks), err)
	}
	st := tracks[0]
	packets, granules = [][]byte{st.first}, []int64{0}
	pos := int64(0)
	for {
		p, ok, err := st.page()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return packets, granules
		}
		for _, v := range st.packets {
			if !bytes.HasPrefix(v, []byte("OpusTags")) {
				pos += int64(opus.PacketSamples(v))
			}
			packets, granules = append(packets, bytes.Clone(v)), append(granules, pos)
		}
		if p.flags&oggLast != 0 {
			granules[len(granules)-1] = p.granule
		}
	}
}

// TestOggWrapping: how the packets lie in pages, and what stands around them,
// changes nothing.
func TestOggWrapping(t *testing.T) {
	plain := testFile(t, "celt.opus")
	want, err := decodeBytes(plain)
	if err != nil {
		t.Fatal(err)
	}
	packets, granules := oggPackets(t, plain)
	shifted := make([]int64, len(granules))
	for i, g := range granules {
		if i > 1 {
			shifted[i] = g + 1e12
		}
	}
	var between []byte
	for _, p := range oggParts(t, plain) {
		between = append(append(between, p...), "garbage OggS and OggS\x00 more"...)
	}
	unchecked := bytes.Clone(plain)
	for _, p := range oggParts(t, unchecked) {
		copy(p[22:26], "none")
	}
	other := oggWrite(7, [][]byte{[]byte("fishead\x00 of no use"), []byte("x")}, []int64{0, 0}, 9)
	beside := bytes.Join([][]byte{other[:oggHeaderBytes+1+18], plain[:len(oggParts(t, plain)[0])], other[oggHeaderBytes+1+18:], plain[len(oggParts(t, plain)[0]):]}, nil)
	for _, c := range []struct {
		name  string
		file  []byte
		fault string
	}{
		{"a packet in each page", oggWrite(1, packets, granules, 1), ""},
		{"packets over pages", oggWrite(1, packets, granules, 3), ""},
		{"few pages", oggWrite(1, packets, granules, 200), ""},
		{"a stream that began long ago", oggWrite(1, packets, shifted, 4), ""},
		{"behind an ID3 tag", append([]byte("ID3\x04\x00\x00\x00\x00\x00\x05abcde"), plain...), ""},
		{"garbage between pages", between, "passed over"},
		{"no checksums", unchecked, "checksums"},
		{"beside another stream", beside, ""},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		faults := strings.Join(pcm.Info.Faults, "; ")
		if c.fault == "" && faults != "" || !strings.Contains(faults, c.fault) {
			t.Errorf("%s: faults: got %q, want %q", c.name, faults, c.fault)
		}
		if !equal(pcm.Samples, want.Samples) {
			t.Errorf("%s: other samples", c.name)
		}
	}
}

// TestOggDamage: what is lost becomes silence of the same length.
func TestOggDamage(t *testing.T) {
	plain := testFile(t, "celt.opus")
	want, err := decodeBytes(plain)
	if err != nil {
		t.Fatal(err)
	}
	packets, granules := oggPackets(t, plain)
	pages := oggParts(t, oggWrite(1, packets, granules, 4))
	without := func(n int) []byte {
		return bytes.Join(append(append([][]byte(nil), pages[:n]...), pages[n+1:]...), nil)
	}
	broken := bytes.Clone(bytes.Join(pages, nil))
	at := len(bytes.Join(pages[:6], nil))
	broken[at+60] ^= 0x55
	// A recorder that leaves out what is silent: pages follow, positions jump.
	jump := append([]int64(nil), granules...)
	for i := range jump {
		if i > 20 {
			jump[i] += 48000
		}
	}
	for _, c := range []struct {
		name  string
		file  []byte
		n     int
		fault string
	}{
		{"a page is missing", without(6), 11200, "1 holes"},
		{"a page is damaged", broken, 11200, "1 damaged pages"},
		{"positions jump", oggWrite(1, packets, jump, 4), 11200 + 16000, "1 holes were filled with 1s"},
		{"cut", bytes.Join(pages, nil)[:len(plain)*3/4], 0, "truncated"},
		{"no last page", bytes.Join(pages[:len(pages)-1], nil), 0, "truncated"},
		{"a packet is no packet", oggWrite(1, append(append(append([][]byte(nil), packets[:9]...), []byte("\xff\x3f")), packets[10:]...), granules, 4), 11200, "1 damaged packets"},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		if c.n > 0 && len(pcm.Samples) != c.n {
			t.Errorf("%s: got %d samples, want %d", c.name, len(pcm.Samples), c.n)
		}
		if faults := strings.Join(pcm.Info.Faults, "; "); !strings.Contains(faults, c.fault) {
			t.Errorf("%s: faults: got %q, want %q", c.name, faults, c.fault)
		}
		// What is behind the damage stands where it stood.
		if k := len(pcm.Samples); c.n > 0 && maxDiff(pcm.Samples[k-1600:], want.Samples[11200-1600:]) > 0.002 {
			t.Errorf("%s: the end differs by %v", c.name, maxDiff(pcm.Samples[k-1600:], want.Samples[11200-1600:]))
		}
	}
}

// TestOggChain: streams behind one another are heard one after another, whatever
// their codecs and rates.
func TestOggChain(t *testing.T) {
	var file []byte
	var want []float32
	for _, name := range []string{"silk.opus", "flac.oga", "celt.opus", "stereo-vorbis.ogg", "hybrid.opus", "mono-vorbis.ogg"} {
		b := testFile(t, name)
		pcm, err := decodeBytes(b)
		if err != nil {
			t.Fatal(err)
		}
		file, want = append(file, b...), append(want, pcm.Samples...)
	}
	pcm, err := decodeBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	checkPCM(t, pcm)
	if !equal(pcm.Samples, want) || pcm.Info.Faults != nil {
		t.Errorf("got %d samples, want the %d of the parts; faults %q", len(pcm.Samples), len(want), pcm.Info.Faults)
	}
}

// TestHoleLimit: a hole that lasts years ends at the limit.
func TestHoleLimit(t *testing.T) {
	packets, granules := oggPackets(t, testFile(t, "celt.opus"))
	for i := range granules {
		if i > 10 {
			granules[i] += 1 << 50
		}
	}
	w := opusWebM(t)
	for i := range w.ms {
		if i > 10 {
			w.ms[i] += 30000
		}
	}
	for name, file := range map[string][]byte{"ogg": oggWrite(1, packets, granules, 4), "webm": w.file()} {
		var le *LimitError
		limits := Options{MaxDuration: 5 * time.Second}
		if pcm, err := Decode(context.Background(), bytes.NewReader(file), limits); !errors.As(err, &le) || le.Got > 6*time.Second {
			t.Errorf("%s: got %v and %v, want a LimitError of about 5 s", name, pcm, err)
		}
	}
}

// TestOggManyStreams: a file of nothing but beginnings comes to an end.
func TestOggManyStreams(t *testing.T) {
	packets, granules := oggPackets(t, testFile(t, "silk.opus"))
	one := oggWrite(1, [][]byte{packets[0], packets[2]}, []int64{0, granules[2]}, 9)
	pcm, err := decodeBytes(bytes.Repeat(one, maxOggStreams+5))
	if err != nil {
		t.Fatal(err)
	}
	checkPCM(t, pcm)
	// A packet of 60 ms, of which 6.5 are not to be heard.
	if n := int64(maxOggStreams) * (2880 - 312); durationOf(n, opusRate) != pcm.Info.Duration {
		t.Errorf("got %v, want %v", pcm.Info.Duration, durationOf(n, opusRate))
	}
	if len(pcm.Info.Faults) == 0 || !strings.Contains(pcm.Info.Faults[0], "first 1000 streams") {
		t.Errorf("got faults %q", pcm.Info.Faults)
	}
}

// TestOpusHeader: gain, pre-skip and channel maps are followed.
func TestOpusHeader(t *testing.T) {
	packets, granules := oggPackets(t, testFile(t, "celt.opus"))
	base := packets[0]
	head := func(change func(h []byte) []byte) []byte {
		packets[0] = change(bytes.Clone(base))
		return oggWrite(1, packets, granules, 20)
	}
	preSkip := int(binary.LittleEndian.Uint16(base[10:]))
	for _, c := range []struct {
		name        string
		file        []byte
		samples     int
		a440, a1000 float64
	}{
		{"as it is", head(func(h []byte) []byte { return h }), 11200, 0.15, 0.15},
		{"6.02 dB less", head(func(h []byte) []byte { h[16], h[17] = 0xfb, 0xf9; return h }), 11200, 0.075, 0.075},
		{"more pre-skip", head(func(h []byte) []byte { binary.LittleEndian.PutUint16(h[10:], uint16(preSkip+4800)); return h }), 9600, 0.15, 0.15},
		{"mapped to three channels", head(func(h []byte) []byte {
			h[9], h[18] = 3, 255
			return append(h, 1, 1, 1, 255, 0)
		}), 11200, 0.212, 0.212},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		a440, a1000, _ := toneLevels(pcm.Samples)
		if len(pcm.Samples) != c.samples || math.Abs(a440-c.a440) > 0.01 || math.Abs(a1000-c.a1000) > 0.01 {
			t.Errorf("%s: got %d samples, %.3f of 440 Hz, %.3f of 1000 Hz", c.name, len(pcm.Samples), a440, a1000)
		}
	}
	for name, change := range map[string]func(h []byte) []byte{
		"cut":                  func(h []byte) []byte { return h[:18] },
		"no channels":          func(h []byte) []byte { h[9] = 0; return h },
		"three without a map":  func(h []byte) []byte { h[9] = 3; return h },
		"a map that is cut":    func(h []byte) []byte { h[18] = 1; return h },
		"a stream that is not": func(h []byte) []byte { h[18] = 1; return append(h, 1, 1, 0, 2) },
		"300 streams":          func(h []byte) []byte { h[18] = 255; return append(h, 255, 255, 0, 1) },
	} {
		var ce *CorruptError
		if _, err := decodeBytes(head(change)); !errors.As(err, &ce) {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
}

// TestOggErrors: what is no audio of ours is named.
func TestOggErrors(t *testing.T) {
	stream := func(first string) []byte {
		return oggWrite(1, [][]byte{[]byte(first), []byte("x")}, []int64{0, 0}, 5)
	}
	for first, want := range map[string]string{
		"Speex   1.2": "ogg with speex", "\x80theora\x03": "ogg with theora", "whatever": "ogg with an unknown codec",
		"OpusHead\xf1\x01\x00\x00\x80\xbb\x00\x00\x00\x00\x00": "opus of version 241",
	} {
		var fe *FormatError
		if _, err := decodeBytes(stream(first)); !errors.As(err, &fe) || fe.Found != want {
			t.Errorf("%.8q: got %v, want a FormatError that found %q", first, err, want)
		}
	}
	opus := oggParts(t, testFile(t, "celt.opus"))
	for name, file := range map[string][]byte{
		"only a magic":     []byte("OggS\x00\x02"),
		"headers alone":    bytes.Join(opus[:2], nil),
		"no first page":    bytes.Join(opus[1:], nil),
		"Vorbis, no setup": stream("\x01vorbis\x00\x00\x00\x00\x01\x80\x3e\x00\x00"),
		"FLAC, cut":        stream("\x7fFLAC\x01\x00"),
		"FLAC, other":      stream("\x7fFLAC\x01\x00\x00\x01fLaC\x81\x00\x00\x00"),
	} {
		var ce *CorruptError
		if _, err := decodeBytes(file); !errors.As(err, &ce) || ce.Container != "ogg" {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
}
