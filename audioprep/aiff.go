package audioprep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// An AIFF file is "FORM", a size, "AIFF" and chunks like a WAV's, but big-endian. "COMM"
// describes the samples, "SSND" holds them behind an offset, in either order. AIFF-C
// ("AIFC") adds the name of a codec to COMM, which may be PCM in the other order of bytes.
//
// Audio Interchange File Format 1.3 (Apple, 1989); AIFF-C draft (Apple, 1991).

// aiffFile is what the walk over the chunks found.
type aiffFile struct {
	pcm     pcmForm
	rate    int64
	hasComm bool
	frames  int64 // that COMM claims
	data    *span
	claimed int64 // bytes of samples, by the chunk
}

// aiffOther names codecs that are met in AIFF-C files and not decoded.
var aiffOther = map[string]string{
	"ima4": "IMA ADPCM", "MAC3": "MACE", "MAC6": "MACE", "GSM ": "GSM 6.10", "QDMC": "QDesign", "QDM2": "QDesign",
	"Qclp": "Qualcomm PureVoice",
}

func decodeAIFF(in *input, s *sink) error {
	bad := func(err error) error { return &CorruptError{Container: "aiff", Err: err} }
	a := &aiffFile{}
	if err := in.seek(in.pos + 12); err != nil {
		return err
	}
	for !(a.hasComm && a.data != nil) && in.has(8) {
		var h [8]byte
		if _, err := in.readFull(h[:]); err != nil {
			return bad(err)
		}
		size, start := be32(h[:], 4), in.pos
		switch string(h[:4]) {
		case "COMM":
			if err := a.readComm(in, size); err != nil {
				return corrupt("aiff", err)
			}
		case "SSND":
			var head [8]byte // offset and block size
			if _, err := in.readFull(head[:]); err != nil {
				return bad(errors.New("the SSND chunk is cut short"))
			}
			pos := in.pos + be32(head[:], 0)
			a.claimed = start + size - pos
			a.data = &span{pos, a.claimed}
		}
		if a.hasComm && a.data != nil {
			break // the rest need not have arrived
		}
		if err := in.seek(start + size + size%2); err != nil {
			return err
		}
	}
	if !a.hasComm {
		return bad(errors.New("there is no COMM chunk to say how the samples are written"))
	}
	if a.data == nil {
		return bad(errors.New("there is no SSND chunk"))
	}
	// Behind the last sample frame there may be padding to whole blocks. Who writes to a
	// pipe leaves the size of the chunk 0, that of its head not counted, and perhaps the
	// number of sample frames.
	claimed := a.claimed
	switch n := a.frames * int64(a.pcm.frameBytes()); {
	case n > 0 && (n < claimed || claimed < 0):
		claimed = n
	case claimed < 0:
		claimed = toEnd
	}
	if claimed == 0 || !in.reaches(a.data.pos+1) {
		return ErrEmpty
	}
	return decodePCM(in, s, "aiff", a.pcm, a.rate, a.data.pos, claimed)
}

// readComm reads the COMM chunk: channels, sample frames, bits, the rate as a float of 80
// bits, and in AIFF-C the codec.
func (a *aiffFile) readComm(in *input, size int64) error {
	b := make([]byte, min(max(size, 0), 22))
	n, _ := in.readFull(b)
	if n < 18 {
		return fmt.Errorf("the COMM chunk has %d bytes, 18 are needed", n)
	}
	channels, bits := be16(b, 0), be16(b, 6)
	a.frames = be32(b, 2)
	a.rate = extendedFloat(b[8:18])
	if channels < 1 || channels > maxChannels {
		return fmt.Errorf("%d channels: 1 to %d are taken", channels, maxChannels)
	}
	codec := "NONE"
	if n == 22 {
		codec = string(b[18:])
	}
	tag := uint16(tagPCM)
	var order binary.ByteOrder = binary.BigEndian
	signed8 := true
	switch codec {
	case "NONE", "twos":
	case "sowt":
		order = binary.LittleEndian
	case "in24", "in32", "42ni", "23ni":
		if codec == "42ni" || codec == "23ni" {
			order = binary.LittleEndian
		}
		bits = map[string]int{"in24": 24, "42ni": 24, "in32": 32, "23ni": 32}[codec]
	case "raw ":
		signed8 = false
	case "fl32", "FL32", "fl64", "FL64":
		tag, bits = tagFloat, map[byte]int{'3': 32, '6': 64}[codec[2]]
	case "ulaw", "ULAW":
		tag = tagMuLaw
	case "alaw", "ALAW":
		tag = tagALaw
	default:
		name := aiffOther[codec]
		if name == "" {
			name = fmt.Sprintf("codec %q", codec)
		}
		return unsupported("aiff with "+name, "")
	}
	p, ok := newPCM(tag, channels, bits, order)
	if !ok {
		return unsupported(fmt.Sprintf("aiff with samples of %d bits", bits), "")
	}
	p.signed8 = signed8
	a.pcm, a.hasComm = p, true
	return nil
}

// extendedFloat reads a float of 80 bits (IEEE 754 extended): a sign, 15 bits of exponent
// and 64 of mantissa with its leading one. What is no rate becomes 0.
func extendedFloat(b []byte) int64 {
	exp := be16(b, 0)
	v := math.Ldexp(float64(binary.BigEndian.Uint64(b[2:])), exp-16383-63)
	if exp >= 0x8000 || !(v < 1<<32) {
		return 0
	}
	return int64(math.Round(v))
}
