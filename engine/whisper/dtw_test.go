package whisper

import (
	"math"
	"testing"

	"hark/engine"
)

func TestWarpPath(t *testing.T) {
	var f struct {
		DTW struct {
			Cost [][]float64
			Text []int `json:"text_indices"`
			Time []int `json:"time_indices"`
		}
	}
	goldenJSON(t, &f, "dtw", "primitives.json")
	rows, cols := len(f.DTW.Cost), len(f.DTW.Cost[0])
	m := make([]float32, 0, rows*cols)
	for _, row := range f.DTW.Cost {
		for _, x := range row {
			m = append(m, float32(-x))
		}
	}
	path := warpPath(m, rows, cols)
	if len(path) != len(f.DTW.Text) {
		t.Fatalf("got a path of %d steps, want %d", len(path), len(f.DTW.Text))
	}
	for i, p := range path {
		if p[0] != f.DTW.Text[i] || p[1] != f.DTW.Time[i] {
			t.Errorf("step %d: got %v, want [%d %d]", i, p, f.DTW.Text[i], f.DTW.Time[i])
		}
	}
}

func TestMedianFilter(t *testing.T) {
	var f struct {
		Long struct{ Input, Output [][][]float32 } `json:"median_filter_width7"`
	}
	goldenJSON(t, &f, "dtw", "primitives.json")
	for i, group := range f.Long.Input {
		for j, row := range group {
			got := make([]float32, len(row))
			medianFilter(got, row)
			if d := maxDiff(t, got, f.Long.Output[i][j]); d > 1e-6 {
				t.Errorf("row %d %d differs by %g", i, j, d)
			}
		}
	}
	short := []float32{3, 1, 2}
	got := make([]float32, 3)
	medianFilter(got, short)
	if d := maxDiff(t, got, short); d != 0 {
		t.Errorf("a row of 3: got %v, want it unchanged", got)
	}
}

// TestWarpAnySize holds the path to its own rules where there is no reference: it goes
// from corner to corner by single steps.
func TestWarpAnySize(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 5}, {5, 1}, {2, 2}, {7, 3}, {3, 50}} {
		rows, cols := size[0], size[1]
		m := make([]float32, rows*cols)
		for i := range m {
			m[i] = float32(math.Sin(float64(i * i)))
		}
		path := warpPath(m, rows, cols)
		if path[0] != [2]int{0, 0} || path[len(path)-1] != [2]int{rows - 1, cols - 1} {
			t.Errorf("%v: path from %v to %v", size, path[0], path[len(path)-1])
		}
		for i := 1; i < len(path); i++ {
			dr, dc := path[i][0]-path[i-1][0], path[i][1]-path[i-1][1]
			if dr < 0 || dr > 1 || dc < 0 || dc > 1 || dr+dc == 0 {
				t.Errorf("%v: step from %v to %v", size, path[i-1], path[i])
			}
		}
	}
}

// goldenAlignment is a model's part of dtw/alignment.json.
type goldenAlignment struct {
	Sequence []int32
	Frames   int       `json:"num_frames"`
	Probs    []float64 `json:"text_token_probs"`
	Words    []struct {
		Word                    string
		Start, End, Probability float64
	}
}

func alignmentGolden(t *testing.T, name string) goldenAlignment {
	t.Helper()
	var f struct {
		Tiny goldenAlignment `json:"tiny.en"`
		Base goldenAlignment `json:"base"`
	}
	goldenJSON(t, &f, "dtw", "alignment.json")
	if name == "base" {
		return f.Base
	}
	return f.Tiny
}

func TestAlignment(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		t.Run(name, func(t *testing.T) {
			m := model(t, name)
			v := m.vocabulary
			a := alignmentGolden(t, name)
			listenTo(t, m, clip(t, "jfk"), 0)
			text := v.text(a.Sequence)
			got, err := m.align(0, 0, "en", false, text, a.Frames, m.config.AudioContext)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range a.Probs {
				if math.Abs(float64(got.probabilities[i])-want) > logProbTolerance {
					t.Errorf("probability of token %d: got %.4f, want %.4f", i, got.probabilities[i], want)
				}
			}
			words := v.timeWords(text, make([]float32, len(text)), got, "en")
			if len(words) != len(a.Words) {
				t.Fatalf("got %d words, want %d", len(words), len(a.Words))
			}
			for i, w := range a.Words {
				g := words[i]
				if g.text != w.Word || math.Abs(g.start-w.Start) > 0.021 || math.Abs(g.end-w.End) > 0.021 || math.Abs(g.probability-w.Probability) > logProbTolerance {
					t.Errorf("word %d: got %q %.2f-%.2f %.3f, want %q %.2f-%.2f %.3f", i, g.text, g.start, g.end, g.probability, w.Word, w.Start, w.End, w.Probability)
				}
			}
		})
	}
}

func TestAlignmentMatrix(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		t.Run(name, func(t *testing.T) {
			m := model(t, name)
			listenTo(t, m, clip(t, "jfk"), 0)
			shape, want := goldenArray(t, "dtw", name+"_jfk_matrix.npy")
			a := alignmentGolden(t, name)
			var rows []row
			for i, id := range a.Sequence {
				rows = append(rows, row{token: id, position: int32(i)})
			}
			n := len(rows)
			if err := m.dec.reserveProbs(n, m.config.AudioContext); err != nil {
				t.Fatal(err)
			}
			m.dec.forward(rows, true, nil)
			heads := len(m.config.AlignmentHeads)
			attention := download(t, m, m.dec.probs.Slice(0, heads*n))
			frames := a.Frames / 2
			matrix := attentionMatrix(attention, heads, n, m.config.AudioContext, frames)
			skip := n - 1 - shape[0]
			got := matrix[skip*frames : (skip+shape[0])*frames]
			if d := maxDiff(t, got, want); !(d <= 1e-2) {
				t.Errorf("matrix differs by %.2g", d)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	words := func(times ...float64) []engine.Word {
		var w []engine.Word
		for i := 0; i < len(times); i += 2 {
			w = append(w, engine.Word{Start: times[i], End: times[i+1]})
		}
		return w
	}
	for _, c := range []struct {
		name  string
		limit float64
		in    []engine.Word
		want  []engine.Word
	}{
		{"nothing to do", 9, words(0, 1, 1, 2), words(0, 1, 1, 2)},
		{"one place", 9, words(1, 1, 1, 1, 1, 1.5), words(1, 1.02, 1.02, 1.04, 1.04, 1.5)},
		{"at the end", 2, words(1.9, 2, 2, 2), words(1.9, 1.98, 1.98, 2)},
		{"all at the end", 2, words(2, 2, 2, 2), words(1.96, 1.98, 1.98, 2)},
		{"backwards", 9, words(1, 2, 1.5, 1.7), words(1, 2, 2, 2.02)},
		{"none", 9, nil, nil},
	} {
		spread(c.in, c.limit)
		for i := range c.want {
			if math.Abs(c.in[i].Start-c.want[i].Start) > 1e-9 || math.Abs(c.in[i].End-c.want[i].End) > 1e-9 {
				t.Errorf("%s: got %v, want %v", c.name, c.in, c.want)
				break
			}
		}
	}
}
