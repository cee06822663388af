// Package models brings a speech model from where it is published to where the
// engine can read it: a catalogue of models, a store that pulls and verifies
// them, readers for the files that hold weights, and the tokenizers.
//
// The flow is
//
//	Find(name) ─► Store.Pull ─► path ─► Family
//	                 Whisper:       ├──► OpenWeights ─► Tensor ─► Float32
//	                                ├──► LoadTokenizer ─► Encode, Decode
//	                 Parakeet:      └──► OpenParakeet ─► Config, Tensor, Tokenizer
//
// # Weight files
//
// Weights come in three forms, which [OpenWeights] tells apart by name.
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
// NeMo's archive (NAME.nemo) is a tar of the whole model: model_config.yaml, a
// SentencePiece vocabulary, and model_weights.ckpt, which torch.save wrote. That
// is a zip archive of uncompressed members: the raw elements of each storage, and
// a pickle that says which stretch of which storage each tensor is. A pickle is a
// program, which in Python could do anything. Here a machine runs it that knows
// tensors and dictionaries and refuses every other name.
//
// All are mapped into memory, not read: opening costs the header alone, and a
// tensor's pages come in as it is converted; tar and zip too leave what they hold
// in one piece. No size in a file is believed before it is checked against the
// file's length.
//
// # Parakeet
//
// A FastConformer-TDT is published as a NeMo archive, or in a folder as
// transformers writes it, with other names for the same tensors.
// [OpenParakeet] gives both the same configuration, names and vocabulary, and
// refuses, by the name of the key, whatever a configuration asks for that the
// engine does not run.
//
// # Tokenizers
//
// Whisper's text tokens are GPT-2's byte-level byte-pair encoding. A text is
// first split into pieces (a word with the space before it, digits,
// punctuation, white space); each piece starts as single bytes, and adjacent
// parts are joined, the pair with the lowest rank first, until no pair is in
// the vocabulary. Special tokens (<|en|>, <|transcribe|>, …) are never made
// from text: they are looked up by name.
//
// Parakeet's are SentencePiece's pieces of words, in which U+2581 stands for the
// space. Text is made of them by joining. The way back depends on the kind of
// vocabulary: BPE joins characters, the pair with the highest score first, and a
// unigram model takes the split with the highest sum of scores.
//
// # What it does not do
//
// It computes no layer, knows no device and no audio, runs nothing of what it downloads
// (a wheel is only a zip archive to it, a pickle only a list of tensors), and
// prints nothing.
package models
