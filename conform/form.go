package conform

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// upload is a file to send. It is made while it is sent.
type upload struct {
	name        string // "" sends none
	contentType string
	size        int64
	open        func() io.Reader
}

// wav is an upload of data as a WAV file.
func wav(data []byte) upload { return file("speech.wav", "audio/x-wav", data) }

func file(name, contentType string, data []byte) upload {
	return upload{name, contentType, int64(len(data)), func() io.Reader { return bytes.NewReader(data) }}
}

// as is the upload under another name and type.
func (u upload) as(name, contentType string) upload {
	u.name, u.contentType = name, contentType
	return u
}

// form is a multipart/form-data body: its parts in the order in which they are sent.
type form struct {
	parts   []part
	chunked bool // send no Content-Length
}

// part is one part of a form: its header's lines and what it holds.
type part struct {
	header string
	size   int64
	open   func() io.Reader
}

// add appends fields, each NAME=VALUE.
func (f *form) add(fields ...string) {
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		f.parts = append(f.parts, part{
			fmt.Sprintf("Content-Disposition: form-data; name=\"%s\"\r\n", name), int64(len(value)),
			func() io.Reader { return strings.NewReader(value) }})
	}
}

// addFile appends the file, its name with quotes escaped as curl and the official clients do.
func (f *form) addFile(u upload) {
	f.addFileAs(u, `filename="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(u.name)+`"`)
}

// addFileAs appends the file with its name put as given.
func (f *form) addFileAs(u upload, filename string) {
	header := `Content-Disposition: form-data; name="file"; ` + filename + "\r\n"
	if u.contentType != "" {
		header += "Content-Type: " + u.contentType + "\r\n"
	}
	f.parts = append(f.parts, part{header, u.size, u.open})
}

const boundary = "----------------------------conform7d3f1a90b2c4"

// encode returns the body, its length and its content type.
func (f *form) encode() (body io.Reader, size int64, contentType string) {
	var readers []io.Reader
	text := func(t string) {
		readers = append(readers, strings.NewReader(t))
		size += int64(len(t))
	}
	for _, p := range f.parts {
		text("--" + boundary + "\r\n" + p.header + "\r\n")
		readers = append(readers, p.open())
		size += p.size
		text("\r\n")
	}
	text("--" + boundary + "--\r\n")
	return io.MultiReader(readers...), size, "multipart/form-data; boundary=" + boundary
}
