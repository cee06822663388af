package models

// A tokenizer file writes a token's bytes as text, so every byte stands for a
// character: itself where that is a printable character of Latin-1 other than
// the space, else the next unused one from U+0100 on. The space is Ġ. This is
// GPT-2's bytes_to_unicode (src/encoder.py in openai/gpt-2). byteOf is the way
// back; -1 is no character of the alphabet.
var byteOf = func() (table [0x100 + 68]int16) {
	for i := range table {
		table[i] = -1
	}
	next := 0x100
	for b := range 256 {
		if '!' <= b && b <= '~' || '¡' <= b && b <= '¬' || '®' <= b && b <= 'ÿ' {
			table[b] = int16(b)
			continue
		}
		table[next] = int16(b)
		next++
	}
	return table
}()

// unalphabet appends the bytes that a token of the file stands for, or returns
// false if a character is not in the alphabet.
func unalphabet(dst []byte, token string) ([]byte, bool) {
	for _, r := range token {
		if int(r) >= len(byteOf) || byteOf[r] < 0 {
			return dst, false
		}
		dst = append(dst, byte(byteOf[r]))
	}
	return dst, true
}
