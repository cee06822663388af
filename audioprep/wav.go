package audioprep

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A RIFF file is "RIFF", a size, "WAVE" and then chunks: four letters, a 32-bit
// size, that many bytes, and a pad byte if the size is odd. "fmt " describes
// the samples, "data" holds them, the rest may be skipped. RIFX is the same in
// big-endian; RF64 and BW64 keep the sizes beyond 4 GB in a "ds64" chunk and
// write 0xFFFFFFFF in their place (EBU Tech 3306, ITU-R BS.2088). Programs that
// write to a pipe never come back to fill in the sizes: 0 or 0xFFFFFFFF then
// mean "to the end".
//
// Multimedia Programming Interface and Data Specifications 1.0 (IBM and
// Microsoft, 1991), chapter 2; Multiple Channel Audio Data and WAVE Files
// (Microsoft, 2001) for WAVE_FORMAT_EXTENSIBLE.

const (
	// maxChannels is beyond any real recording (22.2 surround has 24).
	maxChannels = 64
	// maxDataChunks bounds what the walk remembers of a file made of nothing
	// but tiny data chunks.
	maxDataChunks = 4096
	streamedSize  = 0xffffffff
)

// span is a stretch of the upload in bytes.
type span struct{ pos, size int64 }

// wavFile is what the walk over the chunks found.
type wavFile struct {
	order  binary.ByteOrder
	format *wavFormat
	data   []span
	ds64   int64 // data size of an RF64 file, or 0
	faults []string
}

// decodeWAV walks the chunks first and decodes the data after, so that it does
// not matter in which order they stand. walk is walkWAV or walkW64.
func decodeWAV(in *input, s *sink, walk func(*input) (*wavFile, error)) error {
	bad := func(err error) error { return &CorruptError{Container: s.info.Container, Err: err} }
	w, err := walk(in)
	if err != nil {
		return bad(err)
	}
	s.faults(w.faults...)
	if w.format == nil {
		return bad(errors.New("there is no fmt chunk to say how the samples are written"))
	}
	if w.format.tag == tagMP3 && len(w.data) > 0 {
		// An MP3 stream in a coat. What follows the data chunk is no frame.
		if err := in.seek(w.data[0].pos); err != nil {
			return err
		}
		return decodeMP3(in, s)
	}
	if err := w.format.check(s); err != nil {
		return err
	}
	if len(w.data) == 0 {
		return bad(errors.New("there is no data chunk"))
	}
	if w.format.tag == tagMSADPCM || w.format.tag == tagIMAADPCM {
		return w.decodeADPCM(in, s)
	}
	if err := s.open(w.format.rate, w.format.channels); err != nil {
		return bad(err)
	}
	frames := int64(0)
	for _, d := range w.data {
		frames += d.size / int64(w.format.channels*w.format.sampleBytes)
	}
	if err := s.expect(frames, true, in.size); err != nil {
		return err
	}
	p := pcmForm{wavFormat: *w.format, order: w.order}
	for _, d := range w.data {
		if rest := d.size % int64(p.frameBytes()); rest != 0 {
			s.faults(fmt.Sprintf("the last %d bytes of the data chunk are less than one sample frame", rest))
		}
		if err := p.decodeSpan(in, d, s.write); err != nil {
			return err
		}
	}
	return nil
}

// walkWAV goes over all chunks without reading the samples.
func walkWAV(in *input) (*wavFile, error) {
	var head [12]byte
	if n, err := in.readFull(head[:]); err != nil {
		return nil, fmt.Errorf("the header is cut short after %d bytes", n)
	}
	w := &wavFile{order: binary.LittleEndian}
	if string(head[:4]) == "RIFX" {
		w.order = binary.BigEndian
	}
	riffSize := w.order.Uint32(head[4:])
	streamed := riffSize == 0 || riffSize == streamedSize || int64(riffSize) > in.left()+4
	for in.left() >= 8 && len(w.data) < maxDataChunks {
		var h [8]byte
		if _, err := in.readFull(h[:]); err != nil {
			return nil, err
		}
		id, size := string(h[:4]), int64(w.order.Uint32(h[4:]))
		if err := w.chunk(in, id, size, streamed); err != nil {
			return nil, err
		}
	}
	if len(w.data) == maxDataChunks {
		w.faults = append(w.faults, fmt.Sprintf("only the first %d data chunks are read", maxDataChunks))
	}
	return w, nil
}

// chunk handles one chunk whose header was just read, and moves past it.
func (w *wavFile) chunk(in *input, id string, size int64, streamed bool) error {
	switch id {
	case "fmt ":
		if w.format != nil {
			break
		}
		return w.readFormat(in, size)
	case "ds64":
		var b [16]byte
		start := in.pos
		if n, _ := in.readFull(b[:]); n == len(b) {
			// riffSize and dataSize, 64 bits each.
			if v := w.order.Uint64(b[8:]); v < 1<<62 {
				w.ds64 = int64(v)
			}
		}
		return skipChunk(in, start, size)
	case "data":
		start := in.pos
		claimed := size
		if size == streamedSize && w.ds64 > 0 {
			claimed = w.ds64
		}
		left := in.left()
		switch {
		case claimed == streamedSize, claimed == 0 && streamed && left > 0:
			claimed = left
		case claimed > left:
			w.faults = append(w.faults, fmt.Sprintf("truncated: the data chunk claims %d bytes, %d are there", claimed, left))
			claimed = left
		}
		w.data = append(w.data, span{start, claimed})
		return skipChunk(in, start, claimed)
	}
	if size > in.left() && w.format != nil && len(w.data) == 0 {
		return fmt.Errorf("chunk %q claims %d bytes, %d are there", id, size, in.left())
	}
	return skipChunk(in, in.pos, size)
}

// skipChunk moves behind a chunk's body and its pad byte, which some writers
// forget: then a known chunk name stands where the pad byte and three letters
// would be.
func skipChunk(in *input, start, size int64) error {
	if err := in.seek(start + size); err != nil {
		return err
	}
	if size%2 == 0 {
		return nil
	}
	if b := in.peek(4); len(b) == 4 {
		switch string(b) {
		case "fmt ", "data", "LIST", "fact", "bext", "JUNK", "cue ", "smpl", "id3 ":
			return nil
		}
	}
	return in.seek(in.pos + 1)
}
