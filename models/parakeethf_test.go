package models

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// hfParakeetDir is the small model in transformers' form.
func hfParakeetDir(t testing.TB) string {
	t.Helper()
	return filepath.Dir(sharedFile(t, "models/parakeet-tiny/hf/config.json"))
}

// hfConfigJSON is config.json of parakeet-tdt-0.6b-v3 as transformers writes it,
// without what matters in training alone.
const hfConfigJSON = `{"architectures": ["ParakeetForTDT"], "blank_token_id": 8192, "decoder_hidden_size": 640, "dtype": "float32",
"durations": [0, 1, 2, 3, 4], "encoder_config": {"attention_bias": false, "conv_kernel_size": 9, "convolution_bias": false,
"hidden_act": "silu", "hidden_size": 1024, "intermediate_size": 4096, "max_position_embeddings": 5000, "model_type": "parakeet_encoder",
"num_attention_heads": 8, "num_hidden_layers": 24, "num_key_value_heads": 8, "num_mel_bins": 128, "scale_input": false,
"subsampling_conv_channels": 256, "subsampling_conv_kernel_size": 3, "subsampling_conv_stride": 2, "subsampling_factor": 8},
"hidden_act": "relu", "is_encoder_decoder": true, "max_symbols_per_step": 10, "model_type": "parakeet_tdt", "num_decoder_layers": 2,
"pad_token_id": 2, "vocab_size": 8193}`

const hfProcessorJSON = `{"feature_extractor": {"feature_extractor_type": "ParakeetFeatureExtractor", "feature_size": 128, "hop_length": 160,
"n_fft": 512, "preemphasis": 0.97, "sampling_rate": 16000, "win_length": 400}, "processor_class": "ParakeetProcessor"}`

func TestHFConfig(t *testing.T) {
	want := published()["parakeet-tdt-0.6b-v3"].want
	dir := t.TempDir()
	write(t, dir, configFile, []byte(hfConfigJSON))
	if _, err := loadHFConfig(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no feature extractor: %v", err)
	}
	for _, c := range []struct{ file, content string }{
		{preprocessorFile, strings.TrimSuffix(strings.TrimPrefix(hfProcessorJSON, `{"feature_extractor": `), `, "processor_class": "ParakeetProcessor"}`)},
		{processorFile, hfProcessorJSON},
	} {
		write(t, dir, c.file, []byte(c.content))
		if got, err := loadHFConfig(dir); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("with %s: %+v, %v, want %+v", c.file, got, err, want)
		}
	}

	for name, c := range map[string]struct{ file, old, new, want string }{
		"not JSON":       {configFile, "{", "[", "invalid character"},
		"CTC":            {configFile, `"parakeet_tdt"`, `"parakeet_ctc"`, `model_type "parakeet_ctc": of the Parakeets only parakeet_tdt is run`},
		"blank":          {configFile, `"blank_token_id": 8192`, `"blank_token_id": 0`, "blank_token_id 0 is not the last"},
		"joint":          {configFile, `"relu"`, `"tanh"`, `hidden_act "tanh" of the joint network`},
		"activation":     {configFile, `"silu"`, `"gelu"`, `encoder_config.hidden_act "gelu"`},
		"shared keys":    {configFile, `"num_key_value_heads": 8`, `"num_key_value_heads": 2`, "8 heads share 2 keys"},
		"biases":         {configFile, `"attention_bias": false`, `"attention_bias": true`, "attention_bias and convolution_bias differ"},
		"kernel":         {configFile, `"subsampling_conv_kernel_size": 3`, `"subsampling_conv_kernel_size": 5`, "subsampling of kernel 5 and stride 2"},
		"stride":         {configFile, `"subsampling_conv_stride": 2`, `"subsampling_conv_stride": 1`, "subsampling of kernel 3 and stride 1"},
		"no layers":      {configFile, `"num_hidden_layers": 24`, `"num_hidden_layers": 0`, "layers: 0"},
		"no durations":   {configFile, `"durations": [0, 1, 2, 3, 4]`, `"durations": []`, "number of durations: 0"},
		"features":       {processorFile, `"feature_size": 128`, `"feature_size": 80`, "feature_size 80 is not the encoder's 128"},
		"no extractor":   {processorFile, `"feature_extractor"`, `"extractor"`, "has no feature_extractor"},
		"list":           {processorFile, "{", "[", "invalid character"},
		"extractor list": {processorFile, `"hop_length": 160`, `"hop_length": "x"`, "cannot unmarshal"},
		"no hop":         {processorFile, `"hop_length": 160`, `"hop_length": 0`, "hop: 0"},
	} {
		files := map[string]string{configFile: hfConfigJSON, processorFile: hfProcessorJSON}
		files[c.file] = strings.Replace(files[c.file], c.old, c.new, 1)
		for file, content := range files {
			write(t, dir, file, []byte(content))
		}
		_, err := loadHFConfig(dir)
		var format *FormatError
		if !errors.As(err, &format) || filepath.Dir(format.File) != dir || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want a *FormatError with %q", name, err, c.want)
		}
	}

	// What the file leaves out has the library's defaults.
	c, err := parseHFConfig([]byte(`{"model_type":"parakeet_tdt","vocab_size":9,"blank_token_id":8,"max_symbols_per_step":null}`))
	if err != nil || !c.Bias || !c.ScaleInput || c.MaxSymbols != 10 {
		t.Errorf("defaults: %+v, %v", c, err)
	}
}

