package mpeg

// Header is a parsed frame header:
//
//	11111111 111vvllp bbbbrrxy mmeeccoo
//
// v version, l layer, p no CRC, b bit rate, r sample rate, x padding, m channel
// mode, e its extension. Nothing else says where a frame starts, and the eleven
// set bits also occur in the data: only a chain of headers, each where the one
// before it says, can be trusted. ISO/IEC 11172-3, section 2.4.1.3; ISO/IEC
// 13818-3 for MPEG-2; MPEG-2.5, with the lowest rates, is Fraunhofer's.
type Header struct {
	Version  int // 1, 2, or 25 for MPEG-2.5
	Layer    int // 1, 2, 3
	Rate     int // Hz
	Channels int // 1, 2
	Bytes    int // of the whole frame, header included; 0 for free format: see WithBytes
	Samples  int // of each channel in a frame

	crc       bool
	bitRate   int // kbit/s
	rateIndex int // 0 to 2, within the version
	padding   int // bytes
	joint     int // subbands that channels have of their own, in layers I and II; 0: all
	midSide   bool
	intensity bool
}

// bitRates is in kbit/s: MPEG-1 layers I, II, III; MPEG-2 layer I, layers II and III.
var bitRates = [5][15]int{
	{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
	{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
	{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
	{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
}

// HeaderBytes is the length of a frame header.
const HeaderBytes = 4

// ParseHeader reads the header at the start of b; not ok if there is none.
func ParseHeader(b []byte) (h Header, ok bool) {
	if len(b) < HeaderBytes || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return h, false
	}
	version, layer := b[1]>>3&3, b[1]>>1&3
	bitRate, rate := int(b[2]>>4), int(b[2]>>2&3)
	if version == 1 || layer == 0 || bitRate == 15 || rate == 3 || b[3]&3 == 2 {
		return h, false
	}
	h.Layer = 4 - int(layer)
	h.rateIndex = rate
	h.Rate = [3]int{44100, 48000, 32000}[rate]
	h.Version = 1
	switch version {
	case 2:
		h.Version, h.Rate = 2, h.Rate/2
	case 0:
		h.Version, h.Rate = 25, h.Rate/4
	}
	h.Channels = 2
	switch b[3] >> 6 {
	case 3:
		h.Channels = 1
	case 1:
		h.midSide, h.intensity = b[3]&0x20 != 0, b[3]&0x10 != 0
		h.joint = 4 * (int(b[3]>>4&3) + 1)
	}
	h.crc = b[1]&1 == 0
	row := h.Layer - 1
	if h.Version != 1 {
		row = min(3+row, 4)
	}
	h.bitRate = bitRates[row][bitRate]
	bits := h.bitRate * 1000
	h.padding = int(b[2] >> 1 & 1)
	switch {
	case h.Layer == 1:
		h.Samples = 384
		h.Bytes = (12*bits/h.Rate + h.padding) * 4
		h.padding *= 4
	case h.Layer == 3 && h.Version != 1:
		h.Samples = 576
		h.Bytes = 72*bits/h.Rate + h.padding
	default:
		h.Samples = 1152
		h.Bytes = 144*bits/h.Rate + h.padding
	}
	if bits == 0 {
		h.Bytes = 0
	}
	return h, true
}

// Free reports that the frame is of free format: its bit rate, any that the encoder liked, and so
// its length are not said. All frames of a stream have the same, but for the padding.
func (h Header) Free() bool { return h.bitRate == 0 }

// WithBytes returns the header of a frame of free format that has so many bytes when it has no
// padding.
func (h Header) WithBytes(n int) Header {
	if h.Free() {
		h.Bytes = n + h.padding
	}
	return h
}

// Unpadded is Bytes without padding.
func (h Header) Unpadded() int { return h.Bytes - h.padding }

// SameStream reports whether two headers can be of one stream: bit rate and
// stereo mode may change from frame to frame, the rest may not.
func (h Header) SameStream(o Header) bool {
	return h.Version == o.Version && h.Layer == o.Layer && h.Rate == o.Rate
}

// SideInfoBytes is the length of the side information of a layer III frame, and
// SideInfoAt where it starts.
func (h Header) SideInfoBytes() int {
	switch {
	case h.Version == 1 && h.Channels == 2:
		return 32
	case h.Version == 1 || h.Channels == 2:
		return 17
	}
	return 9
}

// SideInfoAt is where the side information starts in a frame.
func (h Header) SideInfoAt() int {
	if h.crc {
		return HeaderBytes + 2
	}
	return HeaderBytes
}

func (h Header) granules() int { return h.Samples / granuleLines }
