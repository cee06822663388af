package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteCount is a flag for a number of bytes: 1000000, 25MB, 1.5GiB.
type byteCount int64

// UnmarshalText reads a number with an optional unit.
func (b *byteCount) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit, ok := map[string]float64{
		"": 1, "b": 1,
		"k": 1 << 10, "kb": 1e3, "kib": 1 << 10,
		"m": 1 << 20, "mb": 1e6, "mib": 1 << 20,
		"g": 1 << 30, "gb": 1e9, "gib": 1 << 30,
	}[strings.ToLower(strings.TrimSpace(s[len(digits):]))]
	n, err := strconv.ParseFloat(digits, 64)
	n *= unit
	if !ok || err != nil || !(n >= 1) || n >= math.MaxInt64 {
		return fmt.Errorf("%q is no size, want bytes such as 500000, 25MB or 2GiB", s)
	}
	*b = byteCount(n)
	return nil
}

// byteSize is a number of bytes for people: 75.5 MB.
func byteSize(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
