package audioprep

import (
	"encoding/binary"
	"fmt"
	"math"

	"hark/audioprep/internal/aac"
)

// A sample description begins with six zeros, a reference and, for audio: version,
// vendor, channels, bits, and the rate. QuickTime's versions 1 and 2 have more fields, and
// wrap the codec's configuration into a "wave" box.

// otherCodecs names codecs that are met in MP4 files and not decoded.
var otherCodecs = map[string]string{
	"samr": "AMR", "sawb": "AMR-WB", "ac-3": "AC-3", "ec-3": "E-AC-3", "enca": "encrypted audio", "ima4": "IMA ADPCM",
	"QDM2": "QDesign", "MAC3": "MACE", "MAC6": "MACE", "Qclp": "Qualcomm PureVoice",
	"ms\x00\x02": "MS ADPCM", "ms\x00\x11": "IMA ADPCM", "mhm1": "MPEG-H", "mha1": "MPEG-H",
	"dtsc": "DTS", "drms": "protected AAC",
}

// openCodec reads the track's sample description.
func (t *mp4Track) openCodec() error {
	b := t.entry
	if len(b) < 32 {
		return &CorruptError{Container: "mp4", Err: fmt.Errorf("the audio track has no sample description")}
	}
	kind := string(b[:4])
	b = b[4:] // counts from behind the box's header, as the specification's figures less 8
	version := be16(b, 8)
	t.channels, t.rate = be16(b, 16), be32(b, 24)>>16
	bits := be16(b, 18)
	rest := 28
	var lpcmFlags int64
	switch version {
	case 1:
		rest += 16
	case 2:
		t.rate = int64(math.Float64frombits(uint64(be64(b, 32))))
		t.channels = int(min(be32(b, 40), 1<<16))
		bits = int(min(be32(b, 48), 1<<16))
		lpcmFlags = be32(b, 52)
		rest += 36
	}
	config := map[string][]byte{}
	boxesIn(b[min(rest, len(b)):], func(kind string, body []byte) {
		config[kind] = body
		if kind == "wave" {
			boxesIn(body, func(kind string, body []byte) { config[kind] = body })
		}
	})
	switch kind {
	case "mp4a":
		return t.openAAC(config["esds"])
	case "Opus":
		return t.openOpus(config["dOps"])
	case "fLaC":
		return t.openFLAC(config["dfLa"])
	case ".mp3", "ms\x00\x55":
		t.openMP3()
		return nil
	case "alac":
		cookie := config["alac"]
		a, err := newALAC(cookie[min(4, len(cookie)):]) // behind a version
		if err != nil {
			return &CorruptError{Container: "mp4", Err: err}
		}
		t.codec, t.rate, t.channels, t.frame, t.dec = "alac", int64(a.cfg.Rate), a.cfg.Channels, a.cfg.FrameLength, a
		return nil
	}
	if t.rate == 0 {
		t.rate = t.timescale
	}
	if t.openPCM(kind, bits, lpcmFlags, config) {
		if t.channels < 1 || t.channels > maxChannels {
			return &CorruptError{Container: "mp4",
				Err: fmt.Errorf("%d channels: 1 to %d are taken", t.channels, maxChannels)}
		}
		t.codec, t.frame = t.pcm.name(), 1
		return nil
	}
	name := otherCodecs[kind]
	if name == "" {
		name = fmt.Sprintf("codec %q", kind)
	}
	return unsupported("mp4 with "+name, "")
}

// openAAC reads an elementary stream descriptor (ISO/IEC 14496-1, section 7.2.6.5).
func (t *mp4Track) openAAC(esds []byte) error {
	object, config := parseESDS(esds)
	switch object {
	case 0x40, 0x66, 0x67, 0x68: // AAC of MPEG-4, and of MPEG-2 in three profiles
	case 0x69, 0x6b:
		t.openMP3()
		return nil
	default:
		return unsupported(fmt.Sprintf("mp4 with codec 0x%02x", object), "")
	}
	cfg, err := aac.ParseConfig(config)
	if err != nil {
		return noAAC("mp4", err)
	}
	t.codec, t.rate, t.channels, t.frame = "aac", int64(cfg.Rate), cfg.Channels, cfg.Frame()
	t.dec = newAACDecoder(cfg)
	return nil
}

// parseESDS returns the type of object and the decoder's configuration. A descriptor is a
// tag, a length of seven bits a byte, and its body.
func parseESDS(b []byte) (object int, config []byte) {
	const esDescriptor, decoderConfig, decoderSpecific = 3, 4, 5
	descriptor := func(b []byte) (tag int, body, rest []byte) {
		if len(b) < 2 {
			return 0, nil, nil
		}
		tag = int(b[0])
		n, at := 0, 1
		for at < len(b) && at < 5 {
			v := b[at]
			at++
			n = n<<7 | int(v&0x7f)
			if v&0x80 == 0 {
				break
			}
		}
		n = min(n, len(b)-at)
		return tag, b[at : at+n], b[at+n:]
	}
	b = b[min(4, len(b)):] // version
	tag, body, _ := descriptor(b)
	if tag == esDescriptor {
		if len(body) < 3 {
			return 0, nil
		}
		flags := body[2]
		at := 3
		if flags&0x80 != 0 {
			at += 2 // depends on another stream
		}
		if flags&0x40 != 0 && at < len(body) {
			at += 1 + int(body[at]) // URL
		}
		if flags&0x20 != 0 {
			at += 2 // clock
		}
		tag, body, _ = descriptor(body[min(at, len(body)):])
	}
	if tag != decoderConfig || len(body) < 13 {
		return 0, nil
	}
	object = int(body[0])
	if tag, body, _ = descriptor(body[13:]); tag == decoderSpecific {
		config = body
	}
	return object, config
}

// openPCM recognises the many names of PCM (QuickTime File Format Specification, "Sound
// Media"; ISO/IEC 23003-5 for ipcm and fpcm).
func (t *mp4Track) openPCM(kind string, bits int, flags int64, config map[string][]byte) bool {
	tag := uint16(tagPCM)
	var order binary.ByteOrder = binary.BigEndian
	signed8 := true
	if enda := config["enda"]; len(enda) >= 2 && enda[1] == 1 {
		order = binary.LittleEndian
	}
	switch kind {
	case "twos", "NONE", "in24", "in32":
		if kind == "NONE" && bits == 8 {
			signed8 = false
		}
		bits = map[string]int{"in24": 24, "in32": 32, "twos": bits, "NONE": bits}[kind]
	case "sowt":
		order = binary.LittleEndian
	case "raw ":
		signed8 = false
	case "fl32", "fl64":
		tag = tagFloat
		bits = map[string]int{"fl32": 32, "fl64": 64}[kind]
	case "ulaw":
		tag = tagMuLaw
	case "alaw":
		tag = tagALaw
	case "lpcm":
		// Flags of Core Audio: float, big-endian, signed integer.
		if flags&1 != 0 {
			tag = tagFloat
		}
		if flags&2 == 0 {
			order = binary.LittleEndian
		}
		signed8 = flags&4 != 0
	case "ipcm", "fpcm":
		if kind == "fpcm" {
			tag = tagFloat
		}
		c := config["pcmC"]
		if len(c) < 6 {
			return false
		}
		if c[4]&1 != 0 {
			order = binary.LittleEndian
		}
		bits = int(c[5])
	default:
		return false
	}
	p, ok := newPCM(tag, t.channels, bits, order)
	p.signed8 = signed8
	t.pcm = &p
	return ok
}
