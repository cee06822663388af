package whisper

import (
	"fmt"
	"path/filepath"

	"hark/engine"
	"hark/models"
)

const (
	// maxBatch is how many windows one batch may hold.
	maxBatch = 12
	// cacheSlots is how many hypotheses may be alive at once; windows whose beams don't fit wait for a place.
	cacheSlots = 24
	// logitRows is how many rows get logits at once: one for each hypothesis.
	logitRows = cacheSlots
	// budgetMillis is the audio that one batch may hold.
	budgetMillis = 720_000
)

// Model is a Whisper on a device. See [engine.Model].
type Model struct {
	info       engine.ModelInfo
	config     Config
	dev        engine.Device
	ahead      engine.AheadDevice // nil where the device waits for the host at each token
	vocabulary *vocabulary
	rules      *ruleset
	mel        *engine.Mel
	onDevice   *engine.FrontEnd // what makes log-mel in the place of mel; nil: nothing does
	enc        *encoder
	dec        *decoder
	melScratch []float32 // one window, [3000][mels]

	patience     int // how much is spent on a window until it leaves its batch, in tokens; 0: no end
	shortContext bool
	speech       []float32 // to learn the rest of windows from
	knowsRest    bool
}

// Settings are what a model can be loaded with beside its weights. The zero value decodes as the reference
// implementation does.
type Settings struct {
	// ShortContext lets the encoder see only some of the padding of a window under 30 s. It's much faster for short
	// clips, and a few words come out otherwise.
	ShortContext bool
	// Speech is 5 s of anybody's speech, 16 kHz, from which the model learns what short contexts need. Without it there
	// are none, nor for drafts.
	Speech []float32
}

// Load reads a model's folder, in Hugging Face's or CTranslate2's form, and puts its weights
// on the device. name is what the model is to be called. The folder's files are not needed afterwards.
func Load(dev engine.Device, dir, name string, s Settings) (*Model, error) {
	// The tokenizer is read beside the weights: it takes half as long as they do.
	reading := make(chan struct{})
	var tokenizer *models.Tokenizer
	var failed error
	go func() {
		defer close(reading)
		tokenizer, failed = models.LoadTokenizer(filepath.Join(dir, "tokenizer.json"))
	}()
	m, err := load(dev, dir, name, func() (*models.Tokenizer, error) {
		<-reading
		return tokenizer, failed
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	m.shortContext, m.speech = s.ShortContext, s.Speech
	return m, nil
}

// load is Load with a way to get the tokenizer, which may be nil, and a chance to change the config.
func load(dev engine.Device, dir, name string, tokenizer func() (*models.Tokenizer, error),
	change func(*Config)) (*Model, error) {
	weights, err := models.OpenWeights(dir)
	if err != nil {
		return nil, err
	}
	defer weights.Close()
	config, err := readConfig(dir, weights)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change(&config)
	}
	m := &Model{config: config, dev: dev, melScratch: make([]float32, framesPerWindow*config.Mels),
		mel: engine.NewMel(config.Mels), patience: patience}
	m.ahead, _ = engine.DeviceAs[engine.AheadDevice](dev)
	l := &loader{dev: dev, weights: weights, ct2: weights.Format() == "ctranslate2"}
	m.enc = loadEncoder(l, config)
	m.dec = loadDecoder(l, config, cacheSlots, maxBatch, logitRows)
	if l.err == nil {
		l.err = m.learnWords(tokenizer)
	}
	if l.err == nil {
		m.onDevice, l.err = engine.OpenFrontEnd(dev, m.mel.Spec())
	}
	if l.err == nil {
		l.err = dev.Sync() // what is made once must have been made
	}
	if l.err != nil {
		m.Close()
		return nil, l.err
	}
	m.info = engine.ModelInfo{
		Name: name, Family: "whisper", Device: dev.Info().Kind,
		Languages: m.vocabulary.languages, Translates: m.vocabulary.multilingual, Prompts: true, WordTimes: true,
		MaxWindowSamples: framesPerWindow * hopSamples, MaxBatch: maxBatch, BudgetMillis: budgetMillis,
		WeightBytes: l.bytes,
	}
	return m, nil
}

// learnWords makes what depends on the tokenizer.
func (m *Model) learnWords(tokenizer func() (*models.Tokenizer, error)) error {
	t, err := tokenizer()
	if err != nil {
		return err
	}
	if m.vocabulary, err = newVocabulary(m.config, t); err != nil {
		return err
	}
	m.rules, err = newRuleset(m.dev, m.vocabulary)
	return err
}

// Info implements [engine.Model].
func (m *Model) Info() engine.ModelInfo { return m.info }

// shrink gives back what has grown, after a batch that there was no room for.
func (m *Model) shrink() {
	_ = m.dev.Sync() // a device that is lost says so again
	m.dec.freeProbs()
}

// Close implements [engine.Model].
func (m *Model) Close() error {
	if m.enc != nil {
		m.free(m.enc.buffers)
	}
	if m.dec != nil {
		m.free(m.dec.buffers)
		m.dec.freeProbs()
	}
	m.enc, m.dec = nil, nil
	return nil
}

func (m *Model) free(buffers []engine.Buffer) {
	for _, b := range buffers {
		m.dev.Free(b)
	}
}
