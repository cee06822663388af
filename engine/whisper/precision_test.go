package whisper

import (
	"testing"

	"hark/engine/cpu"
	"hark/models"
)

// TestPrecisions holds the encoder's output in each precision to what it may differ from single precision's, as a
// relative L2 error. For comparison: CTranslate2's int8 differs by 0.085 in base.
func TestPrecisions(t *testing.T) {
	f32 := map[string]*Model{"tiny.en": model(t, "tiny.en"), "base": model(t, "base")}
	store, err := models.OpenStore("")
	if err != nil {
		t.Fatal(err)
	}
	dev, err := testDevice()
	if err != nil {
		t.Fatal(err)
	}
	encode := func(m *Model) []float32 {
		playTo(m, clip(t, "jfk"))
		return download(t, m, m.enc.run([]int{framesPerWindow}, wholeView, nil))
	}
	for _, c := range []struct {
		model     string
		precision cpu.Precision
		most      float64
	}{
		{"tiny.en", cpu.BF16, 0.02}, {"base", cpu.BF16, 0.02},
		{"tiny.en", cpu.Int8, 0.05}, {"tiny.en", cpu.Int8Fast, 0.1},
		{"base", cpu.Int8, 0.05}, {"base", cpu.Int8Fast, 0.1},
	} {
		t.Run(c.model+"/"+c.precision.String(), func(t *testing.T) {
			dir, _ := store.Path(c.model)
			m, err := Load(dev.At(c.precision), dir, c.model, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			e := relativeL2(t, encode(m), encode(f32[c.model]))
			t.Logf("relative error %.4f", e)
			if !(e <= c.most) {
				t.Errorf("relative error %.4f, want at most %v", e, c.most)
			}
		})
	}
}
