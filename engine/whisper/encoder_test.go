package whisper

import (
	"testing"

	"hark/engine"
)

// encoderTolerance is the relative L2 error that single precision may have
// (golden/whisper/README.md, "Tolerances").
const encoderTolerance = 1e-4

// goldenRows are the time rows that the row files hold.
var goldenRows = []int{0, 1, 100, 549, 550, 749, 1499}

func TestEncoderStages(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		t.Run(name, func(t *testing.T) {
			m := model(t, name)
			playTo(m, clip(t, "jfk"))
			compared := 0
			m.enc.run([]int{framesPerWindow}, wholeView, func(stage string, x engine.Tensor) {
				got := download(t, m, x)
				file := name + "_" + stage
				if name != "tiny.en" || stage != "stem" && stage != "block0" && stage != "final" { // those are there whole
					file += "_rows"
					var rows []float32
					for _, r := range goldenRows {
						rows = append(rows, got[r*x.Cols:(r+1)*x.Cols]...)
					}
					got = rows
				}
				_, want := goldenArray(t, "encoder", file+".npy")
				if e := relativeL2(t, got, want); !(e <= encoderTolerance) {
					t.Errorf("%s: relative error %.2g, want at most %.0g", file, e, encoderTolerance)
				}
				compared++
			})
			if want := 4 + m.config.EncoderLayers; compared != want {
				t.Errorf("compared %d stages, want %d", compared, want)
			}
		})
	}
}
