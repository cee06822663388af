package audioprep

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// element makes an EBML element with a size of eight bytes.
func element(id uint32, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(openElement(id, uint64(len(body))|1<<56), body...)
}

// openElement makes the beginning of an element.
func openElement(id uint32, size uint64) []byte {
	var b []byte
	for shift := 24; shift >= 0; shift -= 8 {
		if v := byte(id >> shift); v != 0 || len(b) > 0 {
			b = append(b, v)
		}
	}
	return binary.BigEndian.AppendUint64(b, size)
}

// liveElement makes an element of unknown size.
func liveElement(id uint32, parts ...[]byte) []byte {
	return append(openElement(id, 1<<57-1), bytes.Join(parts, nil)...)
}

func uintElement(id uint32, v uint64) []byte {
	return element(id, binary.BigEndian.AppendUint64(nil, v))
}

// trackEntry describes a track.
func trackEntry(number, kind uint64, codec string, parts ...[]byte) []byte {
	return element(0xae, append([][]byte{uintElement(0xd7, number), uintElement(0x83, kind), element(0x86, []byte(codec))}, parts...)...)
}

// blockBody makes the body of a block: lacing is 0 for none, 1 for Xiph's, 2 for
// equal sizes, 3 for EBML's.
func blockBody(track byte, ms int, lacing byte, frames ...[]byte) []byte {
	b := []byte{0x80 | track, byte(ms >> 8), byte(ms), lacing << 1}
	if lacing > 0 {
		b = append(b, byte(len(frames)-1))
	}
	for i, f := range frames[:len(frames)-1] {
		switch lacing {
		case 1:
			n := len(f)
			for ; n >= 255; n -= 255 {
				b = append(b, 255)
			}
			b = append(b, byte(n))
		case 3:
			v := len(f) // two bytes, then differences of two bytes
			if i > 0 {
				v += 1<<13 - 1 - len(frames[i-1])
			}
			b = append(b, 0x40|byte(v>>8), byte(v))
		}
	}
	return append(b, bytes.Join(frames, nil)...)
}

// webm is what a test makes a file of.
type webm struct {
	head   []byte // "OpusHead"
	frames [][]byte
	ms     []int // of each frame
}

// opusWebM takes the packets of a sample: they have 20 ms each.
func opusWebM(t testing.TB) webm {
	packets, _ := oggPackets(t, testFile(t, "celt.opus"))
	w := webm{head: packets[0], frames: packets[2:]}
	for i := range w.frames {
		w.ms = append(w.ms, 20*i)
	}
	return w
}

// padding is what is at the end of the sample and not to be heard.
func (w webm) padding() []byte {
	samples := 960*len(w.frames) - int(binary.LittleEndian.Uint16(w.head[10:])) - 33600
	return uintElement(idDiscard, uint64(samples)*1e9/48000)
}

func (w webm) track(parts ...[]byte) []byte {
	audio := element(0xe1, uintElement(0x9f, 2), element(0xb5, binary.BigEndian.AppendUint64(nil, math.Float64bits(48000))))
	return trackEntry(1, 2, "A_OPUS", append(parts, element(0x63a2, w.head), audio)...)
}

// clusters makes a cluster of every ten frames, each frame in what block makes of
// it.
func (w webm) clusters(make func(id uint32, parts ...[]byte) []byte, block func(i, ms int) []byte) (b []byte) {
	for at := 0; at < len(w.frames); at += 10 {
		parts := [][]byte{uintElement(idTimestamp, uint64(20*at))}
		for i := at; i < min(at+10, len(w.frames)); i++ {
			parts = append(parts, block(i, w.ms[i]-20*at))
		}
		b = append(b, make(idCluster, parts...)...)
	}
	return b
}

// simple makes a SimpleBlock of frame i, the last one a BlockGroup with padding.
func (w webm) simple(i, ms int) []byte {
	if i == len(w.frames)-1 {
		return element(idBlockGroup, element(idBlock, blockBody(1, ms, 0, w.frames[i])), w.padding())
	}
	return element(idSimpleBlock, blockBody(1, ms, 0, w.frames[i]))
}

var ebmlStart = element(idEBML, element(0x4282, []byte("webm")))

func (w webm) file() []byte {
	return bytes.Join([][]byte{ebmlStart, element(idSegment, element(idTracks, w.track()), w.clusters(element, w.simple))}, nil)
}

