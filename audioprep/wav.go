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

// wavFile decodes the chunks of such a file, one after the other.
type wavFile struct {
	in      *input
	s       *sink
	order   binary.ByteOrder
	format  *wavFormat
	packets *sampleTrack // of ADPCM, once its first data was met
	early   []wavData    // data chunks before the fmt chunk
	chunks  int          // data chunks so far
	ds64    int64        // data size of an RF64 file, or 0
}

// wavData is a data chunk: where it begins and what size it claims, toEnd if none.
type wavData struct{ pos, claimed int64 }

const toEnd = unknownEnd

// chunkWalk reads the header of the next chunk: its name in four letters, the size of
// its body, and where the next one begins if nothing lies; not ok at the end.
type chunkWalk func(w *wavFile) (id string, size, next int64, ok bool, err error)

// decodeWAV decodes the data where it meets it, so that it need not wait for the end
// of an upload. Only data that stands before its description waits.
func decodeWAV(in *input, s *sink) error {
	return newWAVFile(in, s).decode((*wavFile).openRIFF)
}

func newWAVFile(in *input, s *sink) *wavFile {
	return &wavFile{in: in, s: s, order: binary.LittleEndian}
}

// decode walks over the chunks. open reads the file's header.
func (w *wavFile) decode(open func(*wavFile) (chunkWalk, error)) error {
	walk, err := open(w)
	if err != nil {
		return w.corrupt(err)
	}
	for w.chunks < maxDataChunks {
		id, size, next, ok, err := walk(w)
		if err != nil {
			return w.corrupt(err)
		}
		if !ok {
			break
		}
		if next, err = w.chunk(id, size, next); err != nil {
			return err
		}
		if err := w.in.seek(next); err != nil {
			return err
		}
	}
	if w.chunks == maxDataChunks {
		w.s.faults(fmt.Sprintf("only the first %d data chunks are read", maxDataChunks))
	}
	return w.finish()
}

// finish decodes what had to wait and says what was missing.
func (w *wavFile) finish() error {
	switch {
	case w.format == nil:
		return w.corrupt(errors.New("there is no fmt chunk to say how the samples are written"))
	case w.chunks == 0:
		if err := w.format.check(w.s); err != nil {
			return err
		}
		return w.corrupt(errors.New("there is no data chunk"))
	}
	for _, d := range w.early {
		if _, err := w.decodeData(d); err != nil {
			return err
		}
	}
	if w.packets != nil {
		return w.finishADPCM()
	}
	return nil
}

func (w *wavFile) corrupt(err error) error {
	return corrupt(w.s.info.Container, err)
}

// openRIFF reads the header of a RIFF file, with its relatives.
func (w *wavFile) openRIFF() (chunkWalk, error) {
	var head [12]byte
	if n, err := w.in.readFull(head[:]); err != nil {
		return nil, fmt.Errorf("the header is cut short after %d bytes", n)
	}
	if string(head[:4]) == "RIFX" {
		w.order = binary.BigEndian
	}
	riffSize := int64(w.order.Uint32(head[4:]))
	end := w.in.pos - 4 + riffSize
	return func(w *wavFile) (id string, size, next int64, ok bool, err error) {
		var h [8]byte
		if !w.in.has(int64(len(h))) {
			return "", 0, 0, false, w.in.err
		}
		if _, err := w.in.readFull(h[:]); err != nil {
			return "", 0, 0, false, err
		}
		id, size = string(h[:4]), int64(w.order.Uint32(h[4:]))
		if id == "data" {
			switch {
			case size == streamedSize && w.ds64 > 0:
				size = w.ds64
			case size == streamedSize:
				size = toEnd
			case size == 0 && w.in.has(1) && (riffSize == 0 || riffSize == streamedSize || !w.in.reaches(end)):
				size = toEnd // its writer never came back
			}
		}
		return id, size, w.in.pos + size, true, nil
	}, nil
}

// chunk handles the chunk whose header was just read and returns where the next one
// begins. next is where it should.
func (w *wavFile) chunk(id string, size, next int64) (int64, error) {
	switch id {
	case "fmt ":
		if w.format == nil {
			if err := w.readFormat(size); err != nil {
				return 0, w.corrupt(err)
			}
		}
	case "ds64":
		var b [16]byte
		if n, _ := w.in.readFull(b[:]); n == len(b) {
			// riffSize and dataSize, 64 bits each.
			if v := w.order.Uint64(b[8:]); v < 1<<62 {
				w.ds64 = int64(v)
			}
		}
	case "data":
		w.chunks++
		d := wavData{w.in.pos, size}
		if w.format == nil {
			w.early = append(w.early, d)
			break
		}
		over, err := w.decodeData(d)
		if err != nil {
			return 0, err
		}
		if over {
			return w.in.total(), nil
		}
	default:
		if w.format != nil && w.chunks == 0 && !w.in.has(size) {
			return 0, w.corrupt(fmt.Errorf("chunk %q claims %d bytes, %d are there", id, size, w.in.left()))
		}
	}
	return w.afterPad(size, next)
}

// afterPad passes over a chunk's pad byte, which some writers forget: then a known
// chunk name stands where the pad byte and three letters would be.
func (w *wavFile) afterPad(size, next int64) (int64, error) {
	if size%2 == 0 || !w.in.reaches(next) {
		return next, nil
	}
	if err := w.in.seek(next); err != nil {
		return 0, err
	}
	if b := w.in.peek(4); len(b) == 4 {
		switch string(b) {
		case "fmt ", "data", "LIST", "fact", "bext", "JUNK", "cue ", "smpl", "id3 ":
			return next, nil
		}
	}
	return next + 1, nil
}

// decodeData decodes a data chunk. over says that nothing can follow it.
func (w *wavFile) decodeData(d wavData) (over bool, err error) {
	if w.format.tag == tagMP3 || w.format.tag == tagMPEG {
		// An MP3 stream in a coat. What follows the data chunk is no frame.
		if err := w.in.seek(d.pos); err != nil {
			return true, err
		}
		return true, decodeMP3(w.in, w.s)
	}
	if err := w.format.check(w.s); err != nil {
		return true, err
	}
	if w.format.tag == tagMSADPCM || w.format.tag == tagIMAADPCM {
		err = w.decodeADPCM(d)
	} else {
		err = w.decodePCM(d)
	}
	if err != nil {
		return true, err
	}
	if d.claimed != toEnd && !w.in.reaches(d.pos+d.claimed) {
		w.s.faults(fmt.Sprintf("truncated: the data chunk claims %d bytes, %d are there",
			d.claimed, w.in.total()-d.pos))
		return true, nil
	}
	return d.claimed == toEnd, nil
}

// decodePCM decodes a data chunk of plain samples.
func (w *wavFile) decodePCM(d wavData) error {
	if err := w.s.open(w.format.rate, w.format.channels); err != nil {
		return w.corrupt(err)
	}
	p := pcmForm{wavFormat: *w.format, order: w.order}
	if err := w.s.expectBytes(w.in, d.pos, d.claimed, p.frameBytes()); err != nil {
		return err
	}
	if err := p.decodeSpan(w.in, span{d.pos, d.claimed}, w.s.write); err != nil {
		return err
	}
	have := d.claimed
	if !w.in.reaches(d.pos + d.claimed) {
		have = w.in.total() - d.pos
	}
	if rest := have % int64(p.frameBytes()); rest != 0 {
		w.s.faults(fmt.Sprintf("the last %d bytes of the data chunk are less than one sample frame", rest))
	}
	return nil
}
