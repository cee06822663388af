package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// A request that names its file by URL needs no multipart form: its fields may come as
// JSON or as a plain form, both of them small.

// readJSON reads fields from a JSON object. A list is an array, an object's members become "name[member]".
func readJSON(r io.Reader) (*upload, error) {
	text, err := readAllFields(r)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, malformedFields("the body is not a JSON object", err)
	}
	u := &upload{fields: fields{}}
	for name, value := range object {
		if err := u.fields.addJSON(name, value, true); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// addJSON adds a value of any kind.
func (f fields) addJSON(name string, value json.RawMessage, outermost bool) error {
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return malformedFields("the body is not a JSON object", err)
	}
	switch v := decoded.(type) {
	case nil:
	case string:
		f.add(name, v)
	case bool:
		f.add(name, fmt.Sprint(v))
	case float64:
		f.add(name, strings.TrimSpace(string(value))) // as it was written
	case []any:
		var list []json.RawMessage
		json.Unmarshal(value, &list) // which it has just been
		for _, item := range list {
			if !outermost {
				break
			}
			if err := f.addJSON(name, item, false); err != nil {
				return err
			}
		}
	case map[string]any:
		if !outermost {
			return badField(shown(name), "invalid_value", "%s is nested too deeply", quoted(name))
		}
		var members map[string]json.RawMessage
		json.Unmarshal(value, &members)
		for member, item := range members {
			if err := f.addJSON(name+"["+member+"]", item, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPlainForm reads fields from a form of application/x-www-form-urlencoded.
func readPlainForm(r io.Reader) (*upload, error) {
	text, err := readAllFields(r)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, malformedFields("the body is not a well-formed application/x-www-form-urlencoded", err)
	}
	u := &upload{fields: fields{}}
	for name, list := range values {
		for _, v := range list {
			u.fields.add(name, v)
		}
	}
	return u, nil
}

// looksLikeForm reports whether a body that says it's a plain form is one: curl says so of
// whatever it is told to send, audio included.
func looksLikeForm(body *bufio.Reader) bool {
	start, _ := body.Peek(512)
	name, _, ok := strings.Cut(string(start), "=")
	name, err := url.QueryUnescape(name)
	return ok && err == nil && known(name) && !strings.ContainsFunc(string(start),
		func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' || r > '~' })
}

// readAllFields reads a body that consists of fields.
func readAllFields(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFieldsBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFieldsBytes {
		return nil, &apiError{status: http.StatusRequestEntityTooLarge, code: "field_too_large", retry: retryNever,
			message: fmt.Sprintf("all fields together may have %s", byteSize(maxFieldsBytes))}
	}
	return text, nil
}

func malformedFields(message string, cause error) *apiError {
	return &apiError{status: http.StatusBadRequest, code: "malformed_body", message: message, cause: cause}
}
