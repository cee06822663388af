package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Case is one row of the table.
type Case struct {
	Name  string // its group, a dot, and its own name: T6.mp3-vbr
	Sends string // what the server is sent
	Want  string // the right answer
	Why   string // what went wrong with servers that answer otherwise; for a group, its first case says it

	all bool  // too long for the quick run
	run check // returns what was got
}

// Group is the number that cases which look at the same weakness share, such as T6.
func (c Case) Group() string {
	group, _, _ := strings.Cut(c.Name, ".")
	return group
}

// isOf reports whether a name is the case's own or its group's.
func (c Case) isOf(name string) bool { return name == c.Name || name == c.Group() }

// A check tries one case. It returns what was got where that was right, else an error that says what was wrong, or a
// *notRun. It gives up when ctx ends, and leaves no connection behind.
type check func(ctx context.Context, s *session) (got string, err error)

// notRun says why a case could not be tried.
type notRun struct{ reason string }

func (e *notRun) Error() string { return e.reason }

// skip is the error of a case that could not be tried.
func skip(format string, args ...any) error { return &notRun{fmt.Sprintf(format, args...)} }

// cannot is the check of a case that nobody can try from outside.
func cannot(reason string) check {
	return func(context.Context, *session) (string, error) { return "", skip("%s", reason) }
}

// Result is what came of one case.
type Result struct {
	Case string `json:"case"`
	OK   *bool  `json:"ok"` // nil: not run
	Got  string `json:"got"`
	Want string `json:"want"`
}

// Summary counts results.
type Summary struct{ OK, Failed, NotRun int }

func (s *Summary) add(r Result) {
	switch {
	case r.OK == nil:
		s.NotRun++
	case *r.OK:
		s.OK++
	default:
		s.Failed++
	}
}

// try runs one case, for no longer than patience.
func (s *session) try(ctx context.Context, c Case) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Patience,
		fmt.Errorf("nothing came of it within %s", s.cfg.Patience.Round(time.Second)))
	defer cancel()
	defer s.client.CloseIdleConnections()
	got, err := c.run(ctx, s)
	var missing *notRun
	ok := err == nil
	switch {
	case errors.As(err, &missing):
		return Result{Case: c.Name, Got: missing.reason, Want: c.Want}
	case err != nil && ctx.Err() != nil:
		got = context.Cause(ctx).Error()
	case err != nil:
		got = err.Error()
	}
	return Result{Case: c.Name, OK: &ok, Got: got, Want: c.Want}
}
