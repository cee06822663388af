package audioprep

import (
	"encoding/binary"
	"fmt"
)

// A Wave64 file is a WAV file with sizes of 64 bits. Chunks are named by 16 bytes, of which the
// first four are those of WAV; sizes count the chunk's head of 24 bytes; chunks begin at
// multiples of eight. (Sony Pictures Digital, "Wave64", 2003.)

const w64Head = 24

func decodeW64(in *input, s *sink) error {
	return newWAVFile(in, s).decode((*wavFile).openW64)
}

// openW64 passes over the file's own head.
func (w *wavFile) openW64() (chunkWalk, error) {
	if err := w.in.seek(w.in.pos + w64Head + 16); err != nil {
		return nil, err
	}
	return func(w *wavFile) (id string, size, next int64, ok bool, err error) {
		var h [w64Head]byte
		pos := w.in.pos
		if !w.in.has(w64Head) {
			return "", 0, 0, false, w.in.err
		}
		if _, err := w.in.readFull(h[:]); err != nil {
			return "", 0, 0, false, err
		}
		size = int64(min(binary.LittleEndian.Uint64(h[16:]), 1<<61)) - w64Head
		if size < 0 {
			return "", 0, 0, false, fmt.Errorf("chunk %q is shorter than its head", h[:4])
		}
		return string(h[:4]), size, pos + (size+w64Head+7)&^7, true, nil
	}, nil
}
