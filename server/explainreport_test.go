package server

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"hark/audioprep"
)

// TestFileReportIsJSON: decibels that JSON has no number for are left out, and keys that are promised are there.
func TestFileReportIsJSON(t *testing.T) {
	for _, db := range []float64{math.NaN(), math.Inf(-1), math.Inf(1), -23.04} {
		for _, err := range []error{nil, errors.New("no sound")} {
			text, jsonErr := json.Marshal(NewFileReport(&audioprep.Inspection{Loudness: db, Peak: db}, err))
			if jsonErr != nil {
				t.Fatal(jsonErr)
			}
			var v map[string]any
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"bytes", "duration_s", "faults"} {
				if _, ok := v[key]; !ok {
					t.Errorf("%v, %v: no %s in %s", db, err, key, text)
				}
			}
			want := db == -23.04 && err == nil
			if got, ok := v["loudness_lufs"]; ok != want || ok && got != -23.0 {
				t.Errorf("%v, %v: got loudness %v", db, err, got)
			}
			if reason, _ := v["reason"].(string); (reason != "") != (err != nil) {
				t.Errorf("%v: got reason %q", err, reason)
			}
		}
	}
}
