package audioprep

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// mp4Track is one track of the index.
type mp4Track struct {
	id        uint32
	disabled  bool
	handler   string // "soun", "vide", "text"…
	language  string // three letters, "" if it is not said
	timescale int64  // of media times, per second
	entry     []byte // of the sample description
	table     mp4Table
	mediaEnd  int64 // by the table of durations
	edits     []mp4Edit
	bad       error // why it can't be read or decoded

	// Of the codec, set by openCodec.
	codec    string
	rate     int64
	channels int
	frame    int // sample frames of a packet
	dec      packetDecoder
	pcm      *pcmForm // instead of dec
}

// mp4Edit is a stretch of the track that is to be played; media -1 stands for silence.
type mp4Edit struct {
	duration int64 // in the time scale of the file; 0: to the end
	media    int64 // where it begins, in the time scale of the track
}

// gapless is how iTunes says what an encoder added, in samples.
type gapless struct{ start, length int64 }

// maxMediaTime is beyond any real time in samples: two months of the highest rate.
const maxMediaTime = 1 << 40

// maxTracks and maxBoxDepth are beyond any real file: movies have some dozen tracks, and what is
// looked for stands five boxes deep.
const (
	maxTracks   = 1000
	maxBoxDepth = 8
)

// maxTableBytes bounds one table of an index: a hundred hours of AAC.
const maxTableBytes = 64 << 20

// readIndex reads a moov box.
func (f *mp4File) readIndex(moov box) error {
	f.hasIndex = true
	return eachBox(f.in, moov, func(b box) error {
		switch b.kind {
		case "mvhd":
			body, err := readBox(f.in, b, 120)
			if err != nil {
				return err
			}
			if f.timescale = be32(body, 12); len(body) > 0 && body[0] == 1 {
				f.timescale = be32(body, 20)
			}
		case "trak":
			if len(f.tracks) == maxTracks {
				return nil
			}
			t := &mp4Track{}
			if t.bad = t.read(f.in, b, 0); f.in.err != nil {
				return f.in.err
			}
			f.tracks = append(f.tracks, t)
		case "mvex":
			return eachBox(f.in, b, func(b box) error {
				body, err := readBox(f.in, b, 64)
				if b.kind == "trex" && len(body) >= 24 {
					f.defaults[uint32(be32(body, 4))] = mp4Defaults{size: be32(body, 16)}
				}
				return err
			})
		case "udta":
			return f.readTags(b, 0)
		}
		return nil
	})
}

// read reads a trak box, boxes within boxes.
func (t *mp4Track) read(in *input, b box, depth int) error {
	if depth > maxBoxDepth {
		return errors.New("boxes stand in boxes without end")
	}
	return eachBox(in, b, func(b box) error {
		switch b.kind {
		case "mdia", "minf", "stbl", "edts":
			return t.read(in, b, depth+1)
		case "tkhd", "mdhd", "hdlr", "elst":
			body, err := readBox(in, b, 1<<20)
			if err != nil {
				return err
			}
			t.readHeader(b.kind, body)
		case "stsd":
			body, err := readBox(in, b, 1<<20)
			if err != nil {
				return err
			}
			boxesIn(body[min(8, len(body)):], func(kind string, entry []byte) {
				if t.entry == nil { // several: the first is for nearly all samples
					t.entry = append([]byte(kind), entry...)
				}
			})
		case "stts", "stsz", "stz2", "stsc", "stco", "co64":
			if t.handler != "" && t.handler != "soun" {
				return nil
			}
			if b.size() > maxTableBytes {
				return fmt.Errorf("the %s table has %d bytes, at most %d are taken", b.kind, b.size(), maxTableBytes)
			}
			body, err := readBox(in, b, maxTableBytes)
			if err != nil {
				return err
			}
			return t.readTable(b.kind, body)
		}
		return nil
	})
}

