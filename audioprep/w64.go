package audioprep

import (
	"encoding/binary"
	"fmt"
)

// A Wave64 file is a WAV file with sizes of 64 bits. Chunks are named by 16 bytes, of which the
// first four are those of WAV; sizes count the chunk's head of 24 bytes; chunks begin at
// multiples of eight. (Sony Pictures Digital, "Wave64", 2003.)

const w64Head = 24

// walkW64 goes over all chunks as walkWAV does.
func walkW64(in *input) (*wavFile, error) {
	w := &wavFile{order: binary.LittleEndian}
	start := in.pos
	if err := in.seek(start + w64Head + 16); err != nil {
		return nil, err
	}
	for in.left() >= w64Head && len(w.data) < maxDataChunks {
		var h [w64Head]byte
		pos := in.pos
		if _, err := in.readFull(h[:]); err != nil {
			return nil, err
		}
		size := int64(min(binary.LittleEndian.Uint64(h[16:]), 1<<62)) - w64Head
		if size < 0 {
			return nil, fmt.Errorf("chunk %q is shorter than its head", h[:4])
		}
		switch string(h[:4]) {
		case "fmt ":
			if w.format == nil {
				if err := w.readFormat(in, min(size, in.left())); err != nil {
					return nil, err
				}
			}
		case "data":
			claimed := size
			if left := in.left(); claimed > left {
				w.faults = append(w.faults, fmt.Sprintf("truncated: the data chunk claims %d bytes, %d are there", claimed, left))
				claimed = left
			}
			w.data = append(w.data, span{in.pos, claimed})
		}
		next := (size + w64Head + 7) &^ 7
		if err := in.seek(pos + next); err != nil {
			return nil, err
		}
	}
	return w, nil
}
