package audioprep

import (
	"encoding/binary"
	"fmt"
)

// An AU file (".snd" of Sun and NeXT) has a header of six big-endian numbers, perhaps some
// text, and samples: magic, where the data begins, its size or all ones, an encoding, the
// rate and the channels. (audio.h of SunOS; afmt.h of Java.)

const auUnknownSize = 0xffffffff

func decodeAU(in *input, s *sink) error {
	var h [24]byte
	start := in.pos
	if n, err := in.readFull(h[:]); err != nil {
		return &CorruptError{Container: "au", Err: fmt.Errorf("the header is cut short after %d bytes", n)}
	}
	pos, size := start+be32(h[:], 4), be32(h[:], 8)
	encoding, rate, channels := be32(h[:], 12), be32(h[:], 16), be32(h[:], 20)
	if channels < 1 || channels > maxChannels {
		return &CorruptError{Container: "au", Err: fmt.Errorf("%d channels: 1 to %d are taken", channels, maxChannels)}
	}
	form, ok := map[int64]struct {
		tag  uint16
		bits int
	}{
		1: {tagMuLaw, 8}, 27: {tagALaw, 8}, 2: {tagPCM, 8}, 3: {tagPCM, 16}, 4: {tagPCM, 24}, 5: {tagPCM, 32},
		6: {tagFloat, 32}, 7: {tagFloat, 64},
	}[encoding]
	if !ok {
		return unsupported(fmt.Sprintf("au with encoding %d", encoding), "")
	}
	p, _ := newPCM(form.tag, int(channels), form.bits, binary.BigEndian)
	if size == auUnknownSize {
		size = toEnd
	}
	if size == 0 || !in.reaches(pos+1) {
		return ErrEmpty
	}
	return decodePCM(in, s, "au", p, rate, max(pos, start+24), size)
}
