package sim

// Device is what batches take, in seconds.
type Device struct {
	Fixed, PerWindow float64

	// SameCost has a window of a recording cost what it costs alone, in whatever batch it runs.
	SameCost bool
}

// L4 is one NVIDIA L4 with Whisper large-v3-turbo. The figures are fitted to what was published of it: with them the
// lanes come out as measured there (see Published in the tests).
var L4 = Device{Fixed: 0.60, PerWindow: 0.021}

// parakeet is the same card with Parakeet-TDT, on clips of about 8 s. Two figures were published, 66 seconds of audio a
// second in batches of two clips and 158 in turns of sixteen; they give these two numbers.
var parakeet = Device{Fixed: 0.188, PerWindow: 0.0272}

// window is what a request hands to the device.
type window struct {
	audio float64 // seconds
	alone float64 // seconds that it takes outside a batch; 0 for one that only batches tell
}

// takes returns how long a batch takes. Windows with a time of their own are run one after the other; the others share
// their steps, or one step of their own if there are no such windows.
func (d Device) takes(batch []*window) float64 {
	seconds, shared := 0.0, 0
	for _, w := range batch {
		seconds += w.alone
		if w.alone == 0 {
			shared++
		}
	}
	if shared == len(batch) {
		seconds = d.Fixed
	}
	return seconds + d.PerWindow*float64(shared)
}
