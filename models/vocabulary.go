package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	errNotVocabulary = errors.New("not an object of tokens and their ids")
	errNotMerges     = errors.New("merges: not a list of pairs")
)

// eachToken calls visit for every member of a JSON object of numbers. It does
// what eachMember does, several times faster: a vocabulary has 50,000 members
// and is read at every start. The object has been seen to be valid JSON, on
// which its safety does not depend.
func eachToken(object []byte, visit func(token string, id int32) error) error {
	s := vocabularyScanner{object, 0}
	if !s.next('{') {
		return errNotVocabulary
	}
	if s.next('}') {
		return nil
	}
	for {
		token, ok := s.text()
		if !ok || !s.next(':') {
			return errNotVocabulary
		}
		id, err := strconv.ParseInt(s.number(), 10, 32)
		if err != nil {
			return fmt.Errorf("id of %q: %w", token, err)
		}
		if err := visit(token, int32(id)); err != nil {
			return err
		}
		switch {
		case s.next(','):
		case s.next('}'):
			return nil
		default:
			return errNotVocabulary
		}
	}
}

// eachMerge calls visit for every pair in a JSON list: of strings with a space between the two, as
// files had them at first, or of lists of two.
func eachMerge(list []byte, visit func(i int, left, right string) error) error {
	s := vocabularyScanner{list, 0}
	if !s.next('[') {
		return errNotMerges
	}
	if s.next(']') {
		return nil
	}
	for i := 0; ; i++ {
		left, right, err := s.pair(i)
		if err != nil {
			return err
		}
		if err := visit(i, left, right); err != nil {
			return err
		}
		switch {
		case s.next(','):
		case s.next(']'):
			return nil
		default:
			return errNotMerges
		}
	}
}

// pair takes the i-th pair of a list.
func (s *vocabularyScanner) pair(i int) (left, right string, err error) {
	listed := s.next('[')
	text, ok := s.text()
	if !ok {
		return "", "", errNotMerges
	}
	two := false
	if listed {
		left = text
		if two = s.next(','); two {
			if right, ok = s.text(); !ok {
				return "", "", errNotMerges
			}
			two = s.next(']')
		}
	} else if left, right, two = strings.Cut(text, " "); strings.Contains(right, " ") {
		two = false
	}
	if !two {
		return "", "", fmt.Errorf("merge %d is not a pair", i)
	}
	return left, right, nil
}

type vocabularyScanner struct {
	data []byte
	at   int
}

func (s *vocabularyScanner) skipSpace() {
	for s.at < len(s.data) &&
		(s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\r' || s.data[s.at] == '\t') {
		s.at++
	}
}

// next takes the byte if it comes next, after white space.
func (s *vocabularyScanner) next(want byte) bool {
	s.skipSpace()
	if s.at == len(s.data) || s.data[s.at] != want {
		return false
	}
	s.at++
	return true
}

// text takes a string.
func (s *vocabularyScanner) text() (string, bool) {
	if !s.next('"') {
		return "", false
	}
	start, escaped := s.at, false
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			escaped = true
			s.at++
		case '"':
			s.at++
			if !escaped {
				return string(s.data[start : s.at-1]), true
			}
			var text string
			err := json.Unmarshal(s.data[start-1:s.at], &text)
			return text, err == nil
		}
	}
	return "", false
}

// number takes what may be an integer.
func (s *vocabularyScanner) number() string {
	s.skipSpace()
	start := s.at
	for s.at < len(s.data) && (s.data[s.at] == '-' || '0' <= s.data[s.at] && s.data[s.at] <= '9') {
		s.at++
	}
	return string(s.data[start:s.at])
}
