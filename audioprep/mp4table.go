package audioprep

import (
	"encoding/binary"
	"fmt"
)

// mp4Table says where a track's samples stand: how large each is, how many stand in each
// chunk, and where each chunk begins. The tables are kept as they are in the file.
type mp4Table struct {
	fixed      int64  // size of all samples, or 0
	count      int64  // samples
	sizes      []byte // of each, sizeBits wide
	sizeBits   int
	groups     []byte // runs of chunks with as many samples: first chunk, samples, description
	chunks     []byte // positions, chunkBytes wide
	chunkBytes int
}

// readSizes reads the table of sizes. stz2 has entries of 4, 8 or 16 bits.
func (t *mp4Table) readSizes(kind string, b []byte) error {
	if len(b) < 12 {
		return fmt.Errorf("the %s table is cut short", kind)
	}
	t.count = be32(b, 8)
	t.sizes, t.sizeBits, t.fixed = b[12:], 32, 0
	if kind == "stz2" {
		t.sizeBits = int(b[7])
		if t.sizeBits != 4 && t.sizeBits != 8 && t.sizeBits != 16 {
			return fmt.Errorf("the stz2 table has entries of %d bits", t.sizeBits)
		}
	} else if t.fixed = be32(b, 4); t.fixed != 0 {
		return nil
	}
	if room := int64(len(t.sizes)) * 8 / int64(t.sizeBits); t.count > room {
		return fmt.Errorf("the %s table claims %d samples, it has room for %d", kind, t.count, room)
	}
	return nil
}

// size is the size of sample i, which is below count.
func (t *mp4Table) size(i int64) int64 {
	switch {
	case t.fixed != 0:
		return t.fixed
	case t.sizeBits == 4:
		return int64(t.sizes[i/2] >> (4 - i%2*4) & 15)
	case t.sizeBits == 8:
		return int64(t.sizes[i])
	case t.sizeBits == 16:
		return int64(binary.BigEndian.Uint16(t.sizes[2*i:]))
	}
	return int64(binary.BigEndian.Uint32(t.sizes[4*i:]))
}

// each calls put for every sample in order, until it returns false or an error. Of PCM,
// whose samples are single sample frames, it is a whole chunk at a time.
func (t *mp4Table) each(pcm *pcmForm, put func(span) (bool, error)) (more bool, err error) {
	if t.chunkBytes == 0 || len(t.groups) == 0 {
		return true, nil
	}
	group, sample := 0, int64(0)
	for c := range len(t.chunks) / t.chunkBytes {
		// Chunks are counted from 1.
		for 12*(group+1) < len(t.groups) && be32(t.groups, 12*(group+1)) <= int64(c+1) {
			group++
		}
		n := min(be32(t.groups, 12*group+4), t.count-sample)
		pos := be32(t.chunks, 4*c)
		if t.chunkBytes == 8 {
			pos = be64(t.chunks, 8*c)
		}
		if pcm != nil {
			sample += n
			if more, err := put(span{pos, n * int64(pcm.frameBytes())}); !more || err != nil {
				return more, err
			}
			continue
		}
		for ; n > 0; n-- {
			d := span{pos, t.size(sample)}
			if more, err := put(d); !more || err != nil {
				return more, err
			}
			pos += d.size
			sample++
		}
	}
	return true, nil
}
