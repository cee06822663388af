package engine

import "errors"

// LogMelDevice is a device that makes log-mel spectrograms itself. It's no part of [Device], since a device
// that shares processors and memory with the host gains nothing by it: beside such a one the models' front
// ends compute ([Mel] and Parakeet's own), as they do where a device can't. A GPU spares the host 10 ms a
// window, on the way of every batch to it.
//
// Values are those of the front ends but for the rounding of single precision.
type LogMelDevice interface {
	// NewLogMel prepares a front end. The error wraps [errors.ErrUnsupported] where the
	// device has no transform of the spec's size.
	NewLogMel(spec LogMelSpec) (LogMel, error)
	// LogMel writes what is wanted of some sounds to dst [sum of their rows][bins], one after
	// another. The samples are read before it returns.
	LogMel(dst Tensor, sounds []Sound, m LogMel)
	// LogMelPeak returns the [Sound.Peak] of a whole sound, of any length. It waits.
	LogMelPeak(samples []float32, m LogMel) (float32, error)
}

// LogMel is a front end that a [LogMelDevice] has prepared.
type LogMel interface{ Bins() int }

// LogMelSpec says how samples become a spectrogram. Frame t is of the FFT samples from t*Hop - FFT/2 on, under
// the analysis window; the powers of their Fourier transform are weighed by the filters, and a bin's value is
// the logarithm of max(power, Least) + Guard.
type LogMelSpec struct {
	Bins, FFT, Hop int
	Window         []float32 // [FFT]
	Filters        []float32 // [Bins][FFT/2+1]
	// Preemphasis is how much of the sample before it is taken from each.
	Preemphasis float32
	// Mirrored has the sound begin with its own mirror image, the first sample not repeated. Else
	// it begins with zeros. It ends with them.
	Mirrored     bool
	Least, Guard float32
	// Range, if above zero, is how far below the sound's peak values are cut off, in powers of ten. The logarithm
	// x to base 10 then becomes x/4 + 1, as Whisper wants it. With a Range of zero every bin is brought to mean 0
	// and deviation 1 over the frames that are wanted, as NeMo does it (normalize_batch, "per_feature");
	// Deviation is added to the deviation first.
	Range, Deviation float32
}

// Sound is samples, of which a device is to make a spectrogram, or some of it.
type Sound struct {
	// Samples is all of the sound, from its first sample to its last.
	Samples []float32
	// From is the first frame that is wanted, Frames how many are. Frames behind the sound are silence.
	From, Frames int
	// Rows is how many rows they get: Frames or more, the others being zero, which is not the value of silence.
	Rows int
	// Peak is max(power, Least) + Guard where that is greatest in the whole sound; zero has the device find it, for
	// which it transforms the whole sound. Only a spec with a Range asks for it.
	Peak float32
}

// FrontEnd is a front end on the device that computes it.
type FrontEnd struct {
	device LogMelDevice
	logMel LogMel
}

// OpenFrontEnd prepares a front end on a device. It returns nil where the device can't compute it, and the host has to.
func OpenFrontEnd(dev Device, spec LogMelSpec) (*FrontEnd, error) {
	device, ok := DeviceAs[LogMelDevice](dev)
	if !ok {
		return nil, nil
	}
	m, err := device.NewLogMel(spec)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &FrontEnd{device, m}, nil
}

// LogMel is [LogMelDevice.LogMel].
func (f *FrontEnd) LogMel(dst Tensor, sounds []Sound) { f.device.LogMel(dst, sounds, f.logMel) }

// Peak is [LogMelDevice.LogMelPeak].
func (f *FrontEnd) Peak(samples []float32) (float32, error) {
	return f.device.LogMelPeak(samples, f.logMel)
}
