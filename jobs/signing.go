package jobs

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Webhooks are signed in the form of https://www.standardwebhooks.com (specification, "Symmetric signatures"): three
// headers, of which the signature is over the message's id, the time and the body, with full stops between them. A
// receiver computes it anew, compares in constant time, and drops what is old or has an id that it knows.

// Keys are secrets that webhooks are signed with, each by itself, so that one can take another's place.
type Keys [][]byte

// secretPrefix begins a secret that is written in base64.
const secretPrefix = "whsec_"

// A secret's length in bytes: the specification asks for 24 to 64.
const minSecret, newSecret = 16, 32

// ParseKeys reads secrets, one a line: "whsec_" and base64, or any text of at least 16 bytes, which is taken as it is.
func ParseKeys(text []byte) (Keys, error) {
	var keys Keys
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key := []byte(line)
		if encoded, ok := strings.CutPrefix(line, secretPrefix); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return nil, fmt.Errorf("line %d: behind %s there must be base64", i+1, secretPrefix)
			}
		}
		if len(key) < minSecret {
			return nil, fmt.Errorf("line %d: a secret has %d bytes, want at least %d", i+1, len(key), minSecret)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no secret in it")
	}
	return keys, nil
}

// OwnKeys reads the secret that lies in a folder of jobs, or makes one, and says where it is.
func OwnKeys(dir string) (keys Keys, path string, err error) {
	path = filepath.Join(dir, "webhook-secret")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret := make([]byte, newSecret)
		rand.Read(secret)
		text = []byte(secretPrefix + base64.StdEncoding.EncodeToString(secret) + "\n")
		err = writeWhole(path, text)
	}
	if err != nil {
		return nil, path, err
	}
	if keys, err = ParseKeys(text); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return keys, path, err
}

// writeWhole makes a file that is there whole or not at all.
func writeWhole(path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Sign is the value of the header webhook-signature.
func (k Keys) Sign(id string, at time.Time, body []byte) string {
	signed := bytes.Join([][]byte{[]byte(id), []byte(strconv.FormatInt(at.Unix(), 10)), body}, []byte("."))
	var all []string
	for _, key := range k {
		mac := hmac.New(sha256.New, key)
		mac.Write(signed)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}
