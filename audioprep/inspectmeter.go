package audioprep

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// What the meter calls a fault. Speech of the test corpus lies well within: means up to 0.7 % of full scale,
// not one run at full scale, -36 to -15 LUFS.
const (
	// atFullScale is from where on a sample is at full scale: 16 bits reach 0.99997, and encoders that
	// lose a little come close again. A run of clippedRun such samples is no peak but a cut.
	atFullScale = 0.999
	clippedRun  = 3
	// clippedShare is the part of all samples from which on clipping can be heard.
	clippedShare = 1e-4
	// offCentre is the mean from which on a DC offset is named, of full scale.
	offCentre = 0.02
	// quietLUFS is where speech begins to drown in the noise of 16 bits and of codecs.
	quietLUFS = -50
	// antiPhase is the correlation of two channels below which their mean is next to nothing.
	antiPhase = -0.9
)

// silentPeak is half a bit of 16, as in the speech finder's silenceDB.
var silentPeak = float32(math.Pow(10, silenceDB/20.))

// meter looks at the samples of an upload on their way to the sink, as they were recorded: every channel at
// the upload's rate.
type meter struct {
	loud     *loudness
	steps    []float64 // of forms that have ended
	channels []channelMeter
	cross    float64 // sum of products of the first two channels
	mixed    int     // channels of the form now
}

// channelMeter is what is known of one channel.
type channelMeter struct {
	frames int64
	sum    float64
	energy float64
	peak   float32
	run    int   // samples at full scale up to now
	cut    int64 // samples in runs of clippedRun and more
	places int64 // such runs
}

// open sets the form of the blocks to come.
func (m *meter) open(rate, channels int) {
	if m.loud != nil {
		m.steps = append(m.steps, m.loud.steps...)
	}
	m.loud = newLoudness(channels, rate)
	m.mixed = channels
	for len(m.channels) < channels {
		m.channels = append(m.channels, channelMeter{})
	}
}

// write takes whole sample frames, each sample in [-1, 1], and does not change them.
func (m *meter) write(block []float32) {
	if len(block) == 0 {
		return
	}
	m.loud.write(block)
	for c := range m.mixed {
		m.channels[c].write(block[c:], m.mixed)
	}
	if m.mixed == 2 {
		for i := 0; i+1 < len(block); i += 2 {
			m.cross += float64(block[i]) * float64(block[i+1])
		}
	}
}

func (c *channelMeter) write(x []float32, stride int) {
	for i := 0; i < len(x); i += stride {
		v := x[i]
		c.frames++
		c.sum += float64(v)
		c.energy += float64(v) * float64(v)
		size := max(v, -v)
		c.peak = max(c.peak, size)
		if size < atFullScale {
			c.run = 0
			continue
		}
		switch c.run++; {
		case c.run == clippedRun:
			c.cut += clippedRun
			c.places++
		case c.run > clippedRun:
			c.cut++
		}
	}
}

// lufs is the integrated loudness; NaN where there is none.
func (m *meter) lufs() float64 {
	if m.loud == nil {
		return math.NaN()
	}
	return integrated(append(m.steps, m.loud.steps...))
}

// peak is the largest sample of all channels.
func (m *meter) peak() float32 {
	peak := float32(0)
	for _, c := range m.channels {
		peak = max(peak, c.peak)
	}
	return peak
}

// faults tells what is wrong with the sound, each beginning with a word of its own: silent, quiet, clipped, dc offset,
// silent channel, anti-phase.
func (m *meter) faults() []string {
	if m.loud == nil {
		return nil
	}
	if m.peak() < silentPeak {
		return []string{fmt.Sprintf("silent: no sample is above %d dBFS", silenceDB)}
	}
	var faults []string
	switch l, peak := m.lufs(), 20*math.Log10(float64(m.peak())); {
	case l < quietLUFS:
		faults = append(faults, fmt.Sprintf("quiet: %.0f LUFS, speech is mostly at -36 to -15", l))
	case math.IsNaN(l) && peak < quietLUFS: // too short or too quiet to have a loudness
		faults = append(faults, fmt.Sprintf("quiet: no sample is above %.0f dBFS", peak))
	}
	frames, cut, places, mean := int64(0), int64(0), int64(0), 0.0
	for _, c := range m.channels {
		frames, cut, places = frames+c.frames, cut+c.cut, places+c.places
		if v := c.sum / float64(max(1, c.frames)); math.Abs(v) > math.Abs(mean) {
			mean = v
		}
	}
	if float64(cut) >= clippedShare*float64(frames) && cut > 0 {
		faults = append(faults, fmt.Sprintf("clipped: %d samples in %d places are cut off at full scale, %.2g%% of all",
			cut, places, 100*float64(cut)/float64(frames)))
	}
	if math.Abs(mean) >= offCentre {
		faults = append(faults, fmt.Sprintf("dc offset: the samples lie %.0f%% of full scale off the middle", 100*mean))
	}
	return append(faults, m.channelFaults()...)
}

func (m *meter) channelFaults() []string {
	var faults, silent []string
	for i, c := range m.channels {
		if c.peak < silentPeak {
			silent = append(silent, strconv.Itoa(i+1))
		}
	}
	if len(silent) > 0 {
		faults = append(faults, fmt.Sprintf("silent channel: of %d channels, nothing is on %s", len(m.channels),
			strings.Join(silent, ", ")))
	}
	if len(m.channels) == 2 {
		a, b := m.channels[0], m.channels[1]
		if both := math.Sqrt(a.energy * b.energy); both > 0 && m.cross < antiPhase*both {
			faults = append(faults, "anti-phase: one channel is the other upside down, so the louder one is taken alone")
		}
	}
	return faults
}
