package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestTimeFiles(t *testing.T) {
	files := []File{{Name: "a", Seconds: 10}, {Name: "b", Seconds: 20}}
	var order []string
	results, err := TimeFiles(t.Context(), files, 2, func() { order = append(order, "begin") }, func(_ context.Context, f File) error {
		order = append(order, f.Name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, " "), "a b begin a b a b"; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	for i, r := range results {
		if r.File != files[i].Name || r.Audio != files[i].Seconds || !(r.Wall > 0) || r.AudioPerSecond != r.Audio/r.Wall {
			t.Errorf("%+v", r)
		}
	}
	broken := errors.New("broken")
	_, err = TimeFiles(t.Context(), files, 1, func() {}, func(context.Context, File) error { return broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "a: ") {
		t.Errorf("got %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2}} {
		if got := median(c.x); got != c.want {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}
