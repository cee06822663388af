package audioprep

import (
	"encoding/binary"
	"errors"
)

// Two kinds of ADPCM are met in WAV files: differences of four bits each, whose step follows
// the signal. A block begins with the state of each channel. (Microsoft, "Multimedia
// Standards Update", 1994; IMA, "Recommended Practices for Enhancing Digital Audio
// Compatibility", 1992.)

const (
	tagMSADPCM  = 0x0002
	tagIMAADPCM = 0x0011
)

// adpcmDecoder decodes the blocks of either kind.
type adpcmDecoder struct {
	channels int
	coef     [][2]int32 // of the kind of Microsoft: of the two samples before; nil: IMA
	block    []float32
}

// newADPCM returns the decoder for a format, and how many sample frames a block has.
func newADPCM(f *wavFormat) (d *adpcmDecoder, frames int, err error) {
	d = &adpcmDecoder{channels: f.channels}
	head := 4 * f.channels // IMA
	if f.tag == tagMSADPCM {
		head = 7 * f.channels
		d.coef = msCoefficients
		// The fmt chunk repeats the usual coefficients, or has others: samples in a
		// block, their number, and pairs.
		if e := f.extra; len(e) >= 4 {
			n := int(binary.LittleEndian.Uint16(e[2:]))
			if n > 0 && len(e) >= 4+4*n {
				d.coef = make([][2]int32, n)
				for i := range d.coef {
					d.coef[i][0] = int32(int16(binary.LittleEndian.Uint16(e[4+4*i:])))
					d.coef[i][1] = int32(int16(binary.LittleEndian.Uint16(e[6+4*i:])))
				}
			}
		}
	}
	switch {
	case f.bits != 4 && f.bits != 0:
		return nil, 0, unsupported("wav with ADPCM of other than 4 bits", "")
	case f.channels > 2:
		return nil, 0, unsupported("wav with ADPCM of more than 2 channels", "")
	case f.blockAlign <= head:
		return nil, 0, errors.New("the blocks of ADPCM are shorter than their heads")
	}
	return d, d.frames(f.blockAlign), nil
}

// frames is how many sample frames a block of so many bytes has.
func (d *adpcmDecoder) frames(bytes int) int {
	if d.coef != nil {
		return max(0, 2+(bytes-7*d.channels)*2/d.channels)
	}
	// Data is in groups of four bytes for each channel.
	group := 4 * d.channels
	return max(0, 1+(bytes-group)/group*8)
}

// decode decodes a block, of which the last may be short.
func (d *adpcmDecoder) decode(b []byte) ([]float32, error) {
	head := 4
	if d.coef != nil {
		head = 7
	}
	if len(b) < head*d.channels {
		return nil, errors.New("a block of ADPCM is cut in its head")
	}
	n := d.frames(len(b)) * d.channels
	if cap(d.block) < n {
		d.block = make([]float32, n)
	}
	if d.coef != nil {
		return d.block[:n], d.microsoft(d.block[:n], b)
	}
	d.ima(d.block[:n], b)
	return d.block[:n], nil
}

// msCoefficients and msSteps are of Microsoft's kind: with 8 bits of fraction, what the
// samples before are multiplied by; and by what the step is, for each difference.
var (
	msCoefficients = [][2]int32{{256, 0}, {512, -256}, {0, 0}, {192, 64}, {240, 0}, {460, -208}, {392, -232}}
	msSteps        = [16]int32{230, 230, 230, 230, 307, 409, 512, 614, 768, 614, 512, 409, 307, 230, 230, 230}
)

func (d *adpcmDecoder) microsoft(dst []float32, b []byte) error {
	type state struct {
		coef          [2]int32
		step          int32
		before, older int32
	}
	var s [2]state
	ch := d.channels
	word := func(at int) int32 { return int32(int16(binary.LittleEndian.Uint16(b[at:]))) }
	for c := range ch {
		if int(b[c]) >= len(d.coef) {
			return errors.New("a block of ADPCM names coefficients that are not there")
		}
		s[c] = state{d.coef[b[c]], word(ch + 2*c), word(3*ch + 2*c), word(5*ch + 2*c)}
		dst[c], dst[ch+c] = float32(s[c].older)/(1<<15), float32(s[c].before)/(1<<15)
	}
	at := 2 * ch
	put := func(nibble byte) {
		p := &s[at%ch]
		v := (p.before*p.coef[0] + p.older*p.coef[1]) / 256
		v += (int32(nibble) ^ 8 - 8) * p.step
		v = max(-1<<15, min(v, 1<<15-1))
		p.older, p.before = p.before, v
		p.step = max(16, min(msSteps[nibble]*p.step>>8, 1<<23))
		dst[at] = float32(v) / (1 << 15)
		at++
	}
	for _, v := range b[7*ch:] {
		if at+2 > len(dst) {
			break
		}
		put(v >> 4)
		put(v & 15)
	}
	return nil
}

// imaSteps and imaMoves are of IMA's kind: the steps, and by how many places a difference
// moves in them.
var (
	imaSteps = [89]int32{
		7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107, 118,
		130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060,
		1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894, 6484,
		7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767,
	}
	imaMoves = [8]int{-1, -1, -1, -1, 2, 4, 6, 8}
)

func (d *adpcmDecoder) ima(dst []float32, b []byte) {
	ch := d.channels
	for c := range ch {
		v := int32(int16(binary.LittleEndian.Uint16(b[4*c:])))
		index := min(int(b[4*c+2]), len(imaSteps)-1)
		dst[c] = float32(v) / (1 << 15)
		at := ch + c
		for group := b[4*ch:]; len(group) >= 4*ch; group = group[4*ch:] {
			for _, pair := range group[4*c : 4*c+4] {
				for _, nibble := range [2]byte{pair & 15, pair >> 4} {
					step := imaSteps[index]
					diff := step >> 3
					for bit := range 3 {
						if nibble>>(2-bit)&1 != 0 {
							diff += step >> bit
						}
					}
					if nibble&8 != 0 {
						diff = -diff
					}
					v = max(-1<<15, min(v+diff, 1<<15-1))
					index = max(0, min(index+imaMoves[nibble&7], len(imaSteps)-1))
					dst[at] = float32(v) / (1 << 15)
					at += ch
				}
			}
		}
	}
}

// decodeADPCM decodes a data chunk.
func (w *wavFile) decodeADPCM(d wavData) error {
	f, t := w.format, w.packets
	if t == nil {
		dec, frames, err := newADPCM(f)
		if err != nil {
			return w.corrupt(err)
		}
		w.s.info.Codec = map[uint16]string{tagMSADPCM: "adpcm_ms", tagIMAADPCM: "adpcm_ima"}[f.tag]
		if err := w.s.open(f.rate, f.channels); err != nil {
			return w.corrupt(err)
		}
		t = &sampleTrack{in: w.in, s: w.s, dec: dec, frame: frames}
		w.packets = t
	}
	for left := d.claimed; left > 0; left -= int64(f.blockAlign) {
		block := span{d.pos + d.claimed - left, min(left, int64(f.blockAlign))}
		if !w.in.reaches(block.pos + block.size) {
			// The last one may be short.
			if block.size = w.in.total() - block.pos; block.size <= 0 {
				break
			}
		}
		if more, err := t.packet(block); !more || err != nil {
			return err
		}
	}
	return nil
}

// finishADPCM says what was wrong with the blocks.
func (w *wavFile) finishADPCM() error {
	t := w.packets
	t.note()
	switch {
	case t.good > 0:
		return nil
	case t.first == nil:
		return ErrEmpty
	}
	return w.corrupt(t.first)
}
