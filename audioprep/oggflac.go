package audioprep

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mewkiz/flac/meta"
)

// In Ogg a FLAC stream's first packet is 0x7f, "FLAC", two bytes of version, the
// number of header packets, and the beginning of a FLAC file up to STREAMINFO's
// end. A metadata block follows in each header packet, then a frame in each
// packet (RFC 9639, section 10.1).

// oggFLACMapping is what stands before "fLaC" in the first packet.
const oggFLACMapping = 9

// decodeFLAC decodes the stream as if its frames stood in a FLAC file.
func (st *oggStream) decodeFLAC(s *sink) error {
	if len(st.first) < oggFLACMapping {
		return &CorruptError{Container: "ogg", Err: errors.New("the FLAC header is cut short")}
	}
	info, err := parseStreamInfo(st.first[oggFLACMapping:])
	if err != nil {
		return &CorruptError{Container: "ogg", Err: err}
	}
	r := &packetReader{next: st.flacPackets}
	if err := decodeFLACFrames(nestedInput(st.o.w.in, r), s, info); err != nil {
		return err
	}
	return r.err
}

// parseStreamInfo reads "fLaC" and the STREAMINFO block that follow it in b.
func parseStreamInfo(b []byte) (*meta.StreamInfo, error) {
	if !bytes.HasPrefix(b, []byte("fLaC")) {
		return nil, errors.New("the FLAC header is missing")
	}
	block, err := meta.New(bytes.NewReader(b[4:]))
	if err == nil && block.Type == meta.TypeStreamInfo {
		if err = block.Parse(); err == nil {
			return block.Body.(*meta.StreamInfo), nil
		}
	}
	if err == nil {
		err = errors.New("it does not come first")
	}
	return nil, fmt.Errorf("STREAMINFO: %w", err)
}

// flacPackets returns the packets of the next page, without metadata, and
// whether pages are missing before them.
func (st *oggStream) flacPackets() (packets [][]byte, lost bool, err error) {
	_, ok, err := st.page()
	if err != nil {
		return nil, false, err
	}
	if !ok {
		return nil, false, io.EOF
	}
	packets = st.packets
	for len(packets) > 0 && (len(packets[0]) == 0 || packets[0][0] != 0xff) {
		packets = packets[1:]
	}
	return packets, st.lost, nil
}

// packetReader makes one stream of bytes of packets, for the decoders that find
// frames on their own.
type packetReader struct {
	// next returns some packets, valid until it is called again, and whether
	// others are missing before them.
	next    func() (packets [][]byte, lost bool, err error)
	packets [][]byte
	b       []byte
	err     error // what next reported that was not the end
}

func (r *packetReader) Read(p []byte) (int, error) {
	for len(r.b) == 0 {
		if len(r.packets) > 0 {
			r.b, r.packets = r.packets[0], r.packets[1:]
			continue
		}
		var lost bool
		var err error
		if r.packets, lost, err = r.next(); err != nil {
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return 0, err
		}
		if lost {
			r.b = []byte{0} // no frame begins so: the decoder sees that some are missing
		}
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}

// nestedInput is an input over a stream that is inside another one. It cannot be
// moved backwards, and where it ends is not known before.
func nestedInput(outer *input, r io.Reader) *input {
	return &input{ctx: outer.ctx, size: unknownEnd, buf: bufio.NewReaderSize(r, 64<<10)}
}
