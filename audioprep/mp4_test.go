package audioprep

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"hark/audioprep/internal/aac"
)

// adtsFile reads a sample of the AAC decoder's.
func adtsFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("internal/aac/testdata/" + name + ".aac")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// adtsPackets takes such a file apart.
func adtsPackets(t testing.TB, name string) (packets [][]byte) {
	t.Helper()
	for b := adtsFile(t, name); len(b) > 0; {
		h, ok := aac.ParseADTS(b)
		if !ok {
			t.Fatalf("%s: no frame", name)
		}
		packets = append(packets, b[h.HeaderBytes:h.Bytes])
		b = b[h.Bytes:]
	}
	return packets
}

// atom writes a box.
func atom(kind string, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(append(u32(int64(8+len(body))), kind...), body...)
}

func u32(v ...int64) (b []byte) {
	for _, v := range v {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func u64(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

// mp4Maker writes MP4 files of one audio track in many forms.
type mp4Maker struct {
	packets [][]byte
	entry   []byte // the sample description's entry
	rate    int64
	frame   int64 // sample frames of a packet

	scale    int64 // of the track, 0: rate
	perChunk int
	last     int64 // sample frames of the last packet, 0: frame
	edits    [][2]int64
	tags     []byte
	before   []byte // tracks before ours
	sizes    []byte // instead of stsz
	wide     bool   // co64
	flags    int64  // of tkhd
	handler  string
}

// esds writes the descriptors around an AudioSpecificConfig.
func esds(config []byte) []byte {
	specific := append([]byte{5, byte(len(config))}, config...)
	decoder := append([]byte{0x40, 0x15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, specific...)
	decoder = append([]byte{4, 0x80, 0x80, 0x80, byte(len(decoder))}, decoder...)
	es := append([]byte{0, 1, 0}, decoder...)
	es = append(es, 6, 1, 2)
	return atom("esds", u32(0), append([]byte{3, byte(len(es))}, es...))
}

// soundEntry writes a sample description's entry of version 0.
func soundEntry(kind string, channels, bits, rate int64, boxes ...[]byte) []byte {
	return atom(kind, u32(0, 1, 0, 0, channels<<16|bits, 0, rate<<16), bytes.Join(boxes, nil))
}

// monoMP4 is the usual: AAC of 16 kHz, one channel.
func monoMP4(t testing.TB) *mp4Maker {
	return &mp4Maker{
		packets: adtsPackets(t, "16000-mono"), rate: 16000, frame: 1024, perChunk: 2, flags: 3, handler: "soun",
		entry: soundEntry("mp4a", 1, 16, 16000, esds([]byte{0x14, 0x08})),
	}
}

func (m *mp4Maker) mdat() []byte { return atom("mdat", bytes.Join(m.packets, nil)) }

// moov writes the index for packets that begin at data.
func (m *mp4Maker) moov(data int64) []byte {
	scale := m.scale
	if scale == 0 {
		scale = m.rate
	}
	n := int64(len(m.packets))
	delta := m.frame * scale / m.rate
	last := m.last * scale / m.rate
	if m.last == 0 {
		last = delta
	}
	sizes := u32(0, 0, n)
	var chunks []byte
	entries := int64(0)
	for i, p := range m.packets {
		sizes = append(sizes, u32(int64(len(p)))...)
		if i%m.perChunk == 0 {
			if entries++; m.wide {
				chunks = append(chunks, u64(data)...)
			} else {
				chunks = append(chunks, u32(data)...)
			}
		}
		data += int64(len(p))
	}
	stco := "stco"
	if m.wide {
		stco = "co64"
	}
	stsz := atom("stsz", sizes)
	if m.sizes != nil {
		stsz = m.sizes
	}
	full := (n-1)/int64(m.perChunk) + 1
	stsc := u32(0, 1, 1, int64(m.perChunk), 1)
	if rest := n % int64(m.perChunk); rest != 0 {
		stsc = u32(0, 2, 1, int64(m.perChunk), 1, full, rest, 1)
	}
	var edts []byte
	if m.edits != nil {
		elst := u32(0, int64(len(m.edits)))
		for _, e := range m.edits {
			elst = append(elst, u32(e[0], e[1], 1<<16)...)
		}
		edts = atom("edts", atom("elst", elst))
	}
	return atom("moov",
		atom("mvhd", u32(0, 0, 0, 1000, 0), make([]byte, 80)),
		m.before,
		atom("trak",
			atom("tkhd", u32(m.flags, 0, 0, 7, 0, 0), make([]byte, 60)),
			edts,
			atom("mdia",
				atom("mdhd", u32(0, 0, 0, scale, 0, 0)),
				atom("hdlr", u32(0, 0), []byte(m.handler), u32(0, 0, 0), []byte{0}),
				atom("minf", atom("stbl",
					atom("stsd", u32(0, 1), m.entry),
					atom("stts", u32(0, 2, n-1, delta, 1, last)),
					atom("stsc", stsc),
					stsz,
					atom(stco, u32(0, entries), chunks),
				)))),
		m.tags)
}

var ftyp = atom("ftyp", []byte("M4A "), u32(0), []byte("isom"))

// indexLast and indexFirst write the file in either order.
func (m *mp4Maker) indexLast() []byte {
	return bytes.Join([][]byte{ftyp, m.mdat(), m.moov(int64(len(ftyp)) + 8)}, nil)
}

func (m *mp4Maker) indexFirst() []byte {
	n := int64(len(m.moov(0)))
	return bytes.Join([][]byte{ftyp, m.moov(int64(len(ftyp)) + n + 8), m.mdat()}, nil)
}

// fragmented writes an index without samples and perChunk packets in each fragment.
func (m *mp4Maker) fragmented(old bool) []byte {
	empty := *m
	empty.packets = nil
	moov := bytes.Join([][]byte{
		atom("mvhd", u32(0, 0, 0, 1000, 0), make([]byte, 80)),
		atom("trak",
			atom("tkhd", u32(3, 0, 0, 7, 0, 0), make([]byte, 60)),
			atom("mdia",
				atom("mdhd", u32(0, 0, 0, m.rate, 0, 0)),
				atom("hdlr", u32(0, 0), []byte("soun"), u32(0, 0, 0), []byte{0}),
				atom("minf", atom("stbl", atom("stsd", u32(0, 1), m.entry), atom("stts", u32(0, 0)),
					atom("stsc", u32(0, 0)), atom("stsz", u32(0, 0, 0)), atom("stco", u32(0, 0)))))),
		atom("mvex", atom("trex", u32(0, 7, 1, m.frame, 0, 0))),
	}, nil)
	b := append(append([]byte(nil), ftyp...), atom("moov", moov)...)
	for from := 0; from < len(m.packets); from += m.perChunk {
		packets := m.packets[from:min(from+m.perChunk, len(m.packets))]
		// Another track's fragment stands before ours.
		foreign := atom("traf", atom("tfhd", u32(0x20000, 9)), atom("trun", u32(0x201, 1, 0, 1<<20)))
		build := func(offset int64) []byte {
			run := u32(0x201, int64(len(packets)), offset)
			for _, p := range packets {
				run = append(run, u32(int64(len(p)))...)
			}
			head := u32(0x20000, 7)
			if old {
				head = append(u32(1, 7), u64(int64(len(b)))...)
			}
			return atom("moof", atom("mfhd", u32(0, 1)), foreign, atom("traf", atom("tfhd", head), atom("trun", run)))
		}
		moof := build(0)
		moof = build(int64(len(moof)) + 8)
		b = append(b, moof...)
		b = append(b, atom("mdat", bytes.Join(packets, nil))...)
	}
	return b
}

// otherTrack writes a track that is no audio, such as chapters or a cover.
func otherTrack(handler string) []byte {
	return atom("trak", atom("tkhd", u32(3, 0, 0, 1, 0, 0), make([]byte, 60)),
		atom("mdia", atom("mdhd", u32(0, 0, 0, 600, 0, 0)), atom("hdlr", u32(0, 0), []byte(handler), u32(0, 0, 0)),
			atom("minf", atom("stbl", atom("stsd", u32(0, 1), atom("jpeg", make([]byte, 70))), atom("stsz", u32(0, 0, 1<<31-1))))))
}

func smpb(text string) []byte {
	return atom("udta", atom("meta", u32(0), atom("hdlr", make([]byte, 25)),
		atom("ilst", atom("covr", atom("data", u32(13, 0), make([]byte, 50000))),
			atom("----", atom("mean", u32(0), []byte("com.apple.iTunes")), atom("name", u32(0), []byte("iTunSMPB")),
				atom("data", u32(1, 0), []byte(text))))))
}

// TestMP4Forms: the same packets in every form of the container are the same samples.
func TestMP4Forms(t *testing.T) {
	all, err := decodeBytes(adtsFile(t, "16000-mono"))
	if err != nil {
		t.Fatal(err)
	}
	whole := all.Samples
	n := int64(len(whole))
	with := func(change func(*mp4Maker)) *mp4Maker {
		m := monoMP4(t)
		change(m)
		return m
	}
	plain := monoMP4(t)
	mdat64 := append(append(u32(1), "mdat"...), u64(int64(16+len(bytes.Join(plain.packets, nil))))...)
	toEnd := bytes.Join([][]byte{ftyp, plain.moov(int64(len(ftyp)+len(plain.moov(0))) + 8), u32(0), []byte("mdat"), bytes.Join(plain.packets, nil)}, nil)
	free := atom("free", make([]byte, 100))
	halfBytes := func(m *mp4Maker) { // stz2 of 16 bits
		b := u32(0, 16, int64(len(m.packets)))
		for _, p := range m.packets {
			b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		}
		m.sizes = atom("stz2", b)
	}
	quick := func(m *mp4Maker) { // QuickTime's version 1, with the configuration in a wave box
		m.entry = atom("mp4a", u32(0, 1, 1<<16, 0, 1<<16|16, 0xfffe0000, 16000<<16), u32(1024, 0, 0, 2),
			atom("wave", atom("frma", []byte("mp4a")), esds([]byte{0x14, 0x08}), u32(8, 0)))
	}
	for _, c := range []struct {
		name string
		file []byte
		want []float32
	}{
		{"index last", plain.indexLast(), whole},
		{"index first", plain.indexFirst(), whole},
		{"one packet a chunk", with(func(m *mp4Maker) { m.perChunk = 1 }).indexLast(), whole},
		{"uneven chunks", with(func(m *mp4Maker) { m.perChunk = 4 }).indexLast(), whole},
		{"co64", with(func(m *mp4Maker) { m.wide = true }).indexLast(), whole},
		{"stz2", with(halfBytes).indexLast(), whole},
		{"mdat of 64 bits", bytes.Join([][]byte{ftyp, mdat64, bytes.Join(plain.packets, nil), plain.moov(int64(len(ftyp)) + 16)}, nil), whole},
		{"mdat to the end", toEnd, whole},
		{"QuickTime", with(quick).indexLast(), whole},
		{"fragments", plain.fragmented(false), whole},
		{"fragments with positions", plain.fragmented(true), whole},
		{"chapters and video", with(func(m *mp4Maker) { m.before = append(otherTrack("text"), otherTrack("vide")...) }).indexLast(), whole},
		{"free room first", bytes.Join([][]byte{free, plain.mdat(), plain.moov(int64(len(free)) + 8)}, nil), whole},
		{"edit list", with(func(m *mp4Maker) { m.edits = [][2]int64{{100, 1024}} }).indexLast(), whole[1024 : 1024+1600]},
		{"edit list to the end", with(func(m *mp4Maker) { m.edits = [][2]int64{{0, 1024}} }).indexLast(), whole[1024:]},
		{"edit list in other units", with(func(m *mp4Maker) {
			m.scale, m.edits = 32000, [][2]int64{{100, 2048}}
		}).indexLast(), whole[1024 : 1024+1600]},
		{"two edits", with(func(m *mp4Maker) { m.edits = [][2]int64{{10, 160}, {20, 1600}} }).indexLast(),
			append(append([]float32(nil), whole[160:320]...), whole[1600:1920]...)},
		{"silence first", with(func(m *mp4Maker) { m.edits = [][2]int64{{10, -1}, {0, 0}} }).indexLast(), append(make([]float32, 160), whole...)},
		{"silence of a month", with(func(m *mp4Maker) { m.edits = [][2]int64{{1<<31 - 1, -1}, {0, 0}} }).indexLast(),
			append(make([]float32, 10*SampleRate), whole...)},
		{"short last packet", with(func(m *mp4Maker) { m.last = 100 }).indexLast(), whole[:n-924]},
		// 326 ms are 5216 samples, rounded: the durations say 5220.
		{"rounded edit list", with(func(m *mp4Maker) { m.last, m.edits = 100, [][2]int64{{326, 0}} }).indexLast(), whole[:5220]},
		{"durations in coarse units", with(func(m *mp4Maker) { m.scale = 160 }).indexLast(), whole},
		{"durations that are wrong", with(func(m *mp4Maker) { m.frame = 100 }).indexLast(), whole},
		{"iTunes", with(func(m *mp4Maker) { m.tags = smpb(" 00000000 00000400 00000000 0000000000000640 00") }).indexLast(), whole[1024 : 1024+1600]},
		{"iTunes beside a whole edit", with(func(m *mp4Maker) {
			m.edits, m.tags = [][2]int64{{0, 0}}, smpb(" 00000000 00000400 00000000 0000000000000640 00")
		}).indexLast(), whole[1024 : 1024+1600]},
		{"iTunes out of order", with(func(m *mp4Maker) { m.tags = smpb("nothing that is a number") }).indexLast(), whole},
		{"disabled", with(func(m *mp4Maker) { m.flags = 0 }).indexLast(), whole},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		if !equal(pcm.Samples, c.want) {
			t.Errorf("%s: got %d samples, want %d and the same", c.name, len(pcm.Samples), len(c.want))
		}
		if in := pcm.Info; in.Container != "mp4" || in.Codec != "aac" || in.SampleRate != 16000 || in.Channels != 1 || in.Faults != nil {
			t.Errorf("%s: got %+v", c.name, in)
		}
		if got := Sniff(c.file); got != "mp4" {
			t.Errorf("%s: Sniff: got %q", c.name, got)
		}
	}
}

// TestMP4PCM: QuickTime keeps PCM in chunks of sample frames.
func TestMP4PCM(t *testing.T) {
	x := scaled(sine(3000, 440, SampleRate, 0), 0.5)
	big := func(b []byte, width int) []byte {
		b = bytes.Clone(b)
		for i := 0; i+width <= len(b); i += width {
			for j := range width / 2 {
				b[i+j], b[i+width-1-j] = b[i+width-1-j], b[i+j]
			}
		}
		return b
	}
	s8 := encode(x, "u8")
	for i := range s8 {
		s8[i] ^= 0x80
	}
	v2 := func(flags, bits int64) []byte {
		return atom("lpcm", u32(0, 1, 2<<16, 0, 3<<16|16, 0xfffe0000, 1<<16, 72), u64(int64(math.Float64bits(16000))),
			u32(1, 0x7f000000, bits, flags, bits/8, 1))
	}
	for _, c := range []struct {
		codec string
		entry []byte
		data  []byte
		width int
	}{
		{"pcm_s16", soundEntry("sowt", 1, 16, SampleRate), encode(x, "s16"), 2},
		{"pcm_s16", soundEntry("twos", 1, 16, SampleRate), big(encode(x, "s16"), 2), 2},
		{"pcm_s8", soundEntry("twos", 1, 8, SampleRate), s8, 1},
		{"pcm_u8", soundEntry("raw ", 1, 8, SampleRate), encode(x, "u8"), 1},
		{"pcm_s24", soundEntry("in24", 1, 16, SampleRate, atom("wave", atom("enda", []byte{0, 1}))), encode(x, "s24"), 3},
		{"pcm_f32", soundEntry("fl32", 1, 16, SampleRate), big(encode(x, "f32"), 4), 4},
		{"mulaw", soundEntry("ulaw", 1, 16, SampleRate), encode(x, "mulaw"), 1},
		{"pcm_s16", v2(4, 16), encode(x, "s16"), 2},
		{"pcm_f32", v2(1, 32), encode(x, "f32"), 4},
		{"pcm_s24", soundEntry("ipcm", 1, 16, SampleRate, atom("pcmC", []byte{0, 0, 0, 0, 1, 24})), encode(x, "s24"), 3},
	} {
		m := &mp4Maker{entry: c.entry, rate: SampleRate, frame: 1, perChunk: 1000, flags: 3, handler: "soun"}
		for i := 0; i < len(c.data); i += c.width {
			m.packets = append(m.packets, c.data[i:i+c.width])
		}
		m.sizes = atom("stsz", u32(0, 1, int64(len(m.packets)))) // QuickTime counts sample frames as 1 byte
		pcm, err := decodeBytes(m.indexLast())
		if err != nil {
			t.Errorf("%s of %q: %v", c.codec, c.entry[4:8], err)
			continue
		}
		if pcm.Info.Codec != c.codec || pcm.Info.Faults != nil {
			t.Errorf("%s of %q: got %+v", c.codec, c.entry[4:8], pcm.Info)
		}
		if len(pcm.Samples) != len(x) || maxDiff(pcm.Samples, x) > 0.02 {
			t.Errorf("%s of %q: got %d samples, want %d and the same", c.codec, c.entry[4:8], len(pcm.Samples), len(x))
		}
	}
}

// TestMP4Damage: what is there is decoded, and what is wrong is said.
func TestMP4Damage(t *testing.T) {
	all, err := decodeBytes(adtsFile(t, "16000-mono"))
	if err != nil {
		t.Fatal(err)
	}
	first := monoMP4(t).indexFirst()
	bad := monoMP4(t)
	bad.packets = append([][]byte(nil), bad.packets...)
	bad.packets[2] = bytes.Repeat([]byte{0xff}, 50)
	overlap := monoMP4(t)
	overlap.sizes = atom("stsz", u32(0, 1000, 4000000000))
	overlap.perChunk = 1
	lying := monoMP4(t).indexLast()
	copy(lying[len(ftyp):], u32(0xffffffff))
	for _, c := range []struct {
		name, fault string
		file        []byte
		n           int
	}{
		{"cut in the data", "truncated", first[:len(first)-len(bad.packets[5])+10], 5 * 1024},
		{"a packet of ones", "1 damaged packets were replaced by silence", bad.indexLast(), len(all.Samples)},
		{"mdat claims 4 GB before the index", "the index was found by searching", lying, len(all.Samples)},
		{"garbage behind", "bytes behind the last box", append(first[:len(first):len(first)], "\x00\x00\x00\x03garbage"...), len(all.Samples)},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		if len(pcm.Samples) != c.n {
			t.Errorf("%s: got %d samples, want %d", c.name, len(pcm.Samples), c.n)
		}
		if got := strings.Join(pcm.Info.Faults, "; "); !strings.Contains(got, c.fault) {
			t.Errorf("%s: faults: got %q, want %q", c.name, got, c.fault)
		}
	}
}

func TestMP4Errors(t *testing.T) {
	with := func(change func(*mp4Maker)) []byte {
		m := monoMP4(t)
		change(m)
		return m.indexLast()
	}
	first := monoMP4(t).indexFirst()
	var fe *FormatError
	for want, entry := range map[string][]byte{
		"mp4 with AMR":             soundEntry("samr", 1, 16, 8000),
		"mp4 with encrypted audio": soundEntry("enca", 1, 16, 8000),
		`mp4 with codec "nons"`:    soundEntry("nons", 1, 16, 8000),
		"mp4 with AAC of another profile than low complexity": soundEntry("mp4a", 1, 16, 8000, esds([]byte{0x32, 0x10})),
	} {
		if _, err := decodeBytes(with(func(m *mp4Maker) { m.entry = entry })); !errors.As(err, &fe) || fe.Found != want {
			t.Errorf("got %v, want a FormatError that found %q", err, want)
		}
	}
	if _, err := decodeBytes(with(func(m *mp4Maker) { m.handler = "vide" })); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "no audio track") {
		t.Errorf("no audio track: got %v", err)
	}
	for name, file := range map[string][]byte{
		"no index":                ftyp,
		"index cut off":           with(func(*mp4Maker) {})[:1500],
		"cut before the data":     first[:len(first)-len(monoMP4(t).mdat())],
		"sizes of 2 billion":      with(func(m *mp4Maker) { m.sizes = atom("stsz", u32(0, 0, 1<<31-1)) }),
		"sizes of 3 bits":         with(func(m *mp4Maker) { m.sizes = atom("stz2", u32(0, 3, 1)) }),
		"no description":          with(func(m *mp4Maker) { m.entry = nil }),
		"no configuration":        with(func(m *mp4Maker) { m.entry = soundEntry("mp4a", 1, 16, 16000, esds(nil)) }),
		"all packets damaged":     with(func(m *mp4Maker) { m.packets = [][]byte{{1, 2, 3}, {4, 5, 6}} }),
		"packets of no bytes":     with(func(m *mp4Maker) { m.sizes = atom("stsz", u32(0, 0, 2, 0, 0)) }),
		"PCM of 200 channels":     with(func(m *mp4Maker) { m.entry = soundEntry("sowt", 200, 16, 16000) }),
		"positions past the end":  append(append([]byte(nil), ftyp...), monoMP4(t).moov(1<<30)...),
		"PCM of an absurd rate":   with(func(m *mp4Maker) { m.entry = soundEntry("sowt", 1, 16, 1) }),
		"boxes without end":       append(append([]byte(nil), ftyp...), nested(100000)...),
		"boxes within their size": append(append([]byte(nil), ftyp...), atom("moov", u32(4), []byte("trak"), u32(0), []byte("trak"))...),
	} {
		var ce *CorruptError
		if _, err := decodeBytes(file); !errors.As(err, &ce) && !errors.Is(err, ErrEmpty) {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
}

// nested writes boxes within boxes, the tags' too.
func nested(depth int) []byte {
	media, tags := make([]byte, 8*depth), make([]byte, 8*depth)
	for i := range depth {
		copy(media[8*i:], append(u32(int64(8*(depth-i))), "mdia"...))
		copy(tags[8*i:], append(u32(int64(8*(depth-i))), "ilst"...))
	}
	return atom("moov", atom("trak", media), atom("udta", tags), bytes.Repeat(atom("trak"), depth))
}

// TestMP4Bomb: an index that reads the same bytes again and again ends with the bytes, or
// at the limit.
func TestMP4Bomb(t *testing.T) {
	m := monoMP4(t)
	packet := m.packets[1]
	var chunks []byte
	const n = 200000
	for range n {
		chunks = append(chunks, u32(int64(len(ftyp))+8)...)
	}
	moov := atom("moov", atom("mvhd", u32(0, 0, 0, 1000, 0)), atom("trak", atom("mdia",
		atom("mdhd", u32(0, 0, 0, 16000, 0, 0)), atom("hdlr", u32(0, 0), []byte("soun")),
		atom("stbl", atom("stsd", u32(0, 1), m.entry), atom("stsc", u32(0, 1, 1, 1, 1)),
			atom("stsz", u32(0, int64(len(packet)), n)), atom("stco", u32(0, n), chunks)))))
	file := bytes.Join([][]byte{ftyp, atom("mdat", packet), moov}, nil)
	pcm, err := Decode(context.Background(), bytes.NewReader(file), Options{MaxDuration: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if most := len(file) / len(packet) * 1024; len(pcm.Samples) > most {
		t.Errorf("got %d samples of %d bytes, want at most %d", len(pcm.Samples), len(file), most)
	}
	if got := fmt.Sprint(pcm.Info.Faults); !strings.Contains(got, "overlap") {
		t.Errorf("got faults %s", got)
	}
	var le *LimitError
	if _, err := Decode(context.Background(), bytes.NewReader(file), Options{MaxDuration: 10 * time.Second}); !errors.As(err, &le) {
		t.Errorf("with a limit: got %v", err)
	}
}

func FuzzMP4(f *testing.F) {
	m := monoMP4(f)
	m.packets = m.packets[:3]
	m.edits = [][2]int64{{100, 1024}}
	f.Add(m.indexLast()[len(ftyp):])
	f.Add(m.indexFirst()[len(ftyp):])
	f.Add(m.fragmented(false)[len(ftyp):])
	m.entry = soundEntry("sowt", 1, 16, 8000)
	f.Add(m.indexLast()[len(ftyp):])
	f.Fuzz(func(t *testing.T, b []byte) {
		// A packet of a byte that fails is a packet of silence, at 7350 Hz; ten seconds
		// may come before.
		checkDecode(t, append(append([]byte(nil), ftyp...), b...), 0)
	})
}
