package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"sync"
	"testing"

	"hark/engine/whisper"
)

// TestManyAtOnce sends 64 clips at once to a server with a real model: each gets the very answer that it gets alone.
func TestManyAtOnce(t *testing.T) {
	url := serveTiny(t, whisper.Settings{})
	clips := clipsOf(t, "testdata/sample.wav", 16)
	alone := make([]string, len(clips))
	different := map[string]bool{}
	for i, clip := range clips {
		alone[i] = post(t, url, clip)
		different[alone[i]] = true
	}
	if len(different) < len(clips)*3/4 {
		t.Fatalf("the clips are too alike: %d answers for %d", len(different), len(clips))
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			k := i % len(clips)
			if got := post(t, url, clips[k]); got != alone[k] {
				t.Errorf("clip %d:\namong 64 %s\nalone    %s", k, got, alone[k])
			}
		})
	}
	wg.Wait()
}

// clipsOf cuts n overlapping stretches of 3 s, as WAV files, from a file of 16 kHz, 16 bit, mono.
func clipsOf(t *testing.T, path string, n int) [][]byte {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header, length = 44, 3 * 32000
	step := (len(file) - header - length) / n &^ 1
	var clips [][]byte
	for i := range n {
		clip := append(bytes.Clone(file[:header]), file[header+i*step:][:length]...)
		binary.LittleEndian.PutUint32(clip[4:], header-8+length)
		binary.LittleEndian.PutUint32(clip[40:], length)
		clips = append(clips, clip)
	}
	return clips
}

// post asks for a verbose transcript with words.
func post(t *testing.T, url string, file []byte) string {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "clip.wav")
	if err != nil {
		t.Error(err)
		return ""
	}
	part.Write(file)
	for _, field := range [][2]string{{"model", "tiny.en"}, {"response_format", "verbose_json"}, {"timestamp_granularities[]", "word"}, {"timestamp_granularities[]", "segment"}} {
		form.WriteField(field[0], field[1])
	}
	form.Close()
	resp, err := http.Post(url+"/v1/audio/transcriptions", form.FormDataContentType(), &body)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, answer)
}
