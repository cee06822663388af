package engine

import (
	"bytes"
	"compress/zlib"
	"strings"
)

// emptyBlock is what Go's zlib adds at the end and C's, which the threshold was made for, does not: a
// stored block of nothing, four bytes and three bits (RFC 1951, section 3.2.4).
const emptyBlock = 4

// CompressionRatio is a text's UTF-8 length by its length after zlib's default
// compression, within a byte or two of C's zlib; 0 for an empty text. A text that repeats itself
// compresses well.
func CompressionRatio(text string) float64 {
	text = strings.TrimSpace(text)
	var b bytes.Buffer
	w := zlib.NewWriter(&b) // errors can't happen: the buffer takes everything
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return float64(len(text)) / float64(b.Len()-emptyBlock)
}
