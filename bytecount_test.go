package main

import "testing"

func TestByteCount(t *testing.T) {
	for text, want := range map[string]byteCount{
		"1": 1, "500000": 500000, "25MB": 25_000_000, "1MiB": 1 << 20, "2 GiB": 2 << 30, "1.5k": 1536, "8m": 8 << 20, "10 b": 10,
	} {
		var got byteCount
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "MB", "1XB", "NaN", "inf", "99999999999GB", "1 2"} {
		var got byteCount
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}
