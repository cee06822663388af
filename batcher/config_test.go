package batcher

import (
	"strings"
	"testing"
	"time"
)

func TestValidateNamesTheField(t *testing.T) {
	for field, c := range map[string]Config{
		"MaxBatch":            {MaxBatch: -1},
		"MaxBatchAudioMillis": {MaxBatchAudioMillis: -1},
		"CostCapMillis":       {CostCapMillis: -1},
		"BatchWait":           {BatchWait: MaxBatchWait + time.Nanosecond},
		"QueueLimit":          {QueueLimit: -1},
		"Policy":              {Policy: numPolicies},
		"MaxBatchCostMillis":  {MaxBatchCostMillis: -1},
		"MinCostMillis":       {MinCostMillis: 2, MaxCostMillis: 1},
		"MaxCostMillis":       {MaxCostMillis: MaxCostMillis + 1},
		"TargetP50":           {TargetP50: -1},
		"RecordingsShare":     {RecordingsShare: 1},
		"Depth":               {Depth: 3},
		"QueueBytes":          {QueueBytes: -1},
		"QueueWait":           {QueueWait: -1},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, c := range []Config{{}, Config{}.withDefaults(), {BatchWait: -1}, {BatchWait: MaxBatchWait}} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestLaneNames(t *testing.T) {
	for lane, want := range map[Lane]string{Clips: "clips", Recordings: "recordings", 7: "lane 7"} {
		if got := lane.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
