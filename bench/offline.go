package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// FileResult is one file's figures: the median of all rounds.
type FileResult struct {
	File           string  `json:"file"`
	Audio          float64 `json:"audio_s"`
	Wall           float64 `json:"wall_s"`
	CPU            float64 `json:"cpu_s"`
	AudioPerSecond float64 `json:"audio_s_per_s"`
}

// Machine is what was measured on.
type Machine struct {
	Device  string `json:"device"`
	Code    string `json:"code"`
	Threads int    `json:"threads"`
	// Peak is what all threads together can do in registers, in float32 additions and
	// multiplications a second; 0 where it's unknown.
	Peak float64 `json:"peak_flops"`
	// PeakIntegers is that of the integers that weights in bytes are multiplied with.
	PeakIntegers float64 `json:"peak_integer_ops"`
	// PeakBF16 is that of products of bfloat16; 0 where there are none.
	PeakBF16 float64 `json:"peak_bf16_flops,omitempty"`
}

// peakOf is the most that products of such numbers can reach, as [Op] names them.
func (m Machine) peakOf(numbers string) float64 {
	switch numbers {
	case "bytes":
		return m.PeakIntegers
	case "bf16":
		return m.PeakBF16
	}
	return m.Peak
}

// Offline is what came of running files one after the other.
type Offline struct {
	Machine Machine      `json:"machine"`
	Model   string       `json:"model"`
	Load    float64      `json:"load_s"` // from the model's files to a model that is ready
	Rounds  int          `json:"rounds"`
	Files   []FileResult `json:"files"`
	Ops     []Op         `json:"ops"`
	// PeakMemory is the most memory that the process has held, in bytes; 0 where it's unknown.
	PeakMemory int64 `json:"peak_memory_bytes"`
}

// TimeFiles has transcribe do each file once unmeasured, calls begin, then has it do so
// many rounds of all files, one at a time.
func TimeFiles(ctx context.Context, files []File, rounds int, begin func(),
	transcribe func(ctx context.Context, f File) error) ([]FileResult, error) {
	walls, cpus := make([][]float64, len(files)), make([][]float64, len(files))
	for round := range rounds + 1 {
		if round == 1 {
			begin()
		}
		for i, f := range files {
			start, cpu := time.Now(), cpuSeconds()
			if err := transcribe(ctx, f); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			if round > 0 {
				walls[i] = append(walls[i], time.Since(start).Seconds())
				cpus[i] = append(cpus[i], cpuSeconds()-cpu)
			}
		}
	}
	results := make([]FileResult, len(files))
	for i, f := range files {
		wall := median(walls[i])
		results[i] = FileResult{File: f.Name, Audio: f.Seconds, Wall: wall, CPU: median(cpus[i]),
			AudioPerSecond: f.Seconds / wall}
	}
	return results, nil
}

// median is the middle value, the lower one of two; x is sorted by it and not empty.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[(len(x)-1)/2]
}

// WriteTable writes what a person wants to know of it.
func (o *Offline) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s", o.Machine.Device, o.Machine.Code)
	if o.Machine.Peak > 0 {
		fmt.Fprintf(w, ", at most %.0f GFLOP/s in float32", o.Machine.Peak/1e9)
	}
	if o.Machine.PeakIntegers > 0 {
		fmt.Fprintf(w, ", %.0f in integers", o.Machine.PeakIntegers/1e9)
	}
	if o.Machine.PeakBF16 > 0 {
		fmt.Fprintf(w, ", %.0f in bf16", o.Machine.PeakBF16/1e9)
	}
	fmt.Fprintf(w, "\nmodel %s, loaded in %.2f s; median of %d rounds, one file at a time\n\n",
		o.Model, o.Load, o.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "file\taudio s\twall s\taudio-s/s\tCPU s\t\n")
	for _, f := range o.Files {
		fmt.Fprintf(t, "%s\t%.1f\t%.2f\t%.1f\t%.2f\t\n", f.File, f.Audio, f.Wall, f.AudioPerSecond, f.CPU)
	}
	t.Flush()
	if len(o.Ops) > 0 {
		o.writeOps(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if o.PeakMemory > 0 {
		fmt.Fprintf(w, "\npeak memory %d MiB\n", o.PeakMemory>>20)
	}
	return nil
}

// writeOps writes what the operations took.
func (o *Offline) writeOps(t io.Writer) {
	total := 0.0
	for _, op := range o.Ops {
		total += op.Seconds
	}
	fmt.Fprint(t, "\noperation\tcalls\tseconds\tshare\tGFLOP/s\tof peak\t\n")
	for _, op := range o.Ops {
		rate, part := "", ""
		if op.FLOPs > 0 && op.Seconds > 0 {
			rate = fmt.Sprintf("%.1f", op.FLOPs/op.Seconds/1e9)
			if peak := o.Machine.peakOf(op.Numbers); peak > 0 {
				part = fmt.Sprintf("%.0f %%", 100*op.FLOPs/op.Seconds/peak)
			}
		}
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.0f %%\t%s\t%s\t\n", op.Name, op.Calls, op.Seconds,
			100*op.Seconds/total, rate, part)
	}
}

// WriteTable writes what a person wants to know of it.
func (r *LoadResult) WriteTable(w io.Writer) error {
	note := ""
	if r.Interrupted {
		note = ", interrupted"
	}
	fmt.Fprintf(w, "%s, %.0f s%s\n\n", r.URL, r.Seconds, note)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "class\tserved\ttimed out\trefused\tfailed\tp50 s\tp90 s\tp99 s\tmax s\taudio-s/s\t\n")
	for _, c := range []struct {
		name string
		Class
	}{{"clips", r.Clips}, {"recordings", r.Recordings}} {
		waits := "\t\t\t" // nobody's, where nothing was served
		if c.Served > 0 {
			waits = fmt.Sprintf("%.2f\t%.2f\t%.2f\t%.2f", c.P50, c.P90, c.P99, c.Max)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\t%.1f\t\n", c.name, c.Served, c.TimedOut, c.Refused, c.Failed, waits,
			c.AudioPerSecond)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range []struct{ name, note string }{{"clips", r.Clips.Note}, {"recordings", r.Recordings.Note}} {
		if c.note != "" {
			fmt.Fprintf(w, "first failure of %s: %s\n", c.name, c.note)
		}
	}
	return nil
}
