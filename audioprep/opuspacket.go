package audioprep

import "errors"

// An Opus packet is a byte that says mode, band and duration of its frames and
// how many there are, and the frames, all of one duration (RFC 6716, section
// 3). Packets of more than two channels are several such packets in a row, all
// but the last one with one more length inside, so that their end is known
// ("self-delimiting", appendix B).

var errOpusPacket = errors.New("not an Opus packet")

// maxOpusSamples is the longest packet, 120 ms, in sample frames at 48 kHz.
const maxOpusSamples = 5760

// opusFrameSamples is the duration of each frame of a packet that begins with
// toc, in sample frames at 48 kHz (RFC 6716, table 2).
func opusFrameSamples(toc byte) int {
	config := toc >> 3
	switch {
	case config < 12: // SILK
		return [4]int{480, 960, 1920, 2880}[config&3]
	case config < 16: // hybrid
		return [2]int{480, 960}[config&1]
	}
	return 120 << (config & 3) // CELT
}

// opusPacketSamples is the duration of a packet in sample frames at 48 kHz, 0
// if it is none.
func opusPacketSamples(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	n := 1
	switch b[0] & 3 {
	case 1, 2:
		n = 2
	case 3:
		if len(b) < 2 {
			return 0
		}
		n = int(b[1] & 63)
	}
	if n *= opusFrameSamples(b[0]); n > maxOpusSamples {
		return 0
	}
	return n
}

// opusLength reads the length of a frame, one or two bytes of b; n is how many,
// 0 if they are not there.
func opusLength(b []byte) (length, n int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case b[0] < 252:
		return int(b[0]), 1
	case len(b) < 2:
		return 0, 0
	}
	return int(b[0]) + 4*int(b[1]), 2
}

// splitOpus cuts the self-delimited packet off the beginning of b and returns
// it in the usual form.
func splitOpus(b []byte) (packet, rest []byte, err error) {
	if len(b) < 2 {
		return nil, nil, errOpusPacket
	}
	at, size := 1, 0 // of the header so far, of frames and padding
	lengths := 0     // how many lengths the usual form has
	equal := 0       // how many frames have the length that is only in this form
	switch b[0] & 3 {
	case 0:
		equal = 1
	case 1:
		equal = 2
	case 2:
		lengths, equal = 1, 1
	case 3:
		count := int(b[1] & 63)
		if count == 0 {
			return nil, nil, errOpusPacket
		}
		at++
		for padding := b[1]&64 != 0; padding; {
			if at >= len(b) {
				return nil, nil, errOpusPacket
			}
			v := int(b[at])
			at++
			if padding = v == 255; padding {
				v = 254
			}
			size += v
		}
		if lengths, equal = 0, count; b[1]&128 != 0 {
			lengths, equal = count-1, 1
		}
	}
	for range lengths {
		v, n := opusLength(b[min(at, len(b)):])
		if n == 0 {
			return nil, nil, errOpusPacket
		}
		size += v
		at += n
	}
	v, n := opusLength(b[min(at, len(b)):])
	size += v * equal
	if n == 0 || size > len(b)-at-n {
		return nil, nil, errOpusPacket
	}
	packet = make([]byte, 0, at+size)
	packet = append(packet, b[:at]...)
	packet = append(packet, b[at+n:at+n+size]...)
	return packet, b[at+n+size:], nil
}
