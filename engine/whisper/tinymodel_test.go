package whisper

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hark/engine"
)

// writeTinyModel writes a Whisper of width 64 with random weights from a fixed seed, in Hugging Face's form, so
// that the whole path runs where no real weights are.
func writeTinyModel(t testing.TB, dir string) { writeShortModel(t, dir, 448) }

// writeShortModel is writeTinyModel with room for so many tokens, of which texts are half.
func writeShortModel(t testing.TB, dir string, textContext int) {
	t.Helper()
	writeRandomModel(t, dir, textContext, englishVocabulary)
}

// writeRandomModel is writeShortModel with so many ids.
func writeRandomModel(t testing.TB, dir string, textContext, vocabulary int) {
	t.Helper()
	const d = 64
	random := rand.New(rand.NewPCG(1, 2))
	tensors := map[string][]int{
		"model.encoder.conv1.weight": {d, 80, 3}, "model.encoder.conv1.bias": {d},
		"model.encoder.conv2.weight": {d, d, 3}, "model.encoder.conv2.bias": {d},
		"model.encoder.embed_positions.weight": {1500, d},
		"model.encoder.layer_norm.weight":      {d}, "model.encoder.layer_norm.bias": {d},
		"model.decoder.embed_tokens.weight":    {vocabulary, d},
		"model.decoder.embed_positions.weight": {textContext, d},
		"model.decoder.layer_norm.weight":      {d}, "model.decoder.layer_norm.bias": {d},
	}
	for _, side := range []string{"encoder", "decoder"} {
		for layer := range 2 {
			at := fmt.Sprintf("model.%s.layers.%d.", side, layer)
			attentions := []string{"self_attn"}
			if side == "decoder" {
				attentions = append(attentions, "encoder_attn")
			}
			for _, a := range attentions {
				for _, p := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
					tensors[at+a+"."+p+".weight"] = []int{d, d}
					if p != "k_proj" {
						tensors[at+a+"."+p+".bias"] = []int{d}
					}
				}
				tensors[at+a+"_layer_norm.weight"], tensors[at+a+"_layer_norm.bias"] = []int{d}, []int{d}
			}
			tensors[at+"fc1.weight"], tensors[at+"fc1.bias"] = []int{4 * d, d}, []int{4 * d}
			tensors[at+"fc2.weight"], tensors[at+"fc2.bias"] = []int{d, 4 * d}, []int{d}
			tensors[at+"final_layer_norm.weight"], tensors[at+"final_layer_norm.bias"] = []int{d}, []int{d}
		}
	}
	names := make([]string, 0, len(tensors))
	for name := range tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	header := map[string]any{}
	var data []byte
	for _, name := range names {
		n := 1
		for _, x := range tensors[name] {
			n *= x
		}
		start := len(data)
		for range n {
			x := float32(random.NormFloat64()) * 0.2
			if strings.Contains(name, "layer_norm.weight") {
				x = 1
			}
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": tensors[name], "data_offsets": []int{start, len(data)}}
	}
	h, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(h)))
	file = append(append(file, h...), data...)
	write(t, dir, "model.safetensors", file)
	write(t, dir, "config.json", fmt.Appendf(nil, `{"model_type":"whisper","d_model":64,"num_mel_bins":80,"encoder_layers":2,"encoder_attention_heads":1,
		"decoder_layers":2,"decoder_attention_heads":1,"max_source_positions":1500,"max_target_positions":%d,"vocab_size":%d}`, textContext, vocabulary))
	write(t, dir, "generation_config.json", []byte(`{"alignment_heads":[[1,0]],"suppress_tokens":[1,2],"begin_suppress_tokens":[220,50256]}`))
	tokenizer, err := json.Marshal(map[string]any{
		"model":        map[string]any{"type": "BPE", "vocab": byteAlphabet(), "merges": []string{}},
		"added_tokens": []map[string]any{{"id": 50256, "content": "<|endoftext|>", "special": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "tokenizer.json", tokenizer)
}

// byteAlphabet is a vocabulary of the single bytes in GPT-2's spelling (printable ones stand for themselves, the
// others are the characters from U+0100 on) and of a word for every other id.
func byteAlphabet() map[string]int {
	vocab := map[string]int{}
	other := 0
	for b := range 256 {
		r := rune(b)
		if b < 33 || b > 126 && b < 161 || b == 173 {
			r = rune(256 + other)
			other++
		}
		vocab[string(r)] = b
	}
	for id := 256; id < 50256; id++ { // filler, so that every id has a text
		vocab[fmt.Sprintf("Ġt%d", id)] = id
	}
	return vocab
}

func write(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

var tiny = struct {
	sync.Mutex
	m *Model
}{}

func tinyModel(t testing.TB) *Model {
	t.Helper()
	tiny.Lock()
	defer tiny.Unlock()
	if tiny.m == nil {
		dir := t.TempDir()
		writeTinyModel(t, dir)
		dev, err := testDevice()
		if err != nil {
			t.Fatal(err)
		}
		if tiny.m, err = Load(dev, dir, "tiny-random", Settings{Speech: noise(5*engine.SampleRate, 5)}); err != nil {
			t.Fatal(err)
		}
	}
	return tiny.m
}

// patient is a model whose windows stay in their batch to their end.
func patient(m *Model) *Model {
	own := *m
	own.patience = 0
	return &own
}

func noise(n int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 7))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(random.NormFloat64()) * 0.1
	}
	return x
}

