package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// keyPrefix begins each key that NewKey makes, so that scanners for secrets and their owners know what they have found.
const keyPrefix = "hark_"

// Bounds of a plain key: shorter ones could be guessed from their hash, longer ones are something else.
const (
	MinKeyBytes = 16
	maxKeyBytes = 512
)

const hashPrefix = "sha256:"

// hash is the SHA-256 of a key.
type hash [sha256.Size]byte

// NewKey returns a new key: "hark_" and 256 random bits as 43 letters, digits, - and _.
func NewKey() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return keyPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// HashText returns what may stand for a key in a list: "sha256:" and 64 hexadecimal digits.
func HashText(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// CheckKey returns why a text can't be a key, without repeating it, or nil.
func CheckKey(key string) error {
	switch {
	case len(key) < MinKeyBytes:
		return fmt.Errorf("a key has at least %d characters: `hark keys new NAME` makes one", MinKeyBytes)
	case len(key) > maxKeyBytes:
		return fmt.Errorf("a key has at most %d characters", maxKeyBytes)
	case strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' }):
		return errors.New("a key is printable ASCII without spaces and commas") // what a header and a list can hold
	}
	return nil
}

// parseKey reads a key or the hash of one.
func parseKey(text string) (h hash, err error) {
	if digits, ok := strings.CutPrefix(text, hashPrefix); ok {
		sum, err := hex.DecodeString(digits)
		if err != nil || len(sum) != len(h) {
			return h, fmt.Errorf("%s wants %d hexadecimal digits behind it", hashPrefix, 2*len(h))
		}
		return hash(sum), nil
	}
	if err := CheckKey(text); err != nil {
		return h, err
	}
	return sha256.Sum256([]byte(text)), nil
}