// readHeader reads one of the boxes that describe the track.
func (t *mp4Track) readHeader(kind string, b []byte) {
	long := len(b) > 0 && b[0] == 1 // version 1 has times of 64 bits
	switch kind {
	case "tkhd":
		t.disabled = be32(b, 0)&1 == 0
		if t.id = uint32(be32(b, 12)); long {
			t.id = uint32(be32(b, 20))
		}
	case "mdhd":
		t.timescale, t.language = be32(b, 12), mp4Language(be16(b, 20))
		if long {
			t.timescale, t.language = be32(b, 20), mp4Language(be16(b, 32))
		}
	case "hdlr":
		// QuickTime has a second one, for the data, inside minf.
		if len(b) >= 12 && t.handler == "" {
			t.handler = string(b[8:12])
		}
	case "elst":
		const most = 1000
		n := min(be32(b, 4), most)
		for at := 8; n > 0; n-- {
			var e mp4Edit
			if long {
				e = mp4Edit{be64(b, at), be64(b, at+8)}
				at += 20
			} else {
				e = mp4Edit{be32(b, at), int64(int32(be32(b, at+4)))}
				at += 12
			}
			if at > len(b) {
				break
			}
			t.edits = append(t.edits, e)
		}
	}
}

// mp4Language unpacks three letters of five bits (ISO 639-2/T). Smaller numbers are the
// Macintosh's own, of which 0 stands for English and for nothing at all.
func mp4Language(code int) string {
	if code < 0x400 {
		return ""
	}
	name := string([]byte{byte(code>>10&31) + 0x60, byte(code>>5&31) + 0x60, byte(code&31) + 0x60})
	if name == "und" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return name
}

// readTable reads one of the tables of samples.
func (t *mp4Track) readTable(kind string, b []byte) error {
	n := be32(b, 4) // entries
	room := func(bytes int64) error {
		if n > int64(len(b)-8)/bytes {
			return fmt.Errorf("the %s table claims %d entries, it has room for %d", kind, n, int64(len(b)-8)/bytes)
		}
		return nil
	}
	if len(b) < 8 {
		return fmt.Errorf("the %s table is cut short", kind)
	}
	tab := &t.table
	switch kind {
	case "stts":
		if err := room(8); err != nil {
			return err
		}
		t.mediaEnd = 0
		for i := range int(n) {
			t.mediaEnd += be32(b, 8+8*i) * be32(b, 12+8*i)
			if t.mediaEnd < 0 || t.mediaEnd > maxMediaTime {
				t.mediaEnd = 0 // absurd
				break
			}
		}
	case "stsz", "stz2":
		return tab.readSizes(kind, b)
	case "stsc":
		tab.groups = b[8:]
		tab.groups = tab.groups[:len(tab.groups)/12*12]
		return room(12)
	case "stco":
		tab.chunks, tab.chunkBytes = b[8:], 4
		return room(4)
	case "co64":
		tab.chunks, tab.chunkBytes = b[8:], 8
		return room(8)
	}
	return nil
}

// readTags looks for iTunes' note on gapless playing: udta, meta, ilst, and there a box
// "----" whose mean and name say what its data is.
func (f *mp4File) readTags(b box, depth int) error {
	if depth > maxBoxDepth {
		return nil
	}
	return eachBox(f.in, b, func(b box) error {
		switch b.kind {
		case "meta":
			// A version stands before its boxes, except in QuickTime.
			if err := f.in.seek(b.pos); err != nil {
				return err
			}
			if head := f.in.peek(8); len(head) == 8 && string(head[4:]) != "hdlr" {
				b.pos = min(b.pos+4, b.end)
			}
			return f.readTags(b, depth+1)
		case "ilst":
			return f.readTags(b, depth+1)
		case "----":
			body, err := readBox(f.in, b, 4<<10)
			if err != nil {
				return err
			}
			var name, data string
			boxesIn(body, func(kind string, body []byte) {
				switch {
				case kind == "name" && len(body) > 4:
					name = string(body[4:])
				case kind == "data" && len(body) > 8:
					data = string(body[8:])
				}
			})
			if name == "iTunSMPB" {
				f.gapless = parseGapless(data)
			}
		}
		return nil
	})
}

// parseGapless reads " 00000000 00000840 000001CA 00000000003F31F6 …": an unknown number,
// samples to drop at the start, at the end, and those between. Nil if it is something else.
func parseGapless(text string) *gapless {
	f := strings.Fields(text)
	if len(f) < 4 {
		return nil
	}
	start, err1 := strconv.ParseInt(f[1], 16, 64)
	length, err2 := strconv.ParseInt(f[3], 16, 64)
	if errors.Join(err1, err2) != nil || start < 0 || start > 1<<16 || length <= 0 || length > maxMediaTime {
		return nil
	}
	return &gapless{start, length}
}
