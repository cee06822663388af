package conform

import (
	"encoding/json"
	"fmt"
	"io"
)

// Card writes results as people read them, each as it comes.
type Card struct{ w io.Writer }

// NewCard writes to w.
func NewCard(w io.Writer) *Card { return &Card{w} }

// Write adds a case. One that failed is told with what was sent, what was got and what is right.
func (c *Card) Write(k Case, r Result) error {
	verdict := "not run"
	switch {
	case r.OK == nil:
	case *r.OK:
		verdict = "ok"
	default:
		verdict = "FAILED"
	}
	_, err := fmt.Fprintf(c.w, "%-24s %-8s %s\n", r.Case, verdict, brief(r.Got))
	if err == nil && verdict == "FAILED" {
		_, err = fmt.Fprintf(c.w, "%24s sent     %s\n%24s want     %s\n", "", k.Sends, "", k.Want)
	}
	return err
}

// Close writes the last line.
func (c *Card) Close(s Summary) error {
	_, err := fmt.Fprintf(c.w, "\n%d ok, %d failed, %d not run\n", s.OK, s.Failed, s.NotRun)
	return err
}

// WriteJSON writes a result as an object on a line of its own.
func WriteJSON(w io.Writer, r Result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}
