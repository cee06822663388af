package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"sync"
	"time"
)

// SecretPrefix begins each client secret, as OpenAI's do.
const SecretPrefix = "ek_"

// maxSecrets is how many client secrets may be good at once: far more than callers need, some megabytes.
const maxSecrets = 10_000

// ErrTooManySecrets says that as many client secrets are good as are kept.
var ErrTooManySecrets = errors.New("access: too many client secrets are good at once")

// Secrets are keys for a short while, which a caller's own server makes for a browser or an app that is
// not to have the key itself. They are in memory alone, by their hashes. The zero value is empty and
// ready to use; it's safe for concurrent use.
type Secrets[T any] struct {
	mu     sync.Mutex
	byHash map[hash]*Secret[T]
}

// Secret is what is known of a client secret.
type Secret[T any] struct {
	// Caller is who made it; "" where the server has no keys.
	Caller string
	// Expires is when it's good no more.
	Expires time.Time
	// For is what it's for.
	For T
}

// New makes a secret and returns it as text: "ek_" and 256 random bits. The error is ErrTooManySecrets.
func (s *Secrets[T]) New(secret Secret[T], now time.Time) (string, error) {
	var b [32]byte
	rand.Read(b[:]) // never fails
	text := SecretPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHash == nil {
		s.byHash = map[hash]*Secret[T]{}
	}
	if len(s.byHash) >= maxSecrets {
		s.forget(now)
	}
	if len(s.byHash) >= maxSecrets {
		return "", ErrTooManySecrets
	}
	s.byHash[sha256.Sum256([]byte(text))] = &secret
	return text, nil
}

// forget drops those that are good no more. The lock is held.
func (s *Secrets[T]) forget(now time.Time) {
	for h, secret := range s.byHash {
		if !now.Before(secret.Expires) {
			delete(s.byHash, h)
		}
	}
}

// Find returns the secret of a text while it's good, else nil. What a look-up's time could
// tell is of the hash, which leads nowhere.
func (s *Secrets[T]) Find(text string, now time.Time) *Secret[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	secret := s.byHash[sha256.Sum256([]byte(text))]
	if secret == nil || !now.Before(secret.Expires) {
		return nil
	}
	return secret
}
