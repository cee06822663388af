//go:build linux && (amd64 || arm64)

// Command matmul compares hark's matrix products with those of OpenBLAS and ONNX Runtime, in one process and by turns, on the shapes of
// Whisper's encoder and decoder.
//
// All compute y = x Wᵀ of float32 numbers, with a W that was made ready before. "int8" is hark's int8 precision and ONNX Runtime's
// DynamicQuantizeMatMul: both make x integers within the time that is taken. "halves" is hark's float32 with a W that is all halves
// (binary16), as published models' weights are. What is shown is the median of the rounds, in billions of operations a second, a
// multiply-add being two; a ratio is the median of the rounds' ratios. On one thread it's processor time that counts, which other programs
// disturb least, on more the time of day. Each result is checked against a plain sum first.
//
// Calls of the libraries go through purego, which costs them about half a microsecond each.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "matmul:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("matmul", flag.ExitOnError)
	blas := flags.String("openblas", "", "OpenBLAS's `file` (numpy's wheel has one, libscipy_openblas64_…); without it OpenBLAS is left out")
	ort := flags.String("onnxruntime", "", "ONNX Runtime's `file` (its wheel has one, libonnxruntime.so…); without it ONNX Runtime is left out")
	threads := flags.Int("threads", 1, "threads")
	rounds := flags.Int("rounds", 5, "rounds")
	only := flags.String("only", "", "only shapes whose name holds this, such as base or 1500x")
	out := flags.String("out", "", "also write JSON to this `file`")
	_ = flags.Parse(args)
	if *threads < 1 || *rounds < 1 {
		return fmt.Errorf("-threads, -rounds: want 1 or more")
	}
	debug.SetGCPercent(-1) // the garbage is small, and a collection in a measurement is not

	sides, err := openSides(*blas, *ort, *threads)
	if err != nil {
		return err
	}
	report := &Report{Machine: sides.hark.describe(), Threads: *threads, Rounds: *rounds, Peak: peak(*threads)}
	for _, l := range sides.libraries {
		report.Libraries = append(report.Libraries, l.version())
	}
	for _, s := range shapes() {
		if !strings.Contains(s.String(), *only) {
			continue
		}
		fmt.Fprintln(stderr, s)
		row, err := measure(sides, s, *rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		report.Rows = append(report.Rows, row)
	}
	report.writeTable(stdout)
	if *out == "" {
		return nil
	}
	text, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(*out, text, 0o644)
}

// shape is a product: x is [m][k], W [n][k].
type shape struct {
	where   string
	m, n, k int
}

func (s shape) String() string { return s.where + " " + s.size() }

func (s shape) size() string {
	return strconv.Itoa(s.m) + "x" + strconv.Itoa(s.n) + "x" + strconv.Itoa(s.k)
}

// shapes are the linear layers of tiny.en and base: an encoder's on a window of 30 s, and the feed-forward layer on one of 15 s; a
// decoder's on the rows of one stream, four and eight.
func shapes() []shape {
	var all []shape
	models := []struct {
		name           string
		width, outputs int
	}{{"tiny.en", 384, 51864}, {"base", 512, 51865}}
	for _, m := range models {
		w, encoder := m.width, m.name+" encoder"
		all = append(all, shape{encoder, 1500, 3 * w, w}, shape{encoder, 1500, w, w}, shape{encoder, 1500, 4 * w, w}, shape{encoder, 1500, w, 4 * w},
			shape{encoder, 750, 4 * w, w})
	}
	for _, m := range models {
		w, decoder := m.width, m.name+" decoder"
		for _, rows := range []int{1, 4, 8} {
			all = append(all, shape{decoder, rows, w, w}, shape{decoder, rows, 4 * w, w}, shape{decoder, rows, w, 4 * w}, shape{decoder, rows, m.outputs, w})
		}
	}
	return all
}
