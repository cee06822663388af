package audioprep

import (
	"errors"
	"fmt"
)

// Format tags of the fmt chunk (mmreg.h).
const (
	tagPCM        = 0x0001
	tagFloat      = 0x0003
	tagALaw       = 0x0006
	tagMuLaw      = 0x0007
	tagMPEG       = 0x0050 // layers I and II
	tagMP3        = 0x0055
	tagExtensible = 0xfffe
)

// otherTags names the codecs that are met in WAV files and not decoded.
var otherTags = map[uint16]string{
	0x0031: "GSM 6.10",
	0x0040: "G.721 ADPCM", 0x0045: "G.726 ADPCM", 0x0064: "G.726 ADPCM",
	0x00ff: "AAC", 0x0161: "WMA", 0x0162: "WMA Pro", 0x1602: "AAC", 0x2000: "AC-3",
	0x674f: "Vorbis", 0xf1ac: "FLAC",
}

// extensibleGUID is what follows the format tag in the sub-format of
// WAVE_FORMAT_EXTENSIBLE for every codec that has a tag (ksmedia.h,
// KSDATAFORMAT_SUBTYPE_*).
const extensibleGUID = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// wavFormat is the fmt chunk.
type wavFormat struct {
	tag         uint16
	channels    int
	rate        int64
	blockAlign  int
	bits        int
	sampleBytes int // of one sample in the file, set by check
	badGUID     bool
	extra       []byte // behind the usual 18 bytes
}

// readFormat reads the fmt chunk, of which 16, 18 and 40 bytes are usual.
func (w *wavFile) readFormat(size int64) error {
	const most = 18 + 4 + 4*256 // with the coefficients of ADPCM
	b := make([]byte, min(max(size, 0), most))
	n, _ := w.in.readFull(b)
	if n < 16 {
		return fmt.Errorf("the fmt chunk has %d bytes, 16 are needed", n)
	}
	f := &wavFormat{
		tag:        w.order.Uint16(b),
		channels:   int(w.order.Uint16(b[2:])),
		rate:       int64(w.order.Uint32(b[4:])),
		blockAlign: int(w.order.Uint16(b[12:])),
		bits:       int(w.order.Uint16(b[14:])),
	}
	if n > 18 {
		f.extra = b[18:n]
	}
	if f.tag == tagExtensible && n >= 40 {
		f.tag = w.order.Uint16(b[24:])
		f.badGUID = w.order.Uint16(b[26:]) != 0 || string(b[28:40]) != extensibleGUID[2:]
	}
	w.format = f
	return nil
}

// check refuses what cannot be decoded, repairs what can be guessed, and names
// the codec in s.
func (f *wavFormat) check(s *sink) error {
	bad := func(format string, args ...any) error {
		return &CorruptError{Container: s.info.Container, Err: fmt.Errorf(format, args...)}
	}
	if f.channels == 0 {
		return bad("the fmt chunk says 0 channels")
	}
	if f.channels > maxChannels {
		return bad("the fmt chunk says %d channels, at most %d are taken", f.channels, maxChannels)
	}
	if f.badGUID {
		return unsupported("wav with an unknown sub-format", "")
	}
	needBytes := (f.bits + 7) / 8
	switch f.tag {
	case tagPCM, tagFloat:
		if f.bits == 0 {
			return &CorruptError{Container: s.info.Container, Err: errors.New("the fmt chunk says 0 bits per sample")}
		}
		// The container of a sample may be wider than its valid bits, which
		// then stand at its top.
		f.sampleBytes = f.blockAlign / f.channels
		if f.sampleBytes < needBytes || f.blockAlign%f.channels != 0 || f.sampleBytes > 8 {
			s.faults(fmt.Sprintf("the fmt chunk says %d bytes per sample frame, %d are right",
				f.blockAlign, needBytes*f.channels))
			f.sampleBytes = needBytes
		}
		ok := f.sampleBytes <= 4 && f.bits >= 8
		if f.tag == tagFloat {
			ok = f.sampleBytes == 4 || f.sampleBytes == 8
		}
		if !ok {
			return unsupported(fmt.Sprintf("wav with samples of %d bits", f.bits), "")
		}
	case tagALaw, tagMuLaw:
		f.sampleBytes = 1
	case tagMSADPCM, tagIMAADPCM:
		return nil // in blocks: see newADPCM
	default:
		name := otherTags[f.tag]
		if name == "" {
			name = fmt.Sprintf("codec 0x%04x", f.tag)
		}
		return unsupported("wav with "+name, "")
	}
	s.info.Codec = f.codec()
	return nil
}

func (f *wavFormat) codec() string {
	switch {
	case f.tag == tagALaw:
		return "alaw"
	case f.tag == tagMuLaw:
		return "mulaw"
	case f.tag == tagFloat:
		return fmt.Sprintf("pcm_f%d", f.sampleBytes*8)
	case f.sampleBytes == 1:
		return "pcm_u8"
	}
	return fmt.Sprintf("pcm_s%d", f.sampleBytes*8)
}
