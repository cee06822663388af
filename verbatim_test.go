package main

import (
	"io"
	"slices"
	"testing"
)

// Every value that may be a path comes through the parser byte for byte.
func TestArgumentsAreKeptByteForByte(t *testing.T) {
	const odd = "o\xe4\xff"
	var cli commandLine
	parser, err := newParser(&cli, io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HARK_MODELS", odd+"models")
	if _, err := parser.Parse([]string{"transcribe", odd, odd + ".wav", "--model", odd + "model", "-o", odd + "out"}); err != nil {
		t.Fatal(err)
	}
	got := append([]string{cli.ModelsDir, cli.Transcribe.Model, cli.Transcribe.OutputDir}, cli.Transcribe.Files...)
	if want := []string{odd + "models", odd + "model", odd + "out", odd, odd + ".wav"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := parser.Parse([]string{"serve", "--model=" + odd + `,b\,c`, "--model", `C:\d`, "--spool-dir=" + odd}); err != nil {
		t.Fatal(err)
	}
	got = append([]string{cli.Serve.SpoolDir}, cli.Serve.Model...)
	if want := []string{odd, odd, "b,c", `C:\d`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := parser.Parse([]string{"transcribe", "-o" + odd, "x"}); err != nil || cli.Transcribe.OutputDir != odd {
		t.Errorf("-oDIR: got %q, %v", cli.Transcribe.OutputDir, err)
	}
}
