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

// Arriving is an upload that is still on its way. Decode reads what is there and
// waits for the rest only where it can't go on without: nearly never in a file that
// can be read from front to back, at once in an MP4 file, whose index may be last.
type Arriving interface {
	// Read waits for at least one byte or the end. A place can be sought that is not
	// there yet, but seeking from the end waits for it. When the upload fails or
	// nobody wants it any more, what waits returns an error.
	io.ReadSeeker
	// Reach waits until the upload has n bytes or has ended, and reports whether it
	// has them.
	Reach(n int64) (bool, error)
}

// input is the upload with a position, buffered so that walking thousands of
// tiny chunks does not cost a system call each.
type input struct {
	ctx      context.Context
	src      io.ReadSeeker
	arriving Arriving // src, if it is one and its size is not known yet
	buf      *bufio.Reader
	pos      int64 // of the next byte that buf returns
	size     int64 // or unknownEnd
	err      error // the first error of src that was not the end of the file
}

// unknownEnd stands for the size of what is still arriving.
const unknownEnd = 1 << 62

func newInput(ctx context.Context, src io.ReadSeeker) (*input, error) {
	in := &input{ctx: ctx, src: src, size: unknownEnd}
	if arriving, ok := src.(Arriving); ok {
		in.arriving = arriving
	} else if in.total(); in.err != nil {
		return nil, in.err
	}
	in.buf = bufio.NewReaderSize(inputSource{in}, 64<<10)
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return in, nil
}

// total waits for the end of the upload and returns its size. If that fails, in.err
// says why, and the upload ends where it was read to.
func (in *input) total() int64 {
	if in.size != unknownEnd {
		return in.size
	}
	size, err := in.src.Seek(0, io.SeekEnd)
	if err == nil && in.buf != nil {
		// Behind what is buffered.
		_, err = in.src.Seek(in.pos+int64(in.buf.Buffered()), io.SeekStart)
	}
	if err != nil {
		in.fail(err)
		size = in.pos
	}
	in.size, in.arriving = size, nil
	return size
}

// whole reports whether all of the upload is there, without waiting.
func (in *input) whole() bool { return in.size != unknownEnd }

// soFar is how many bytes the upload has at least, without waiting. What depends on
// it must not change the result.
func (in *input) soFar() int64 {
	if in.whole() {
		return in.size
	}
	return in.pos
}

// has reports whether n bytes follow the position, if need be once they have arrived.
func (in *input) has(n int64) bool { return in.reaches(in.pos + n) }

// reaches reports whether the upload has n bytes, if need be once they have arrived.
func (in *input) reaches(n int64) bool {
	if n < 0 || in.arriving == nil {
		return n >= 0 && n <= in.size
	}
	ok, err := in.arriving.Reach(n)
	if err != nil {
		in.fail(err)
	}
	return ok
}

// fail keeps the first error.
func (in *input) fail(err error) {
	if in.err == nil {
		in.err = err
	}
}

// inputSource is what the buffer of an input reads from. It remembers real
// read errors and looks at the context, once a buffer.
type inputSource struct{ in *input }

func (s inputSource) Read(p []byte) (int, error) {
	if err := s.in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.in.src.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.in.fail(err)
	}
	return n, err
}

// seek moves to an absolute position; beyond the end is the end, once that is known.
func (in *input) seek(pos int64) error {
	pos = max(0, min(pos, in.size))
	if d := pos - in.pos; d >= 0 && d <= int64(in.buf.Buffered()) {
		_, err := in.buf.Discard(int(d))
		in.pos = pos
		return err
	}
	if _, err := in.src.Seek(pos, io.SeekStart); err != nil {
		in.fail(err)
		return err
	}
	in.buf.Reset(inputSource{in})
	in.pos = pos
	return nil
}

// left waits for the end and returns the number of bytes from the position to it.
func (in *input) left() int64 { return in.total() - in.pos }

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
		if size == 0 || !in.has(size+1) {
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
