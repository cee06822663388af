package parakeet

import (
	"errors"
	"fmt"
	"unicode"

	"hark/engine"
	"hark/models"
)

const (
	// DefaultWindowSamples is the longest window unless a [Config] says otherwise: 30 s.
	// Attention's work grows with its square.
	DefaultWindowSamples = 30 * engine.SampleRate
	// MaxWindowSamples is the longest window that a [Config] may ask for: 300 s.
	MaxWindowSamples = 300 * engine.SampleRate
	// MinWindowSamples is the shortest: what audioprep can cut to.
	MinWindowSamples = 3 * engine.SampleRate
	// DefaultBatch is how many windows one batch may hold unless a [Config] says otherwise.
	DefaultBatch = 12
	// budgetMillis is the audio that one batch may hold.
	budgetMillis = 720_000
	// minSamples is what a shorter window is padded to, half on each side: 1 s, as NeMo's transcribe() does it, since
	// these models hear nothing in a single word without some silence around it.
	minSamples = engine.SampleRate
)

// Config says how a model is to be used. The zero value is ready to use.
type Config struct {
	// MaxWindowSamples is the longest window, from MinWindowSamples to MaxWindowSamples; 0 means DefaultWindowSamples.
	MaxWindowSamples int
	// MaxBatch is the most windows in a batch; 0 means DefaultBatch.
	MaxBatch int
}

// Model is a Parakeet-TDT on a device. See [engine.Model].
type Model struct {
	info       engine.ModelInfo
	config     models.ParakeetConfig
	dev        engine.Device
	pieces     pieces
	front      *frontEnd
	enc        *encoder
	dec        *decoder
	ahead      engine.TransducerDevice // nil where the device waits for the host at each question
	minSamples int                     // shorter windows are padded

	maxFrames  int           // of a window
	placeSlots int           // of the decoder, for each window
	frames     engine.Tensor // [MaxBatch*maxFrames][J], what the joint network reads of each place's window
	staging    growing       // frames of a group, as they leave the encoder
}

// Load reads a model, a NeMo archive or a folder as transformers writes it, and puts its weights on the device. name is
// what the model is to be called. The files are not needed afterwards.
func Load(dev engine.Device, path, name string, c Config) (*Model, error) {
	files, err := models.OpenParakeet(path)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	m, err := load(dev, files.Config, files, files.Tokenizer, c)
	if err = errors.Join(err, files.Close()); err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	m.info.Name = name
	m.info.Languages = []string{"en"}
	if isMultilingual(files.Tokenizer) {
		m.info.Languages = europeanLanguages
	}
	return m, nil
}

// load puts the weights of a model on the device.
func load(dev engine.Device, config models.ParakeetConfig, weights source, v pieces, c Config) (*Model, error) {
	if c.MaxWindowSamples == 0 {
		c.MaxWindowSamples = DefaultWindowSamples
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = DefaultBatch
	}
	if c.MaxWindowSamples < MinWindowSamples || c.MaxWindowSamples > MaxWindowSamples || c.MaxBatch < 1 {
		return nil, fmt.Errorf("windows of %d samples in batches of %d: want %d to %d samples and 1 window or more",
			c.MaxWindowSamples, c.MaxBatch, MinWindowSamples, MaxWindowSamples)
	}
	m := &Model{config: config, dev: dev, pieces: v, minSamples: minSamples, staging: growing{dev: dev}}
	var err error
	if m.front, err = newFrontEnd(config, weights); err != nil {
		return nil, err
	}
	l := &loader{dev: dev, weights: weights}
	m.enc = loadEncoder(l, config)
	m.enc.front = m.front
	m.maxFrames = m.enc.frames(m.front.frames(c.MaxWindowSamples))
	m.placeSlots = beamSlots(config.Durations, maxBeam)
	m.dec = loadDecoder(l, config, c.MaxBatch*m.placeSlots, c.MaxBatch*maxBeam)
	m.ahead, _ = engine.DeviceAs[engine.TransducerDevice](dev)
	m.frames = m.dec.alloc(l, c.MaxBatch*m.maxFrames, config.JointWidth)
	if l.err == nil {
		m.front.onDevice, l.err = engine.OpenFrontEnd(dev, m.front.spec)
	}
	if l.err == nil {
		l.err = dev.Sync() // what is made once must have been made
	}
	if l.err != nil {
		return nil, errors.Join(l.err, m.Close())
	}
	m.info = engine.ModelInfo{
		Family: "parakeet", Device: dev.Info().Kind, WordTimes: true,
		MaxWindowSamples: c.MaxWindowSamples, MaxBatch: c.MaxBatch, BudgetMillis: budgetMillis, WeightBytes: l.bytes,
	}
	return m, nil
}

// europeanLanguages are those of parakeet-tdt-0.6b-v3 (its model card).
var europeanLanguages = []string{
	"bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "hr", "hu", "it", "lt", "lv",
	"mt", "nl", "pl", "pt", "ro",
	"ru", "sk", "sl", "sv", "uk",
}

// isMultilingual reports whether a vocabulary is that of the European languages. No file of a model says which ones it
// knows; but an English vocabulary has no Greek letters.
func isMultilingual(v *models.PieceTokenizer) bool {
	for id := range int32(v.Len()) {
		for _, r := range v.Piece(id) {
			if unicode.Is(unicode.Greek, r) {
				return true
			}
		}
	}
	return false
}

// Info implements [engine.Model].
func (m *Model) Info() engine.ModelInfo { return m.info }

// sound is what the encoder is given of a window.
func (m *Model) sound(w *window) sound {
	samples := w.samples
	if short := m.minSamples - len(samples); short > 0 {
		samples = make([]float32, m.minSamples)
		copy(samples[w.padding:], w.samples)
	}
	return m.front.sound(samples)
}

// shrink gives back what has grown, after a batch that there was no room for, so that a smaller one finds all of it.
func (m *Model) shrink() {
	_ = m.dev.Sync() // a device that is lost says so again
	m.enc.shrink()
	m.staging.close()
}

// Close implements [engine.Model].
func (m *Model) Close() error {
	m.enc.close()
	m.dec.close()
	m.staging.close()
	return nil
}