// TestMatroskaForms: the ways to write the same recording give the same samples.
func TestMatroskaForms(t *testing.T) {
	want, err := decodeBytes(testFile(t, "celt.opus"))
	if err != nil {
		t.Fatal(err)
	}
	w := opusWebM(t)
	tracks := element(idTracks, w.track())
	laced := func(lacing byte) []byte {
		last := len(w.frames) - 1
		var blocks []byte
		for at := 0; at < last; at += 3 {
			blocks = append(blocks, element(idSimpleBlock, blockBody(1, 20*at, lacing, w.frames[at:min(at+3, last)]...))...)
		}
		return element(idCluster, uintElement(idTimestamp, 0), blocks, w.simple(last, 20*last))
	}
	// Frames of equal size can't be had by cutting: one a block does.
	equalSizes := func(i, ms int) []byte {
		if i == len(w.frames)-1 {
			return w.simple(i, ms)
		}
		return element(idSimpleBlock, blockBody(1, ms, 2, w.frames[i]))
	}
	// All packets of the sample begin with the same byte.
	stripped := webm{head: w.head, ms: w.ms}
	for _, f := range w.frames {
		stripped.frames = append(stripped.frames, f[1:])
	}
	stripping := element(0x6d80, element(0x6240, element(0x5034, uintElement(0x4254, 3), element(0x4255, w.frames[0][:1]))))
	video := trackEntry(2, 1, "V_VP8", element(0xe0, uintElement(0xb0, 640)))
	withVideo := func(i, ms int) []byte {
		return append(element(idSimpleBlock, blockBody(2, ms, 0, make([]byte, 5000))), w.simple(i, ms)...)
	}
	other := trackEntry(3, 2, "A_AC3", uintElement(0x88, 1))
	second := trackEntry(4, 2, "A_OPUS", uintElement(0x88, 0), element(0x63a2, w.head))
	seconds := uintElement(idTimestampScale, 1e9/50) // a frame a unit
	units := webm{head: w.head, frames: w.frames}
	for i := range w.frames {
		units.ms = append(units.ms, i%10+i/10*200) // clusters takes 20 units a frame off
	}
	inUnits := bytes.ReplaceAll(element(idSegment, element(idInfo, seconds), tracks, units.clusters(element, units.simple)), nil, nil)
	for i := range 4 { // the clusters' own times
		inUnits = bytes.Replace(inUnits, uintElement(idTimestamp, uint64(200*i)), uintElement(idTimestamp, uint64(10*i)), 1)
	}
	segment := func(parts ...[]byte) []byte {
		return append(bytes.Clone(ebmlStart), element(idSegment, parts...)...)
	}
	live := append(bytes.Clone(ebmlStart), liveElement(idSegment, tracks, w.clusters(liveElement, w.simple))...)
	for name, file := range map[string][]byte{
		"plain":         w.file(),
		"sizes unknown": live,
		"block groups": segment(tracks, w.clusters(element, func(i, ms int) []byte {
			return element(idBlockGroup, element(idBlock, blockBody(1, ms, 0, w.frames[i])), map[bool][]byte{true: w.padding()}[i == len(w.frames)-1])
		})),
		"laced as Xiph does": segment(tracks, laced(1)),
		"laced as EBML does": segment(tracks, laced(3)),
		"laced, equal sizes": segment(tracks, w.clusters(element, equalSizes)),
		"stripped":           segment(element(idTracks, w.track(stripping)), stripped.clusters(element, stripped.simple)),
		"beside video":       segment(element(idTracks, video, w.track()), w.clusters(element, withVideo)),
		"beside other audio": segment(element(idTracks, other, second, w.track()), w.clusters(element, w.simple)),
		"20 ms a unit":       append(bytes.Clone(ebmlStart), inUnits...),
		"with much else": segment(element(0xec, make([]byte, 300000)), element(0x114d9b74), tracks, element(0x1254c367, make([]byte, 99)),
			element(0x2abcde, []byte("of a later version")), w.clusters(element, w.simple), element(0x1c53bb6b, make([]byte, 50))),
	} {
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !equal(pcm.Samples, want.Samples) || pcm.Info.Faults != nil || pcm.Info.Channels != 2 {
			t.Errorf("%s: got %d samples, want the %d of the Ogg file; %+v", name, len(pcm.Samples), len(want.Samples), pcm.Info)
		}
	}
}

