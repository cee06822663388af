package conform

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"net/http"
	"strings"
)

// assets hold the clip in forms that need an encoder; README.md there says how they were made.
//
//go:embed audio
var assets embed.FS

func asset(name string) []byte {
	data, err := assets.ReadFile("audio/" + name)
	if err != nil { // the table names only what is there; a test opens all
		panic(err)
	}
	return data
}

// clipForm makes the clip in some form.
type clipForm func(s *session) upload

// hearsOrRefuses is T6: the clip in some form has the same words, or the form is refused for what it is.
func hearsOrRefuses(clip clipForm) check {
	return func(ctx context.Context, s *session) (string, error) {
		a, err := s.post(ctx, s.form(clip(s)))
		if err == nil && (a.status == http.StatusBadRequest || a.status == http.StatusUnsupportedMediaType) {
			return honestRefusal(a)
		}
		if err != nil {
			return "", err
		}
		return s.heardIn(ctx, a)
	}
}

// hears is the check of a clip that must be heard as it is in plain WAV.
func hears(clip clipForm) check {
	return hearsForm(func(s *session) *form { return s.form(clip(s)) })
}

// hearsForm is the check of a request whose file is the clip, which must be heard.
func hearsForm(make func(s *session) *form) check {
	return func(ctx context.Context, s *session) (string, error) {
		a, err := s.post(ctx, make(s))
		if err != nil {
			return "", err
		}
		return s.heardIn(ctx, a)
	}
}

// heardIn returns an error unless an answer, as json, has the words of the clip.
func (s *session) heardIn(ctx context.Context, a *answer) (string, error) {
	var v struct{ Text string }
	if a.status != http.StatusOK || a.decode(&v) != nil {
		return "", fmt.Errorf("%s", a)
	}
	want, err := s.clipText(ctx)
	if err != nil {
		return "", err
	}
	return a.String(), alike(v.Text, want)
}

// honestRefusal is the refusal of a form: it must name those that are taken.
func honestRefusal(a *answer) (string, error) {
	got, err := refused(a, "file", http.StatusBadRequest, http.StatusUnsupportedMediaType)
	if err == nil && !strings.Contains(strings.ToLower(string(a.body)), "wav") {
		err = fmt.Errorf("%s: it does not say which forms are taken", a)
	}
	return got, err
}

// asWAV is the clip as WAV in some form.
func asWAV(f wavForm) clipForm {
	return func(s *session) upload { return wav(f.encode(s.speech.cut(0, clipSeconds))) }
}

// asAsset is the clip as one of the stored files.
func asAsset(name, contentType string) clipForm {
	return func(*session) upload { return file(name, contentType, asset(name)) }
}

// named is the clip as plain WAV under another name and type.
func named(name, contentType string) clipForm {
	return func(s *session) upload { return s.clip().as(name, contentType) }
}

// picture is what an ID3v2 tag holds as a cover.
type picture struct {
	kind, mime string
	bytes      int
}

// withCovers is the clip as MP3 behind a tag with pictures.
func withCovers(pictures ...picture) clipForm {
	return func(*session) upload {
		var frames []byte
		for _, p := range pictures {
			body := append([]byte("\x00"+p.mime+"\x00"+p.kind+"\x00"),
				bytes.Repeat([]byte{0xFF, 0xFB, 0x90, 0x44}, p.bytes/4)...)
			frames = append(frames, "APIC"...)
			frames = append(frames, synchsafe(len(body))...)
			frames = append(append(frames, 0, 0), body...)
		}
		tag := append([]byte("ID3\x04\x00\x00"), synchsafe(len(frames))...)
		return file("speech.mp3", "audio/mpeg", append(append(tag, frames...), asset("clip.mp3")...))
	}
}

// synchsafe is a size as ID3v2.4 writes it: seven bits a byte, so that it never looks like the start of an MP3 frame.
func synchsafe(n int) []byte {
	return []byte{byte(n >> 21 & 0x7F), byte(n >> 14 & 0x7F), byte(n >> 7 & 0x7F), byte(n & 0x7F)}
}
