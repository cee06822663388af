package audioprep

import (
	"context"
	"errors"
	"io"
	"math"
)

// Inspection is what can be said of an upload before a model hears it. Where nothing can be heard, it is what had been
// found until then, and the rest is zero.
type Inspection struct {
	Info
	// Bytes is the size of the upload.
	Bytes int64
	// Loudness is integrated over the whole upload, in LUFS (ITU-R BS.1770-4). NaN where it is shorter than
	// 0.4 s or never above -70 LUFS.
	Loudness float64
	// Peak is the largest sample, in dBFS: 0 at full scale, -Inf for digital silence, NaN without samples.
	Peak float64
	// Samples is how long it is at 16 kHz.
	Samples int
	// Speech is the part of the upload, 0 to 1, where the finder marks speech: pauses between words don't count.
	Speech float64
	// Windows are what the model will be given, and CostSamples how long they are together, at 16 kHz.
	Windows     []Window
	CostSamples int
}

// Label is what is said of an upload from outside. Decode never looks at it; Inspect compares.
type Label struct {
	Name string // of the file, or ""
	Type string // media type, or ""
}

// Inspect decodes an upload as Decode does and says what is to be found in it. maxSamples is as for Windows. What is
// wrong with the sound and with the label joins what Decode found in Faults.
//
// The Inspection is never nil. Errors are those of Decode; with a *DecodeError, the Inspection holds what is known.
func Inspect(ctx context.Context, r io.ReadSeeker, opt Options, label Label, maxSamples int) (*Inspection, error) {
	i := &Inspection{Loudness: math.NaN(), Peak: math.NaN()}
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return i, err
	}
	i.Bytes = size
	opt.meter = &meter{}
	pcm, err := Decode(ctx, r, opt)
	if err != nil {
		var found *DecodeError
		if errors.As(err, &found) {
			i.Info = found.Info
			i.Label(label)
		}
		return i, err
	}
	defer pcm.Close()
	i.Info, i.Samples = pcm.Info, len(pcm.Samples)
	i.Loudness = opt.meter.lufs()
	i.Peak = 20 * math.Log10(float64(opt.meter.peak()))
	i.Faults = append(i.Faults, opt.meter.faults()...)
	i.Label(label)
	return i, i.listen(ctx, pcm, maxSamples)
}

// Label compares what is said of the upload with what it is, and adds a fault where they disagree.
func (i *Inspection) Label(l Label) {
	if i.Bytes == 0 {
		return
	}
	if fault := Mislabelled(l.Name, l.Type, i.Container); fault != "" {
		i.Faults = append(i.Faults, fault)
	}
}

// listen looks for speech.
func (i *Inspection) listen(ctx context.Context, pcm *PCM, maxSamples int) error {
	heard, all := 0, 0
	for c, samples := range pcm.Channels {
		l, err := listen(ctx, samples, maxSamples, pcm.kept[c].passed)
		if err != nil {
			return err
		}
		heard += l.heard
		all += l.next
		for _, w := range l.windows {
			i.Windows = append(i.Windows, w)
			i.CostSamples += w.End - w.Start
		}
	}
	i.Speech = float64(heard) / float64(max(1, all))
	return nil
}