// TestMatroskaDamage: what is lost becomes silence, what follows keeps its place.
func TestMatroskaDamage(t *testing.T) {
	want, err := decodeBytes(testFile(t, "celt.opus"))
	if err != nil {
		t.Fatal(err)
	}
	w := opusWebM(t)
	plain := w.file()
	// at is where frame i begins.
	at := func(i int) int { return bytes.Index(plain, w.frames[i]) }
	garbled := func(from, to int) []byte {
		b := bytes.Clone(plain)
		for i := at(from); i < at(to)-20; i++ {
			b[i] = byte(0x5f + i*i)
		}
		return b
	}
	headers := bytes.Clone(plain)
	for i := range 40 {
		headers[at(12)-20+i] = 0
	}
	paused := opusWebM(t)
	for i := range paused.ms {
		if i > 15 {
			paused.ms[i] += 500
		}
	}
	for _, c := range []struct {
		name  string
		file  []byte
		n     int
		fault string
	}{
		{"a block's head is gone", headers, 11200, "damaged in 1 places"},
		{"five frames are garbled", garbled(5, 9), 11200, "damaged"},
		{"a pause", paused.file(), 11200 + 8000, "1 holes were filled with 500ms"},
		{"cut", plain[:at(20)+9], 6296, "truncated"},
		{"two in a row", append(bytes.Clone(plain), plain...), 22400, ""},
		{"another in a row", append(bytes.Clone(plain), testFile(t, "opus.webm")...), 11200, "second recording"},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		k := len(pcm.Samples)
		if c.n > 0 && k != c.n || k < 6000 {
			t.Errorf("%s: got %d samples, want %d", c.name, k, c.n)
		}
		faults := strings.Join(pcm.Info.Faults, "; ")
		if c.fault == "" && faults != "" || !strings.Contains(faults, c.fault) {
			t.Errorf("%s: faults: got %q, want %q", c.name, faults, c.fault)
		}
		if c.n >= 11200 && maxDiff(pcm.Samples[k-1600:], want.Samples[11200-1600:]) > 0.002 {
			t.Errorf("%s: the end differs", c.name)
		}
	}
}

// TestMatroskaErrors: what cannot be heard is named.
func TestMatroskaErrors(t *testing.T) {
	w := opusWebM(t)
	file := func(parts ...[]byte) []byte {
		return append(bytes.Clone(ebmlStart), element(idSegment, append(parts, w.clusters(element, w.simple))...)...)
	}
	zlib := element(0x6d80, element(0x6240, element(0x5034, uintElement(0x4254, 0))))
	for want, tracks := range map[string][]byte{
		"webm with AC3":                   trackEntry(1, 2, "A_AC3"),
		"webm with compressed OPUS":       w.track(zlib),
		"matroska with samples of 7 bits": trackEntry(1, 2, "A_PCM/INT/LIT", element(0xe1, uintElement(0x6264, 7))),
	} {
		var fe *FormatError
		if _, err := decodeBytes(file(element(idTracks, tracks))); !errors.As(err, &fe) || fe.Found != want {
			t.Errorf("got %v, want a FormatError that found %q", err, want)
		}
	}
	for name, b := range map[string][]byte{
		"head alone":       ebmlStart,
		"a later piece":    w.clusters(element, w.simple),
		"no tracks":        file(),
		"no audio":         file(element(idTracks, trackEntry(1, 1, "V_VP8"))),
		"no blocks":        append(bytes.Clone(ebmlStart), element(idSegment, element(idTracks, w.track()))...),
		"a broken Opus":    file(element(idTracks, trackEntry(1, 2, "A_OPUS", element(0x63a2, []byte("OpusHead"))))),
		"FLAC unlike FLAC": file(element(idTracks, trackEntry(1, 2, "A_FLAC"))),
		"endless tracks":   append(bytes.Clone(ebmlStart), openElement(idTracks, 1<<56|1<<40)...),
		"PCM, 0 channels":  file(element(idTracks, trackEntry(1, 2, "A_PCM/INT/LIT", element(0xe1, uintElement(0x6264, 16), uintElement(0x9f, 0))))),
		"PCM, rate is NaN": file(element(idTracks, trackEntry(1, 2, "A_PCM/INT/LIT", element(0xe1, uintElement(0x6264, 16), element(0xb5, []byte("\x7f\xc0\x00\x00")))))),
		"an absurd rate":   file(element(idTracks, trackEntry(1, 2, "A_PCM/INT/LIT", element(0xe1, uintElement(0x6264, 16), element(0xb5, []byte("\x41\x00\x00\x00")))))),
	} {
		var ce *CorruptError
		if _, err := decodeBytes(b); !errors.As(err, &ce) || ce.Container != "webm" {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
}

func TestParseBlock(t *testing.T) {
	for name, b := range map[string]string{
		"empty": "", "cut head": "\x81\x00\x00", "no lace count": "\x81\x00\x00\x02", "Xiph size runs on": "\x81\x00\x00\x02\x02\xff\xff",
		"Xiph size too large": "\x81\x00\x00\x02\x01\x09abc", "EBML size too large": "\x81\x00\x00\x06\x01\x89abc",
		"EBML size below zero": "\x81\x00\x00\x06\x02\x82\x80abcdef", "EBML size missing": "\x81\x00\x00\x06\x02\x82",
	} {
		if _, _, frames, err := parseBlock([]byte(b), nil); err == nil {
			t.Errorf("%s: got %q", name, frames)
		}
	}
	track, at, frames, err := parseBlock([]byte("\x40\x05\xff\xfe\x04\x01abcd"), nil)
	if err != nil || track != 5 || at != -2 || len(frames) != 2 || string(frames[1]) != "cd" {
		t.Errorf("got track %d, time %d, %q, %v", track, at, frames, err)
	}
}
