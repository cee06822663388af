package audioprep

// mp4Defaults is what the samples of a track's fragments have unless the fragment says
// otherwise.
type mp4Defaults struct{ size int64 }

// Flags of the boxes of fragments (ISO/IEC 14496-12, sections 8.8.7 and 8.8.8).
const (
	tfhdBase        = 0x1
	tfhdDescription = 0x2
	tfhdDuration    = 0x8
	tfhdSize        = 0x10
	trunOffset      = 0x1
	trunFirstFlags  = 0x4
	trunDuration    = 0x100
	trunSize        = 0x200
	trunFlags       = 0x400
	trunComposition = 0x800
)

// fragment calls put for every sample of t in the moof box at d.
func (f *mp4File) fragment(t *mp4Track, d span, put func(span) (bool, error)) (more bool, err error) {
	more = true
	moof := box{pos: d.pos + 8, end: d.pos + d.size}
	err = eachBox(f.in, moof, func(b box) error {
		if b.kind != "traf" || !more {
			return nil
		}
		size, base, at := f.defaults[t.id].size, d.pos, int64(-1)
		ours := false
		return eachBox(f.in, b, func(b box) error {
			switch {
			case b.kind == "tfhd":
				body, err := readBox(f.in, b, 64)
				if err != nil {
					return err
				}
				ours = uint32(be32(body, 4)) == t.id
				flags, p := be32(body, 0), 8
				if flags&tfhdBase != 0 {
					base = be64(body, p)
					p += 8
				}
				if flags&tfhdDescription != 0 {
					p += 4
				}
				if flags&tfhdDuration != 0 {
					p += 4
				}
				if flags&tfhdSize != 0 {
					size = be32(body, p)
				}
			case b.kind == "trun" && ours && more:
				body, err := readBox(f.in, b, maxTableBytes)
				if err != nil {
					return err
				}
				if at < 0 {
					at = base
				}
				at, more, err = eachInRun(body, base, at, size, t.pcm, put)
				return err
			}
			return nil
		})
	})
	return more, err
}

// eachInRun calls put for every sample of a trun box and returns where the data of the
// run ends. base is what its offset counts from, at where the run before ended.
func eachInRun(b []byte, base, at, size int64, pcm *pcmForm, put func(span) (bool, error)) (
	end int64, more bool, err error) {
	flags, n := be32(b, 0), be32(b, 4)
	p := 8
	if flags&trunOffset != 0 {
		at = base + int64(int32(be32(b, p)))
		p += 4
	}
	if flags&trunFirstFlags != 0 {
		p += 4
	}
	stride, sizeAt := 0, 0
	for _, f := range [4]int64{trunDuration, trunSize, trunFlags, trunComposition} {
		if flags&f == 0 {
			continue
		}
		if f == trunSize {
			sizeAt = stride
		}
		stride += 4
	}
	if stride > 0 {
		n = min(n, int64(len(b)-p)/int64(stride))
	} else if size <= 0 {
		n = 0
	}
	for ; n > 0; n-- {
		d := span{at, size}
		if flags&trunSize != 0 {
			d.size = be32(b, p+sizeAt)
		} else if pcm != nil && stride == 0 {
			d.size, n = size*n, 1 // all at once
		}
		p += stride
		if more, err := put(d); !more || err != nil {
			return at, more, err
		}
		at += d.size
	}
	return at, true, nil
}
