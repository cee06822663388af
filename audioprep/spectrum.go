package audioprep

import "math"

// The speech finder looks at the spectrum every 10 ms, over 32 ms, between
// 150 Hz and 4 kHz: below is hum and rumble, above is little that tells speech
// from noise.
const (
	specSize = 512 // samples of one spectrum: 32 ms
	specHop  = SampleRate / 100
	specLow  = 5   // first bin, 156 Hz; a bin is 31.25 Hz
	specHigh = 128 // first bin beyond, 4 kHz
	specBins = specHigh - specLow
)

// spectrograph computes magnitude spectra of real signals: two halves of the
// signal as real and imaginary part of one complex transform of half the size.
type spectrograph struct {
	hann    [specSize]float32
	twiddle [specSize / 2]complex64 // e^(-2πik/specSize)
	reverse [specSize / 2]uint8
	z       [specSize / 2]complex64
}

func newSpectrograph() *spectrograph {
	s := new(spectrograph)
	for i := range s.hann {
		s.hann[i] = float32(0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/specSize))
	}
	for k := range s.twiddle {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / specSize)
		s.twiddle[k] = complex(float32(cos), float32(sin))
	}
	for i := range s.reverse {
		r := 0
		for b := 1; b < specSize/2; b <<= 1 {
			r <<= 1
			if i&b != 0 {
				r |= 1
			}
		}
		s.reverse[i] = uint8(r)
	}
	return s
}

// magnitudes fills mag with the magnitudes of bins specLow to specHigh of the
// spectrum that starts at x[0], zeros following x, and returns their energy as
// the mean square of the signal in that band.
func (s *spectrograph) magnitudes(mag *[specBins]float32, x []float32) float64 {
	at := func(i int) float32 {
		if i < len(x) {
			return x[i] * s.hann[i]
		}
		return 0
	}
	if len(x) >= specSize {
		x = x[:specSize]
		for i := range s.z {
			s.z[s.reverse[i]] = complex(x[2*i]*s.hann[2*i], x[2*i+1]*s.hann[2*i+1])
		}
	} else {
		for i := range s.z {
			s.z[s.reverse[i]] = complex(at(2*i), at(2*i+1))
		}
	}
	s.transform()
	const half = specSize / 2
	energy := 0.0
	for k := specLow; k < specHigh; k++ {
		// Take apart the transforms of the even and the odd samples.
		a, b := s.z[k], s.z[half-k]
		b = complex(real(b), -imag(b))
		even, odd := halved(a+b), halved(a-b)
		odd = complex(imag(odd), -real(odd)) * s.twiddle[k]
		v := even + odd
		p := real(v)*real(v) + imag(v)*imag(v)
		mag[k-specLow] = float32(math.Sqrt(float64(p)))
		energy += float64(p)
	}
	// Parseval, one side of the spectrum, mean square of the Hann window 3/8.
	return energy * 2 / (specSize * specSize * 0.375)
}

func halved(z complex64) complex64 { return complex(real(z)*0.5, imag(z)*0.5) }

// transform is the complex transform of z, which is in bit-reversed order before and in order after: two
// radix-2 passes in one, as they multiply by 1 and -i alone, then one after the other.
func (s *spectrograph) transform() {
	z := s.z[:]
	for i := 0; i < len(z); i += 4 {
		q := (*[4]complex64)(z[i:])
		a, b, c, d := q[0]+q[1], q[0]-q[1], q[2]+q[3], q[2]-q[3]
		d = complex(imag(d), -real(d))
		q[0], q[1], q[2], q[3] = a+c, b+d, a-c, b-d
	}
	for size := 8; size <= len(z); size *= 2 {
		half, step := size/2, specSize/size
		for i := 0; i < len(z); i += size {
			low, high := z[i:i+half], z[i+half:i+size]
			high = high[:len(low)]
			for j := range low {
				u, v := low[j], high[j]*s.twiddle[j*step]
				low[j], high[j] = u+v, u-v
			}
		}
	}
}
