package access

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const (
	keyA = "hark_aaaaaaaaaaaaaaaaaaaa"
	keyB = "hark_bbbbbbbbbbbbbbbbbbbb"
)

func TestRead(t *testing.T) {
	k, err := Read(strings.NewReader("\ufeff# who may call\r\n\r\nalice:" + keyA + "\r\n  bob:" + HashText(keyB) +
		" rpm=60  audio-per-minute=10m audio-per-hour=2h concurrent=4 weight=2.5\nalice:hark_another_key_of_hers\n"))
	if err != nil {
		t.Fatal(err)
	}
	for key, name := range map[string]string{keyA: "alice", keyB: "bob", "hark_another_key_of_hers": "alice"} {
		if c := k.Find(key); c == nil || c.Name() != name {
			t.Errorf("%s: got %v, want %s", key, c, name)
		}
	}
	for _, key := range []string{"", keyA + "a", keyA[1:], HashText(keyB), "alice"} {
		if c := k.Find(key); c != nil {
			t.Errorf("%q is taken for a key of %s", key, c.Name())
		}
	}
	if k.Find(keyA) != k.Find("hark_another_key_of_hers") {
		t.Error("two keys of one name are two callers")
	}
	want := Limits{60, 10 * time.Minute, 2 * time.Hour, 4, 2.5}
	if got := k.Caller("bob").limits; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if k.Len() != 3 || k.Caller("carol") != nil {
		t.Errorf("got %d keys, and carol is %v", k.Len(), k.Caller("carol"))
	}
}

func TestReadRefuses(t *testing.T) {
	a := "alice:" + keyA
	for list, want := range map[string]string{
		"":                                  "no keys",
		"# nothing\n\n":                     "no keys",
		keyA:                                "line 1: want NAME:KEY, the caller's name before the key",
		"\n:" + keyA:                        "line 2: a name has 1 to 64 letters, digits, and . _ - @",
		"a/b:" + keyA:                       "line 1: a name has 1 to 64 letters, digits, and . _ - @",
		"alice:short":                       "line 1: alice: a key has at least 16 characters: `hark keys new NAME` makes one",
		"alice:" + strings.Repeat("x", 513): "line 1: alice: a key has at most 512 characters",
		"alice:hark_ümlauts_in_a_key":       "line 1: alice: a key is printable ASCII without spaces and commas",
		"alice:sha256:abc":                  "line 1: alice: sha256: wants 64 hexadecimal digits behind it",
		"alice:sha256:" + keyA:              "line 1: alice: sha256: wants 64 hexadecimal digits behind it",
		a + " rpm":                          `line 1: alice: "rpm" is no limit: want NAME=VALUE with one of rpm, audio-per-minute, audio-per-hour, concurrent, weight`,
		a + " rpm=0":                        `line 1: alice: rpm: "0", want a number from 1 to 1000000`,
		a + " weight=0":                     `line 1: alice: weight: "0", want a number from 0.01 to 100`,
		a + " weight=NaN":                   `line 1: alice: weight: "NaN", want a number from 0.01 to 100`,
		a + " rpm=1 rpm=2":                  "line 1: alice: rpm is given twice",
		a + " tokens=5":                     "line 1: alice: tokens: unknown limit, want one of rpm, audio-per-minute, audio-per-hour, concurrent, weight",
		a + " audio-per-hour=7":             `line 1: alice: audio-per-hour: "7", want a length from 1s, such as 90s, 10m or 2h`,
		a + " audio-per-minute=1ms":         `line 1: alice: audio-per-minute: "1ms", want a length from 1s, such as 90s, 10m or 2h`,
		a + "\nbob:" + keyA:                 "line 2: the key of line 1 once more",
		a + "\n\nalice:" + keyB + " rpm=1":  "line 3: alice has other limits on line 1: a caller's keys share them",
		strings.Repeat("#", maxListBytes+1): "longer than 1048576 bytes",
	} {
		_, err := Read(strings.NewReader(list))
		if err == nil || err.Error() != want {
			t.Errorf("%.40q: got %v, want %s", list, err, want)
		}
		if err != nil && strings.Contains(err.Error(), keyA) {
			t.Errorf("%.40q: the error shows a key", list)
		}
	}
	if _, err := Parse(" , "); !errors.Is(err, ErrNoKeys) {
		t.Errorf("got %v, want %v", err, ErrNoKeys)
	}
}

func TestParse(t *testing.T) {
	k, err := Parse("alice:" + keyA + " rpm=5,bob:" + keyB)
	if err != nil || k.Find(keyA).limits.RequestsPerMinute != 5 || k.Find(keyB).Name() != "bob" {
		t.Errorf("got %v, %v", k, err)
	}
}

func TestLine(t *testing.T) {
	for _, limits := range []Limits{{}, {RequestsPerMinute: 7}, {AudioPerMinute: 90 * time.Second, AudioPerHour: time.Hour, Concurrent: 1}, {Weight: 0.25}} {
		key := NewKey()
		k, err := Read(strings.NewReader(Line("alice", HashText(key), limits)))
		if err != nil {
			t.Fatal(err)
		}
		if c := k.Find(key); c == nil || c.limits != limits {
			t.Errorf("%+v came back as %+v", limits, c)
		}
	}
}

func TestNewKey(t *testing.T) {
	a, b := NewKey(), NewKey()
	if a == b || len(a) != len("hark_")+43 || CheckKey(a) != nil {
		t.Errorf("got %s and %s", a, b)
	}
}

// FuzzRead: whatever a list holds, an error never shows a long part of it, and what is
// read can be written and read again.
func FuzzRead(f *testing.F) {
	f.Add("alice:" + keyA + " rpm=1\nbob:" + HashText(keyB))
	f.Add("a:sha256:00\n# x\n\r\n,b:" + keyA + " audio-per-hour=1h1ns")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseList(strings.NewReader(text))
		if err != nil {
			if len(err.Error()) > len(text)+300 {
				t.Errorf("a long error: %v", err)
			}
			return
		}
		for _, key := range l.keys {
			again, limits, err := parseLine(Line(key.name, "sha256:"+strings.ToUpper(HashText("")[7:]), l.limits[key.name]))
			if err != nil || again.name != key.name || limits != l.limits[key.name] {
				t.Errorf("%s %v came back as %v %v, %v", key.name, l.limits[key.name], again, limits, err)
			}
		}
	})
}
