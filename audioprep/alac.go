package audioprep

import (
	"fmt"

	"hark/audioprep/internal/alac"
)

// alacDecoder decodes the packets of Apple Lossless, which MP4 and CAF files hold.
type alacDecoder struct {
	cfg   alac.Config
	dec   *alac.Decoder
	block []float32
}

func newALAC(cookie []byte) (*alacDecoder, error) {
	cfg, err := alac.ParseConfig(cookie)
	if err != nil {
		return nil, fmt.Errorf("alac: %w", err)
	}
	return &alacDecoder{cfg, alac.NewDecoder(cfg), make([]float32, cfg.FrameLength*cfg.Channels)}, nil
}

// decode makes alacDecoder a packetDecoder.
func (a *alacDecoder) decode(packet []byte) ([]float32, error) {
	n, err := a.dec.Decode(a.block, packet)
	return a.block[:n*a.cfg.Channels], err
}
