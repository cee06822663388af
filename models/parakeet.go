package models

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ParakeetModel is an open FastConformer-TDT model, in either of its forms: its
// configuration, its tokenizer and its weights. It is safe for concurrent use,
// but for Close, which ends the life of every tensor's Data; configuration and
// tokenizer outlive it.
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
	weights, err := OpenWeights(path)
	if err != nil {
		return nil, err
	}
	m := &ParakeetModel{Weights: weights}
	if weights.nemo != nil {
		err = m.readNemo(weights.nemo)
	} else {
		err = m.readHF(path)
	}
	if err != nil {
		return nil, errors.Join(err, weights.Close())
	}
	return m, nil
}

func (m *ParakeetModel) readNemo(archive *nemoArchive) error {
	config, err := archive.member(nemoConfig, maxConfigFile)
	if err != nil {
		return err
	}
	tokenizer := ""
	if m.Config, tokenizer, err = parseNemoConfig(config); err != nil {
		return archive.bad(nemoConfig, err)
	}
	pieces, err := archive.member(tokenizer, maxTokenizerFile)
	if err != nil {
		return err
	}
	if m.Tokenizer, err = parseSentencePiece(pieces); err != nil {
		return archive.bad(tokenizer, err)
	}
	if n := m.Tokenizer.Len(); n != m.Config.Vocabulary {
		return archive.bad(tokenizer, fmt.Errorf("has %d pieces, the configuration %d", n, m.Config.Vocabulary))
	}
	return nil
}

// readHF reads what a folder of transformers' form has beside the weights.
func (m *ParakeetModel) readHF(dir string) (err error) {
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
	return m.rename(nemoName)
}
