package sim

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the results as a table, two lines each: clips and recordings.
func WriteTable(w io.Writer, results []*Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "load\tpolicy\tclass\tserved\ttimed out\tp50 s\tp90 s\tp99 s\tmax s\taudio-s/s\tidle\t")
	for _, r := range results {
		rest := fmt.Sprintf("%.1f\t%.0f %%", r.Throughput(), 100*r.Idle())
		for i, c := range []*Class{&r.Clips, &r.Recordings} {
			if c.Served+c.TimedOut == 0 {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t\n", r.Load, r.Policy,
				[...]string{"clips", "recordings"}[i], c.Served, c.TimedOut,
				c.Wait(50).Seconds(), c.Wait(90).Seconds(), c.Wait(99).Seconds(), c.Max().Seconds(), rest)
			rest = "\t"
		}
	}
	return t.Flush()
}
