package audioprep

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// sniffBytes is how much of an upload is looked at to find out what it is. It
// must reach past the garbage that some writers put before the first MP3 frame.
const sniffBytes = 64 << 10

// input is the upload with a position, buffered so that walking thousands of
// tiny chunks does not cost a system call each.
type input struct {
	ctx  context.Context
	src  io.ReadSeeker
	buf  *bufio.Reader
	pos  int64 // of the next byte that buf returns
	size int64
	err  error // the first error of src that was not the end of the file
}

func newInput(ctx context.Context, src io.ReadSeeker) (*input, error) {
	size, err := src.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	in := &input{ctx: ctx, src: src, size: size}
	in.buf = bufio.NewReaderSize(inputSource{in}, 64<<10)
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return in, nil
}

// inputSource is what the buffer of an input reads from. It remembers real
// read errors and looks at the context, once a buffer.
type inputSource struct{ in *input }

func (s inputSource) Read(p []byte) (int, error) {
	if err := s.in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.in.src.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && s.in.err == nil {
		s.in.err = err
	}
	return n, err
}

// seek moves to an absolute position; beyond the end is the end.
func (in *input) seek(pos int64) error {
	pos = max(0, min(pos, in.size))
	if d := pos - in.pos; d >= 0 && d <= int64(in.buf.Buffered()) {
		_, err := in.buf.Discard(int(d))
		in.pos = pos
		return err
	}
	if _, err := in.src.Seek(pos, io.SeekStart); err != nil {
		in.err = err
		return err
	}
	in.buf.Reset(inputSource{in})
	in.pos = pos
	return nil
}

// left is the number of bytes from the position to the end.
func (in *input) left() int64 { return in.size - in.pos }

// Read makes input an io.Reader for the decoders that want one.
func (in *input) Read(p []byte) (int, error) {
	n, err := in.buf.Read(p)
	in.pos += int64(n)
	return n, err
}

// ReadByte makes input an io.ByteReader.
func (in *input) ReadByte() (byte, error) {
	b, err := in.buf.ReadByte()
	if err == nil {
		in.pos++
	}
	return b, err
}

// readFull fills p or returns how much there was, with io.ErrUnexpectedEOF or
// io.EOF, as io.ReadFull does.
func (in *input) readFull(p []byte) (int, error) {
	n, err := io.ReadFull(in.buf, p)
	in.pos += int64(n)
	return n, err
}

// peek returns up to n of the next bytes without moving; n is at most 64 KiB.
func (in *input) peek(n int) []byte {
	b, _ := in.buf.Peek(n)
	return b
}

// sniff finds out what the upload is and leaves the position at its first byte
// after any ID3v2 tags, which stand before MP3 and, against all sense, before
// some FLAC and WAV files.
func (in *input) sniff() (string, error) {
	tagged := false
	for {
		// Ten bytes at a time: a file may be made of nothing but tags.
		size := id3v2Size(in.peek(10))
		if size == 0 || size >= in.left() {
			// A tag that claims more than there is may still have frames
			// behind its real end: leave that to the search for MP3 frames.
			break
		}
		tagged = true
		if err := in.seek(in.pos + size); err != nil {
			return "", err
		}
	}
	name := Sniff(in.peek(sniffBytes))
	if tagged && name != "flac" && name != "wav" && name != "aac" && name != "ogg" {
		name = "mp3"
	}
	if in.err != nil {
		return "", in.err
	}
	return name, in.ctx.Err()
}
