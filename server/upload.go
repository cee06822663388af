package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"hark/audioprep"
)

// Bounds of a form beside its file. OpenAI's largest fields are four voice samples as data URLs, some 0.4 MB each.
const (
	maxFieldBytes  = 1 << 20
	maxFieldsBytes = 4 << 20 // all values and names together, files of other names included
	maxParts       = 1200    // a thousand keywords, and the rest
)

// upload is a request's body taken apart. Close it.
type upload struct {
	audio    *spool          // nil if there was no file
	label    audioprep.Label // what is said of the file
	fields   fields
	other    []string  // names of files that are not "file", in order
	decoding *Decoding // begun while the file arrived, or nil
}

func (u *upload) Close() {
	if u.decoding != nil {
		u.decoding.Close()
	}
	if u.audio != nil {
		u.audio.Close()
	}
}

// uploadLimits says how an upload is stored.
type uploadLimits struct {
	spoolDir       string
	spoolThreshold int64
	maxFileBytes   int64
	memory         *memoryShare
	// incoming, if not nil, makes the place for the file; else it's a spool of these limits.
	incoming func() (*spool, error)
	// began, if not nil, is told of the file as soon as it begins, with the fields that came before it.
	began func(u *upload)
}

// store copies the file's bytes to a spool of their own as they come.
func (u *upload) store(r io.Reader, lim uploadLimits) error {
	if lim.incoming == nil {
		u.audio = &spool{dir: lim.spoolDir, threshold: lim.spoolThreshold, limit: lim.maxFileBytes, share: lim.memory}
	} else if s, err := lim.incoming(); err == nil {
		u.audio = s
	} else {
		return err
	}
	if lim.began != nil {
		lim.began(u)
	}
	_, err := io.Copy(u.audio, r)
	u.audio.end(err)
	return err
}

// checkLength refuses a body by the length that it claims, before it is read.
func checkLength(r *http.Request, maxFileBytes int64) error {
	if r.ContentLength > maxFileBytes+maxFieldsBytes {
		return fileTooLarge(maxFileBytes)
	}
	return nil
}

// readUpload reads a body to its end. A content type of multipart/form-data makes it a form,
// application/json and a plain form are fields alone; anything else is the bare audio where bare is allowed.
// On an error nothing is left of the upload.
func readUpload(contentType string, r io.Reader, lim uploadLimits, bare bool) (*upload, error) {
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil { // which leaves the type empty for a parameter with two values
		mediaType, _, _ = strings.Cut(contentType, ";")
		mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	}
	switch mediaType {
	case "multipart/form-data":
	case "application/json":
		return readJSON(r)
	case "application/x-www-form-urlencoded":
		start := bufio.NewReader(r)
		if !bare || looksLikeForm(start) {
			return readPlainForm(start)
		}
		return readBare(contentType, start, lim)
	default:
		if !bare {
			return nil, &apiError{status: http.StatusUnsupportedMediaType, code: "unsupported_content_type",
				message: "the body must be multipart/form-data with the audio in the field \"file\""}
		}
		return readBare(contentType, r, lim)
	}
	if err != nil || params["boundary"] == "" {
		return nil, &apiError{status: http.StatusBadRequest, code: "malformed_body", cause: err,
			message: "the Content-Type multipart/form-data has no usable boundary: let your HTTP library set it"}
	}
	return readForm(multipart.NewReader(r, params["boundary"]), r, lim)
}

// readBare reads a body that is the audio itself.
func readBare(contentType string, r io.Reader, lim uploadLimits) (*upload, error) {
	u := &upload{label: audioprep.Label{Type: contentType}}
	if err := u.store(r, lim); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// readForm reads the parts of a form, in whatever order they come.
func readForm(parts *multipart.Reader, r io.Reader, lim uploadLimits) (_ *upload, err error) {
	u := &upload{fields: fields{}}
	defer func() {
		if err != nil {
			u.Close()
		}
	}()
	room := int64(maxFieldsBytes)
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if err == io.EOF {
			// Whatever follows the last boundary is read, so that the link can be used again.
			if _, err := io.CopyN(io.Discard, r, 64<<10); err != nil && err != io.EOF {
				return nil, err
			}
			return u, nil
		}
		if err != nil {
			return nil, err
		}
		if n == maxParts {
			return nil, &apiError{status: http.StatusRequestEntityTooLarge, code: "too_many_fields", retry: retryNever,
				message: fmt.Sprintf("the form has more than %d parts", maxParts)}
		}
		if err := u.readPart(part, &room, lim); err != nil {
			return nil, err
		}
	}
}

// readPart stores one part; room is what is left for fields and falls.
func (u *upload) readPart(part *multipart.Part, room *int64, lim uploadLimits) error {
	name, isFile := partName(part)
	switch {
	case name == "file":
		if u.audio != nil {
			return badField("file", "too_many_files", "the form has more than one file: send one in each request")
		}
		u.label = audioprep.Label{Name: part.FileName(), Type: part.Header.Get("Content-Type")}
		return u.store(part, lim)
	case isFile && !known(name):
		u.other = append(u.other, name)
	}
	value, err := readField(part, name, room)
	if err == nil && (!isFile || known(name)) {
		u.fields.add(name, value)
	}
	return err
}

// readField reads a field's value within the bounds.
func readField(part io.Reader, name string, room *int64) (string, error) {
	var value strings.Builder
	limit := min(int64(maxFieldBytes), *room)
	n, err := io.CopyN(&value, part, limit+1)
	*room -= n + int64(len(name))
	switch {
	case n > limit || *room < 0:
		return "", &apiError{status: http.StatusRequestEntityTooLarge, code: "field_too_large",
			param: shown(name), retry: retryNever,
			message: fmt.Sprintf("a field may have %s and all together %s; the audio belongs in the field \"file\"",
				byteSize(maxFieldBytes), byteSize(maxFieldsBytes))}
	case err != nil && !errors.Is(err, io.EOF):
		return "", err
	}
	return value.String(), nil
}

// partName is a part's field name, and whether it came with a file name. Where the header can't be parsed (some clients
// put quotes and line breaks into file names as they are), the field name is looked for by hand.
func partName(part *multipart.Part) (name string, isFile bool) {
	if name = part.FormName(); name != "" {
		return name, part.FileName() != ""
	}
	header := part.Header.Get("Content-Disposition")
	lower := strings.ToLower(header)
	isFile = strings.Contains(lower, "filename")
	for rest, at := lower, 0; ; {
		i := strings.Index(rest, "name=")
		if i < 0 {
			return "", isFile
		}
		at += i + len("name=")
		rest = lower[at:]
		if before := at - len("name=") - 1; before < 0 || !strings.ContainsRune("; \t", rune(lower[before])) {
			continue // the end of filename=
		}
		value := header[at:]
		if quoted, ok := strings.CutPrefix(value, `"`); ok {
			name, _, _ = strings.Cut(quoted, `"`)
			return name, isFile
		}
		name, _, _ = strings.Cut(value, ";")
		return strings.TrimSpace(name), isFile
	}
}
