//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"io"
	"strings"
)

// Report is what came of all shapes.
type Report struct {
	Machine   string   `json:"machine"` // hark's device and code
	Libraries []string `json:"libraries"`
	Threads   int      `json:"threads"`
	Rounds    int      `json:"rounds"`
	// Peak is what the threads can do in registers in float32, in billions of operations a second; 0 where it's unknown.
	Peak float64 `json:"peak_gflops"`
	Rows []*Row  `json:"rows"`
}

// ways are the columns of rates.
var ways = []string{"hark f32", "hark halves", "OpenBLAS f32", "ORT f32", "hark int8", "ORT int8"}

// writeTable writes a table in Markdown.
func (r *Report) writeTable(w io.Writer) {
	fmt.Fprintf(w, "%s; median of %d rounds", strings.Join(append([]string{r.Machine}, r.Libraries...), "; "), r.Rounds)
	if r.Peak > 0 {
		fmt.Fprintf(w, "; at most %.0f GFLOP/s in float32", r.Peak)
	}
	fmt.Fprint(w, ".\n\n| layer | rows x outputs x inputs |")
	for _, way := range ways {
		fmt.Fprintf(w, " %s |", way)
	}
	fmt.Fprint(w, " hark f32 of peak |")
	for _, c := range comparisons {
		fmt.Fprintf(w, " %s / %s |", c[0], c[1])
	}
	fmt.Fprint(w, "\n|---|---|"+strings.Repeat("---|", len(ways)+1+len(comparisons))+"\n")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "| %s | %s |", row.Where, row.Size)
		for _, way := range ways {
			fmt.Fprintf(w, " %s |", cell(row.GFLOPS[way], "%.1f"))
		}
		share := 0.0
		if r.Peak > 0 {
			share = 100 * row.GFLOPS["hark f32"] / r.Peak
		}
		fmt.Fprintf(w, " %s |", cell(share, "%.0f %%"))
		for _, c := range comparisons {
			ratio := row.Ratios[c[0]+" / "+c[1]]
			if ratio[1] == 0 {
				fmt.Fprint(w, " - |")
				continue
			}
			fmt.Fprintf(w, " %.2f (%.2f..%.2f) |", ratio[1], ratio[0], ratio[2])
		}
		fmt.Fprintln(w)
	}
}

// cell is a number, or a dash where there is none.
func cell(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
