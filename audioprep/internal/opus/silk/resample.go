package silk

// resampler takes one channel to 48 kHz. The RFC leaves the filter open but for its
// delay (section 4.2.9); this one is its reference implementation's: to twice the rate by
// two chains of all-pass filters, and from there by eight taps to 48 kHz.
type resampler struct {
	kHz   int
	delay int // samples, so that all rates come out equally late
	in    [maxFrame]int16
	held  [8]int16 // the last samples in, delay of them
	state [6]int32 // of the all-pass filters, in Q10
	twice [8 + 2*maxFrame]int32
}

func newResampler(kHz int) resampler {
	return resampler{kHz: kHz, delay: map[int]int{8: 0, 12: 4, 16: 7}[kHz]}
}

// run writes 48/kHz times as many samples as x has, a frame, to dst.
func (r *resampler) run(dst, x []int16) {
	in := r.in[:len(x)]
	copy(in, r.held[:r.delay])
	copy(in[r.delay:], x)
	copy(r.held[:r.delay], x[len(x)-r.delay:])
	r.double(in)
	switch r.kHz {
	case 8:
		interpolate(dst, r.twice[:], 1, []place{{0, 0}, {0, 4}, {0, 8}})
	case 12:
		interpolate(dst, r.twice[:], 1, []place{{0, 0}, {0, 6}})
	default:
		interpolate(dst, r.twice[:], 2, []place{{0, 0}, {0, 8}, {1, 4}})
	}
	copy(r.twice[:8], r.twice[2*len(x):])
}

// The coefficients of the all-pass filters for even and odd samples, in Q16
// (resampler_rom.h, silk_resampler_up2_hq_0 and _1; the last less 1).
const (
	even0, even1, even2 = 1746, 14986, 39083 - 65536
	odd0, odd1, odd2    = 6854, 25769, 55542 - 65536
)

// double writes the samples at twice the rate behind the first eight of r.twice.
func (r *resampler) double(x []int16) {
	s := r.state
	out := r.twice[8:]
	for i, v := range x {
		in := int32(v) << 10
		two := out[2*i:][:2]

		d := scale(in-s[0], even0)
		a := s[0] + d
		s[0] = in + d
		d = scale(a-s[1], even1)
		b := s[1] + d
		s[1] = a + d
		d = b - s[2]
		d += scale(d, even2)
		two[0] = clip16(round(s[2]+d, 10))
		s[2] = b + d

		d = scale(in-s[3], odd0)
		a = s[3] + d
		s[3] = in + d
		d = scale(a-s[4], odd1)
		b = s[4] + d
		s[4] = a + d
		d = b - s[5]
		d += scale(d, odd2)
		two[1] = clip16(round(s[5]+d, 10))
		s[5] = b + d
	}
	r.state = s
}

// place is a whole number of samples and twelfths of one.
type place struct{ whole, twelfths int }

// interpolate writes for every step samples of x those at the places.
func interpolate(dst []int16, x []int32, step int, places []place) {
	for k, p := range places {
		f := &kernels[p.twelfths]
		at := p.whole
		for i := k; i < len(dst); i += len(places) {
			v := (*[8]int32)(x[at:])
			sum := v[0]*f[0] + v[1]*f[1] + v[2]*f[2] + v[3]*f[3] + v[4]*f[4] + v[5]*f[5] + v[6]*f[6] + v[7]*f[7]
			dst[i] = int16(clip16(round(sum, 15)))
			at += step
		}
	}
}

// kernels are the filters for each twelfth of a sample, in Q15: halves that are each
// other's mirror image (resampler_rom.c, silk_resampler_frac_FIR_12).
var kernels = func() (k [12][8]int32) {
	half := [12][4]int32{
		{189, -600, 617, 30567}, {117, -159, -1070, 29704}, {52, 221, -2392, 28276}, {-4, 529, -3350, 26341},
		{-48, 758, -3956, 23973}, {-80, 905, -4235, 21254}, {-99, 972, -4222, 18278}, {-107, 967, -3957, 15143},
		{-103, 896, -3487, 11950}, {-91, 773, -2865, 8798}, {-71, 611, -2143, 5784}, {-46, 425, -1375, 2996},
	}
	for i := range k {
		for j, v := range half[i] {
			k[i][j] = v
			k[11-i][7-j] = v
		}
	}
	return k
}()
