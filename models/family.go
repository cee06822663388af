package models

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// Family returns the family of the model at path, [FamilyWhisper] or
// [FamilyParakeet]: a NeMo archive, or a folder with one, is a Parakeet; of other
// folders config.json says it, which CTranslate2 and old exports of Whisper leave
// out. The error is a [*FormatError] if it's neither, or there is no telling.
func Family(path string) (string, error) {
	archive, err := nemoFile(path)
	if err != nil {
		return "", err
	}
	if archive != "" {
		return FamilyParakeet, nil
	}
	file := filepath.Join(path, configFile)
	data, err := readBounded(file, maxConfigFile)
	if err != nil {
		return "", err
	}
	var config struct {
		ModelType string `json:"model_type"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return "", &FormatError{File: file, Reason: err.Error()}
	}
	switch kind := config.ModelType; {
	case kind == "" || kind == FamilyWhisper:
		return FamilyWhisper, nil
	case strings.HasPrefix(kind, FamilyParakeet):
		return FamilyParakeet, nil
	}
	return "", &FormatError{File: file,
		Reason: fmt.Sprintf("model_type %.100q: only whisper and parakeet are run", config.ModelType)}
}

// checkModel reads the files of the model at path as the engine will, but for
// the weights' values, and returns its family.
func checkModel(path string) (family string, err error) {
	if family, err = Family(path); err != nil {
		return "", err
	}
	if family == FamilyParakeet {
		m, err := OpenParakeet(path)
		if err != nil {
			return "", err
		}
		return family, m.Close()
	}
	if _, err := LoadTokenizer(filepath.Join(path, tokenizerFile)); err != nil {
		return "", err
	}
	weights, err := OpenWeights(path)
	if err != nil {
		return "", err
	}
	return family, weights.Close()
}
