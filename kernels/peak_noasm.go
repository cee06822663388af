//go:build (!amd64 && !arm64) || noasm

package kernels

func peak(int) (flops int) { return 0 }

func peakPairs(int) (flops int) { return 0 }

func peakIntegers(int) (operations int) { return 0 }