func TestNemoNames(t *testing.T) {
	for hf, nemo := range map[string]string{
		"encoder.subsampling.layers.0.weight":                "encoder.pre_encode.conv.0.weight",
		"encoder.subsampling.linear.bias":                    "encoder.pre_encode.out.bias",
		"encoder.layers.23.self_attn.relative_k_proj.weight": "encoder.layers.23.self_attn.linear_pos.weight",
		"encoder.layers.0.self_attn.bias_u":                  "encoder.layers.0.self_attn.pos_bias_u",
		"encoder.layers.0.self_attn.q_proj.bias":             "encoder.layers.0.self_attn.linear_q.bias",
		"encoder.layers.1.conv.norm.running_mean":            "encoder.layers.1.conv.batch_norm.running_mean",
		"encoder.layers.1.norm_conv.weight":                  "encoder.layers.1.norm_conv.weight",
		"encoder.layers.1.feed_forward1.linear1.weight":      "encoder.layers.1.feed_forward1.linear1.weight",
		"decoder.embedding.weight":                           "decoder.prediction.embed.weight",
		"decoder.lstm.weight_ih_l0":                          "decoder.prediction.dec_rnn.lstm.weight_ih_l0",
		"decoder.decoder_projector.weight":                   "joint.pred.weight",
		"encoder_projector.bias":                             "joint.enc.bias",
		"joint.head.weight":                                  "joint.joint_net.2.weight",
		"ctc_head.weight":                                    "ctc_head.weight",
		"encoder.layers.x":                                   "encoder.layers.x",
	} {
		if got := nemoName(hf); got != nemo {
			t.Errorf("%s is %s, want %s", hf, got, nemo)
		}
	}
	w := &Weights{names: []string{"joint.enc.bias", "encoder_projector.bias"}, tensors: map[string]Tensor{"joint.enc.bias": {}, "encoder_projector.bias": {}}}
	if err := w.rename(nemoName); err == nil || !strings.Contains(err.Error(), "joint.enc.bias too") {
		t.Errorf("two tensors of a name: %v", err)
	}
}

// The small model again, its weights in two shards.
func TestHFShards(t *testing.T) {
	source, dir := hfParakeetDir(t), t.TempDir()
	for _, name := range []string{configFile, processorFile, tokenizerFile} {
		write(t, dir, name, readFile(t, filepath.Join(source, name)))
	}
	weights, err := OpenWeights(source)
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	shardOf := map[string]string{}
	for i, shard := range []string{"a.safetensors", "b.safetensors"} {
		header, body := map[string]any{}, []byte(nil)
		for j, name := range weights.Names() {
			if j%2 != i {
				continue
			}
			x, _ := weights.Tensor(name)
			header[name] = map[string]any{"dtype": x.DType.String(), "shape": x.Shape, "data_offsets": []int{len(body), len(body) + len(x.Data)}}
			body = append(body, x.Data...)
			shardOf[name] = shard
		}
		text, err := json.Marshal(header)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, shard, slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, body))
	}
	index, err := json.Marshal(map[string]any{"weight_map": shardOf})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, safetensorsIndex, index)
	mustEqualWeights(t, openParakeet(t, dir), openParakeet(t, source))
}

