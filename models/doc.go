// Package models brings a speech model from where it is published to where the
// engine can read it: a catalogue of models, a store that pulls and verifies
// them, readers for the files that hold weights, and the tokenizer.
//
// The flow is
//
//	Find(name) ─► Store.Pull ─► folder ─► OpenWeights   ─► Tensor ─► Float32
//	                                 └──► LoadTokenizer ─► Encode, Decode
//
// # Weight files
//
// A folder holds its weights in one of two forms, which [OpenWeights] tells
// apart by name.
//
// Safetensors (model.safetensors, or model.safetensors.index.json and shards;
// https://huggingface.co/docs/safetensors) is a little-endian u64 n, n bytes of
// JSON that give every tensor a type, a shape and a range of bytes, and then
// those bytes, without holes.
//
// CTranslate2 (model.bin, binary version 6; python/ctranslate2/specs/model_spec.py
// in OpenNMT/CTranslate2) is a flat sequence of variables, each with its name,
// shape, type and bytes, followed by aliases: second names for a variable. It
// fuses the projections of attention (query, key and value are one matrix), so
// names and shapes differ from the safetensors form of the same model. Mapping
// the names to a model's layers is the engine's work.
//
// Both are mapped into memory, not read: opening costs the header alone, and a
// tensor's pages come in as it is converted. No size in a file is believed
// before it is checked against the file's length.
//
// # Tokenizer
//
// Whisper's text tokens are GPT-2's byte-level byte-pair encoding. A text is
// first split into pieces (a word with the space before it, digits,
// punctuation, white space); each piece starts as single bytes, and adjacent
// parts are joined, the pair with the lowest rank first, until no pair is in
// the vocabulary. Special tokens (<|en|>, <|transcribe|>, …) are never made
// from text: they are looked up by name.
//
// # What it does not do
//
// It knows no layer, no device and no audio, runs nothing of what it downloads
// (a wheel is only a zip archive to it), and prints nothing.
package models
