package models

// A tokenizer file writes a token's bytes as text, so every byte stands for a
// character: itself where that is a printable character of Latin-1 other than
// the space, else the next unused one from U+0100 on. The space is Ġ. This is
// GPT-2's bytes_to_unicode (src/encoder.py in openai/gpt-2).
var byteOf = func() map[rune]byte {
	m := make(map[rune]byte, 256)
	next := rune(0x100)
	for b := rune(0); b < 256; b++ {
		if '!' <= b && b <= '~' || '¡' <= b && b <= '¬' || '®' <= b && b <= 'ÿ' {
			m[b] = byte(b)
			continue
		}
		m[next] = byte(b)
		next++
	}
	return m
}()

// unalphabet returns the bytes that a token of the file stands for, or false
// if a character is not in the alphabet.
func unalphabet(token string) ([]byte, bool) {
	raw := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := byteOf[r]
		if !ok {
			return nil, false
		}
		raw = append(raw, b)
	}
	return raw, true
}