// TestTinyModelBatches runs jobs of every kind together, more hypotheses than there
// are places, and holds each to its lone run.
func TestTinyModelBatches(t *testing.T) {
	m := tinyModel(t)
	var jobs []engine.Job
	var alone []string
	var batch []engine.Window
	for i := range 14 {
		o := engine.Options{WordTimestamps: i%2 == 0, BeamSize: []int{0, 5, 1, 8}[i%4], Temperatures: []float32{0}}
		if i == 3 {
			o.Temperatures = nil // random text is never sound: the whole ladder
		}
		if i == 5 {
			o.Prompt = strings.Repeat("a long prompt ", 40)
		}
		samples := noise(16000*(1+i), uint64(i))
		alone = append(alone, toJSON(t, transcribe(t, m, samples, whole(samples), o)))
		j, err := m.NewJob(samples, whole(samples), o)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
		batch = append(batch, j.Next(1)...)
	}
	for i, err := range runAll(context.Background(), m, batch) {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	said := 0
	for i, j := range jobs {
		got := toJSON(t, j.Result())
		if got != alone[i] {
			t.Errorf("job %d:\nin a batch %.300s\nalone      %.300s", i, got, alone[i])
		}
		said += len(j.Result().Segments)
		if done, total := j.Progress(); done != total {
			t.Errorf("job %d: progress %d of %d at its end", i, done, total)
		}
	}
	if said == 0 {
		t.Error("no job said anything: the test compares nothing")
	}
}

func TestTinyModelChains(t *testing.T) {
	m := tinyModel(t)
	samples := noise(16000*70, 1)
	r := transcribe(t, m, samples, whole(samples), engine.Options{Sequential: true, Temperatures: []float32{0}})
	last := 0
	for _, s := range r.Segments {
		if s.Seek < last {
			t.Errorf("seek goes back from %d to %d", last, s.Seek)
		}
		last = s.Seek
	}
	if last == 0 {
		t.Error("a chain of 70 s never moved on")
	}
}

func TestForeignWindow(t *testing.T) {
	m := tinyModel(t)
	if err := runAll(context.Background(), m, []engine.Window{foreignWindow{}})[0]; err == nil {
		t.Error("a window of another model: no error")
	}
}

type foreignWindow struct{}

func (foreignWindow) Samples() int { return 1 }
func (foreignWindow) Drop()        {}

func TestLoadRefusesBadFolders(t *testing.T) {
	dev, err := testDevice()
	if err != nil {
		t.Fatal(err)
	}
	change := func(file, from, to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(b), from) {
				t.Fatalf("%s does not contain %q", file, from)
			}
			write(t, dir, file, []byte(strings.Replace(string(b), from, to, 1)))
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string
	}{
		{"no weights", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "model.safetensors")) }, "model"},
		{"no tokenizer", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "tokenizer.json")) }, "tokenizer.json"},
		{"no config", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "config.json")) }, "config.json"},
		{"other family", change("config.json", `"whisper"`, `"bert"`), "bert"},
		{"wrong width", change("config.json", `"d_model":64`, `"d_model":128`), "shape"},
		{"too many layers", change("config.json", `"decoder_layers":2`, `"decoder_layers":3`), "layers.2"},
		{"absurd width", change("config.json", `"d_model":64`, `"d_model":99999999`), "width"},
		{"no heads", change("config.json", `"decoder_attention_heads":1`, `"decoder_attention_heads":0`), "heads"},
		{"odd vocabulary", change("config.json", `51864`, `51870`), "51870"},
		{"head outside", change("generation_config.json", `[[1,0]]`, `[[7,0]]`), "alignment head"},
		{"suppressed outside", change("generation_config.json", `[1,2]`, `[1,99999]`), "99999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTinyModel(t, dir)
			c.spoil(t, dir)
			m, err := Load(dev, dir, "spoiled", Settings{})
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "spoiled") {
				t.Errorf("got %q, want it to name the model and %q", err, c.want)
			}
		})
	}
}

func TestRunOnClosedDeviceIsAnError(t *testing.T) {
	m := tinyModel(t)
	failing := *m
	failing.dev = failingDevice{m.dev}
	dec := *m.dec
	dec.dev = failing.dev
	failing.dec = &dec
	samples := noise(16000, 3)
	j, err := failing.NewJob(samples, whole(samples), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := runAll(context.Background(), &failing, j.Next(1))[0]; !errors.Is(err, errDevice) {
		t.Errorf("got %v, want the device's error", err)
	}
}

var errDevice = errors.New("the device has gone")

type failingDevice struct{ engine.Device }

func (failingDevice) Select(engine.Tensor, []engine.Rule, int) ([]engine.Choice, error) {
	return nil, errDevice
}
