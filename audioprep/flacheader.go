package audioprep

// flacHeader is the header of a FLAC frame (RFC 9639, section 9.1).
type flacHeader struct {
	bytes      int // of the header, its CRC included
	blockSize  int // samples of each channel
	rate       int // Hz, or 0: as STREAMINFO says
	channels   int
	paired     bool // two channels coded as one and a difference
	assignment int  // how channels are coded, as the header has it
	bits       int  // per sample, or 0: as STREAMINFO says
	sample     int64
}

var (
	flacRates = [12]int{0, 88200, 176400, 192000, 8000, 16000, 22050, 24000, 32000, 44100, 48000, 96000}
	flacBits  = [8]int{0, 8, 12, -1, 16, 20, 24, 32}
)

// maxFlacHeader is the longest header: 4 bytes, 7 of number, 2 of block size, 2
// of rate, CRC.
const maxFlacHeader = 16

// parseFlacHeader reads the header at the start of b; not ok if there is none.
// Its CRC-8 makes a false one rare.
func parseFlacHeader(b []byte) (h flacHeader, ok bool) {
	if len(b) < 6 || b[0] != 0xff || b[1]&0xfe != 0xf8 {
		return h, false
	}
	sizeCode, rateCode := int(b[2]>>4), int(b[2]&15)
	chanCode, bitsCode := int(b[3]>>4), int(b[3]>>1&7)
	if sizeCode == 0 || rateCode == 15 || chanCode > 10 || flacBits[bitsCode] < 0 || b[3]&1 != 0 {
		return h, false
	}
	h.bits = flacBits[bitsCode]
	h.channels, h.assignment = chanCode+1, chanCode
	if chanCode >= 8 {
		h.channels, h.paired = 2, true
	}
	number, n := flacNumber(b[4:])
	if n == 0 {
		return h, false
	}
	at := 4 + n
	// take reads a big-endian number of k bytes behind the coded number.
	take := func(k int) int {
		v := 0
		for ; k > 0; k-- {
			if at >= len(b) {
				return -1
			}
			v = v<<8 | int(b[at])
			at++
		}
		return v
	}
	switch {
	case sizeCode == 1:
		h.blockSize = 192
	case sizeCode <= 5:
		h.blockSize = 576 << (sizeCode - 2)
	case sizeCode <= 7:
		h.blockSize = take(sizeCode-5) + 1
	default:
		h.blockSize = 256 << (sizeCode - 8)
	}
	switch rateCode {
	case 12:
		h.rate = take(1) * 1000
	case 13:
		h.rate = take(2)
	case 14:
		h.rate = take(2) * 10
	default:
		h.rate = flacRates[rateCode]
	}
	if at >= len(b) || h.blockSize < 1 || h.blockSize > 65535 || crc8(b[:at]) != b[at] {
		return h, false
	}
	h.bytes = at + 1
	h.sample = number
	if b[1]&1 == 0 { // fixed block size: the number counts frames
		h.sample = number * int64(h.blockSize)
	}
	return h, true
}

// flacNumber reads the frame or sample number, coded as UTF-8 stretched to 36
// bits. n is its length, 0 if it is malformed.
func flacNumber(b []byte) (v int64, n int) {
	first := b[0]
	switch {
	case first < 0x80:
		return int64(first), 1
	case first < 0xc0 || first == 0xff:
		return 0, 0
	}
	n = 1
	for m := byte(0x40); first&m != 0; m >>= 1 {
		n++
	}
	if len(b) < n {
		return 0, 0
	}
	v = int64(first) & (1<<(7-n) - 1)
	if n == 7 {
		v = 0
	}
	for _, c := range b[1:n] {
		if c&0xc0 != 0x80 {
			return 0, 0
		}
		v = v<<6 | int64(c&0x3f)
	}
	return v, n
}

// crc8 is the header's checksum: polynomial x^8+x^2+x+1, from zero.
func crc8(b []byte) (crc byte) {
	for _, v := range b {
		crc ^= v
		for range 8 {
			if crc&0x80 != 0 {
				crc = crc<<1 ^ 0x07
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

// crc16 is the frame's checksum, polynomial x^16+x^15+x^2+1, from zero: 0 over a
// whole frame with its checksum at the end.
func crc16(b []byte) (crc uint16) {
	for _, v := range b {
		crc = crc<<8 ^ crc16Table[byte(crc>>8)^v]
	}
	return crc
}

var crc16Table = func() (t [256]uint16) {
	for i := range t {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x8005
			} else {
				crc <<= 1
			}
		}
		t[i] = crc
	}
	return t
}()