// mustEqualWeights compares all tensors of two open models.
func mustEqualWeights(t *testing.T, got, want *ParakeetModel) {
	t.Helper()
	if !slices.Equal(got.Names(), want.Names()) {
		t.Fatalf("names differ:\n%q\n%q", got.Names(), want.Names())
	}
	for _, name := range want.Names() {
		a, _ := got.Tensor(name)
		b, _ := want.Tensor(name)
		if a.Name != name || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.Data, b.Data) {
			t.Errorf("%s differs: %v %v and %v %v", name, a.DType, a.Shape, b.DType, b.Shape)
		}
	}
}

// hfTokenizerJSON is a tokenizer.json of four pieces and the blank.
const hfTokenizerJSON = `{"added_tokens": [{"id": 0, "content": "<unk>", "special": true}, {"id": 4, "content": "<blank>", "special": true}],
"normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAB4AA=="}]},
"model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "vocab": {"<unk>": 0, "\u2581a": 1, "b": 2, "<0x41>": 3}}}`

func TestHFPieces(t *testing.T) {
	tokenizer, err := parseHFPieces([]byte(hfTokenizerJSON), 4)
	if err != nil {
		t.Fatal(err)
	}
	want := []piece{{"<unk>", 0, unknownPiece}, {"\u2581a", -1, normalPiece}, {"b", -2, normalPiece}, {"<0x41>", -3, bytePiece}}
	if !slices.Equal(tokenizer.pieces, want) || len(tokenizer.normalizer.chars.units) != 4 {
		t.Errorf("pieces %+v", tokenizer.pieces)
	}
	for name, c := range map[string]struct {
		old, new string
		n        int
		want     string
	}{
		"not JSON":     {"{", "[", 4, "invalid character"},
		"unigram":      {`"BPE"`, `"Unigram"`, 4, `model type "Unigram"`},
		"no pieces":    {"", "", 0, "beyond the 0"},
		"few pieces":   {"", "", 2, "beyond the 2 of the configuration"},
		"more pieces":  {`"id": 4`, `"id": 5`, 5, "no piece has the id 4"},
		"many pieces":  {"", "", 1 << 30, "can't hold a vocabulary of 1073741824"},
		"twice":        {`"b": 2`, `"b": 1`, 4, "id 1 is given twice"},
		"negative":     {`"b": 2`, `"b": -2`, 4, "id -2"},
		"added":        {`"id": 0`, `"id": -1`, 4, "has the id -1"},
		"vocabulary":   {`"b": 2`, `"b": "2"`, 4, "vocabulary:"},
		"charsmap":     {"BAAAAAAAAAB4AA==", "/////w==", 4, "map of characters is truncated"},
		"not base64":   {"BAAAAAAAAAB4AA==", "!", 4, "illegal base64"},
		"empty object": {`{"<unk>": 0, "\u2581a": 1, "b": 2, "<0x41>": 3}`, "{}", 0, "is empty"},
	} {
		_, err := parseHFPieces([]byte(strings.Replace(hfTokenizerJSON, c.old, c.new, 1)), c.n)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func FuzzHFConfig(f *testing.F) {
	f.Add([]byte(hfConfigJSON), []byte(strings.TrimPrefix(hfProcessorJSON, `{"feature_extractor": `)))
	f.Add([]byte(hfConfigJSON), []byte(`{"feature_size": 128, "hop_length": 160, "n_fft": 512, "preemphasis": 0.97, "sampling_rate": 16000, "win_length": 400}`))
	f.Fuzz(func(t *testing.T, config, features []byte) {
		c, err := parseHFConfig(config)
		if err != nil || c.addHFFeatures(features) != nil || c.validate() != nil {
			return
		}
		checkConfig(t, c)
	})
}

func FuzzHFPieces(f *testing.F) {
	f.Add([]byte(hfTokenizerJSON), uint16(4))
	f.Add([]byte(`{"model": {"type": "BPE", "vocab": {"a": 0}}}`), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		tokenizer, err := parseHFPieces(data, int(n))
		if err != nil {
			return
		}
		if tokenizer.Len() != int(n) {
			t.Errorf("%d pieces, want %d", tokenizer.Len(), n)
		}
		for _, id := range tokenizer.Encode("a \u2581b é") {
			if id < 0 || int(id) >= tokenizer.Len() {
				t.Errorf("id %d of %d", id, tokenizer.Len())
			}
		}
		if text := tokenizer.Decode([]int32{0, int32(n) - 1, int32(n)}); !utf8.ValidString(text) {
			t.Errorf("decodes to %q", text)
		}
	})
}
