package models

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ParakeetModel is an open FastConformer-TDT model, in either of its forms: its
// configuration, its tokenizer and its weights. It is safe for concurrent use,
// but for Close, which ends the life of every tensor's Data.
//
// The tensors have NeMo's names and shapes whatever the form:
// "encoder.layers.0.self_attn.linear_q.weight". Both forms of a model give the
// same values, with one exception: only a NeMo archive has
// "preprocessor.featurizer.window" and "preprocessor.featurizer.fb".
type ParakeetModel struct {
	Config    ParakeetConfig
	Tokenizer *PieceTokenizer
	*Weights
}

// OpenParakeet opens the model at path: a NeMo archive, a folder with one, or a
// folder as transformers writes it. The error is a [*FormatError] if a file is
// damaged, or of a kind that hark doesn't run, wraps [ErrNoWeights] for a folder
// without a model, and comes from the operating system otherwise.
func OpenParakeet(path string) (*ParakeetModel, error) {
	archive, err := nemoFile(path)
	if err != nil {
		return nil, err
	}
	m := &ParakeetModel{Weights: &Weights{tensors: map[string]Tensor{}}}
	if archive != "" {
		err = m.openNemo(archive)
	} else {
		err = m.openHF(path)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// nemoFile returns the path of the NeMo archive that path is or holds, "" if
// there is none.
func nemoFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	archive := ""
	for _, e := range entries {
		switch {
		case !strings.HasSuffix(e.Name(), nemoSuffix):
		case archive != "":
			return "", fmt.Errorf("%s: holds more than one NeMo archive: give the path of one", path)
		default:
			archive = filepath.Join(path, e.Name())
		}
	}
	return archive, nil
}

func (m *ParakeetModel) openNemo(path string) error {
	archive, err := m.addNemo(path)
	if err != nil {
		return err
	}
	m.sortNames()
	config, err := archive.member(nemoConfig, maxConfigFile)
	if err != nil {
		return err
	}
	c, tokenizer, err := parseNemoConfig(config)
	if err != nil {
		return archive.bad(nemoConfig, err)
	}
	pieces, err := archive.member(tokenizer, maxTokenizerFile)
	if err != nil {
		return err
	}
	if m.Tokenizer, err = parseSentencePiece(pieces); err != nil {
		return archive.bad(tokenizer, err)
	}
	if n := m.Tokenizer.Len(); n != c.Vocabulary {
		return archive.bad(tokenizer, fmt.Errorf("has %d pieces, the configuration %d", n, c.Vocabulary))
	}
	m.Config = c
	return nil
}

// openHF opens a folder of transformers' form.
func (m *ParakeetModel) openHF(dir string) (err error) {
	if m.Config, err = loadHFConfig(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, tokenizerFile)
	data, err := readBounded(path, maxTokenizerFile)
	if err != nil {
		return err
	}
	if m.Tokenizer, err = parseHFPieces(data, m.Config.Vocabulary); err != nil {
		return &FormatError{File: path, Reason: err.Error()}
	}
	weights, err := OpenWeights(dir)
	if err != nil {
		return err
	}
	m.Weights = weights
	return m.rename(nemoName)
}
