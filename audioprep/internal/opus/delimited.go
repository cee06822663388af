package opus

// Packets of more than two channels are several packets in a row, all but the last one with
// one more length inside, so that their end is known (RFC 6716, appendix B).

// SplitDelimited cuts the self-delimited packet off the beginning of b and returns
// it in the usual form, in memory of its own. The error is ErrPacket.
func SplitDelimited(b []byte) (packet, rest []byte, err error) {
	if len(b) < 2 {
		return nil, nil, ErrPacket
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
			return nil, nil, ErrPacket
		}
		at++
		for padding := b[1]&64 != 0; padding; {
			if at >= len(b) {
				return nil, nil, ErrPacket
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
		v, n := length(b[min(at, len(b)):])
		if n == 0 {
			return nil, nil, ErrPacket
		}
		size += v
		at += n
	}
	v, n := length(b[min(at, len(b)):])
	size += v * equal
	if n == 0 || size > len(b)-at-n {
		return nil, nil, ErrPacket
	}
	packet = make([]byte, 0, at+size)
	packet = append(packet, b[:at]...)
	packet = append(packet, b[at+n:at+n+size]...)
	return packet, b[at+n+size:], nil
}
