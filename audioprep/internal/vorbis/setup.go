package vorbis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"hark/audioprep/internal/mdct"
)

// maxChannels is what the identification header can say.
const maxChannels = 255

// setup is the third header packet (section 4.2.4).
type setup struct {
	codebooks []*codebook
	floors    []floor
	residues  []residue
	mappings  []mapping
	modes     []mode
}

// mode says how a packet is coded.
type mode struct {
	long    int // 1: it is a long block
	mapping int
}

// mapping says which floor and residue each channel has.
type mapping struct {
	coupling []couplingStep
	mux      [maxChannels]uint8 // for each channel its submap
	submaps  []submap
}

type couplingStep struct{ magnitude, angle int }

type submap struct{ floor, residue int }

var errSetup = errors.New("the setup header is damaged")

// readIdentification reads the first header packet (section 4.2.2).
func (d *Decoder) readIdentification(b []byte) error {
	if len(b) < 30 || string(b[:7]) != "\x01vorbis" {
		return errors.New("the identification header is damaged")
	}
	if v := binary.LittleEndian.Uint32(b[7:]); v != 0 {
		return fmt.Errorf("version %d of Vorbis is not known", v)
	}
	d.channels = int(b[11])
	d.rate = int(binary.LittleEndian.Uint32(b[12:]))
	short, long := int(b[28]&15), int(b[28]>>4)
	if d.channels == 0 || d.rate == 0 || short < 6 || long > 13 || short > long || b[29]&1 == 0 {
		return errors.New("the identification header is damaged")
	}
	for i, n := range [2]int{1 << short, 1 << long} {
		d.blocks[i] = block{size: n, dct: mdct.NewDCT4(n / 2), slope: make([]float32, n/2)}
		for k := range d.blocks[i].slope {
			// Section 4.3.1.
			s := math.Sin((float64(k) + 0.5) / float64(n) * math.Pi)
			d.blocks[i].slope[k] = float32(math.Sin(math.Pi / 2 * s * s))
		}
	}
	return nil
}

func (d *Decoder) readSetup(b []byte) (*setup, error) {
	if len(b) < 7 || string(b[:7]) != "\x05vorbis" {
		return nil, errSetup
	}
	r := &bitReader{b: b[7:]}
	s := &setup{}
	entries, values := maxEntries, maxValues
	for range r.read(8) + 1 {
		c, err := readCodebook(r, &entries, &values)
		if err != nil {
			return nil, err
		}
		s.codebooks = append(s.codebooks, c)
	}
	for range r.read(6) + 1 {
		if r.read(16) != 0 { // a placeholder
			return nil, errSetup
		}
	}
	for range r.read(6) + 1 {
		f, err := readFloor(r, s.codebooks, [2]int{d.blocks[0].size, d.blocks[1].size})
		if err != nil {
			return nil, err
		}
		s.floors = append(s.floors, f)
	}
	for range r.read(6) + 1 {
		v, err := readResidue(r, s.codebooks)
		if err != nil {
			return nil, err
		}
		s.residues = append(s.residues, v)
	}
	for range r.read(6) + 1 {
		m, ok := s.readMapping(r, d.channels)
		if !ok {
			return nil, errSetup
		}
		s.mappings = append(s.mappings, m)
	}
	for range r.read(6) + 1 {
		m := mode{long: int(r.read(1))}
		zeros := r.read(32) // types of window and transform
		m.mapping = int(r.read(8))
		if zeros != 0 || m.mapping >= len(s.mappings) {
			return nil, errSetup
		}
		s.modes = append(s.modes, m)
	}
	if r.read(1) != 1 || r.failed {
		return nil, errSetup
	}
	return s, nil
}

// readMapping reads a mapping of type 0, the only one.
func (s *setup) readMapping(r *bitReader, channels int) (m mapping, ok bool) {
	if r.read(16) != 0 {
		return m, false
	}
	submaps := 1
	if r.read(1) == 1 {
		submaps = int(r.read(4)) + 1
	}
	if r.read(1) == 1 {
		width := bitsFor(channels - 1)
		for range r.read(8) + 1 {
			step := couplingStep{int(r.read(width)), int(r.read(width))}
			if step.magnitude == step.angle || max(step.magnitude, step.angle) >= channels {
				return m, false
			}
			m.coupling = append(m.coupling, step)
		}
	}
	if r.read(2) != 0 {
		return m, false
	}
	if submaps > 1 {
		for c := range channels {
			if m.mux[c] = uint8(r.read(4)); int(m.mux[c]) >= submaps {
				return m, false
			}
		}
	}
	for range submaps {
		r.read(8) // unused
		v := submap{floor: int(r.read(8)), residue: int(r.read(8))}
		if v.floor >= len(s.floors) || v.residue >= len(s.residues) {
			return m, false
		}
		m.submaps = append(m.submaps, v)
	}
	return m, !r.failed
}
