package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	p := newAudioProgress(newConsole(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}), 3)
	p.set(0, 5*time.Second, 20*time.Second)
	if got := p.line(time.Second); got != "" {
		t.Errorf("little audio: got %q, want no bar", got)
	}
	p.set(1, 55*time.Second, 220*time.Second)
	want := "[######------------------]  25% 1:00 of 4:00, 0 of 3 files done, 0:01 so far"
	if got := p.line(time.Second); got != want {
		t.Errorf("at first: got %q, want %q", got, want)
	}
	p.finish()
	want = "[######------------------]  25% 1:00 of 4:00, 1 of 3 files done, 0:10 so far, 0:30 left"
	if got := p.line(10 * time.Second); got != want {
		t.Errorf("later: got %q, want %q", got, want)
	}
}

func TestNoProgressWithoutATerminal(t *testing.T) {
	var out, err bytes.Buffer
	c := newConsole(strings.NewReader(""), &out, &err)
	p := newAudioProgress(c, 1)
	p.set(0, time.Minute, time.Hour)
	c.draw("fetching")
	c.clear()
	if out.Len()+err.Len() > 0 {
		t.Errorf("got %q and %q, want nothing", out.String(), err.String())
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", 59600 * time.Millisecond: "1:00", 125 * time.Second: "2:05", time.Hour + 62*time.Second: "1:01:02",
	} {
		if got := clock(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestByteSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 1500: "1.5 kB", 75_540_000: "75.5 MB", 3_087_000_000: "3.1 GB"} {
		if got := byteSize(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
