package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/rs/zerolog"

	"hark/audioprep"
	"hark/engine"
	"hark/engine/cpu"
	"hark/engine/whisper"
	"hark/models"
	"hark/server"
)

// liveHeard is what a live session said of one item.
type liveHeard struct {
	text       string
	start, end float64 // of its segments, in seconds
}

// speakLive opens a session with a format and sends sound in pieces of 20 ms, a commit behind each turn unless the
// server finds them. It returns the items, in order.
func speakLive(t *testing.T, url, format string, commit bool, pieceBytes int, turns ...[]byte) (items []liveHeard) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	link, _, err := websocket.Dial(ctx, url+"/v1/realtime?intent=transcription", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer link.CloseNow()
	link.SetReadLimit(1 << 20)
	turnDetection := `{"type":"server_vad"}`
	if commit {
		turnDetection = "null"
	}
	write := func(kind websocket.MessageType, message []byte) {
		if err := link.Write(ctx, kind, message); err != nil {
			t.Error(err)
		}
	}
	write(websocket.MessageText, fmt.Appendf(nil, `{"type":"session.update","session":{"type":"transcription","audio":{"input":{"format":%s,"transcription":{"model":"tiny.en"},"turn_detection":%s}}}}`, format, turnDetection))
	go func() {
		for _, turn := range turns {
			for piece := range slices.Chunk(turn, pieceBytes) {
				write(websocket.MessageBinary, piece)
			}
			if commit {
				write(websocket.MessageText, []byte(`{"type":"input_audio_buffer.commit"}`))
			}
		}
	}()
	at := liveHeard{start: math.Inf(1)}
	for len(items) < len(turns) {
		_, message, err := link.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Type, Transcript string
			Start, End       float64
		}
		if err := json.Unmarshal(message, &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "conversation.item.input_audio_transcription.segment":
			at.start, at.end = min(at.start, e.Start), max(at.end, e.End)
		case "conversation.item.input_audio_transcription.completed":
			at.text = e.Transcript
			items, at = append(items, at), liveHeard{start: math.Inf(1)}
		case "error", "conversation.item.input_audio_transcription.failed":
			t.Fatalf("%s", message)
		}
	}
	return items
}

// serveTiny serves tiny.en and returns the address, or skips the test where the model is not here.
func serveTiny(t *testing.T, settings whisper.Settings) string {
	t.Helper()
	if testing.Short() {
		t.Skip("real models are left out of short tests")
	}
	store, err := models.OpenStore("")
	if err != nil {
		t.Fatal(err)
	}
	dir, ok := store.Path("tiny.en")
	if !ok && os.Getenv("CI") == "" {
		t.Skip("model tiny.en is not here: make models")
	}
	device, err := cpu.New(cpu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { device.Close() })
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(context.Context, string) (engine.Model, error) {
		return whisper.Load(device, dir, "tiny.en", settings)
	}})
	t.Cleanup(func() { registry.Close() })
	s, err := server.New(server.Config{Models: []string{"tiny.en"}}, registry, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	ts := httptest.NewServer(s.Handler())
	t.Cleanup(ts.Close)
	return ts.URL
}

// at takes samples from 16 kHz to another rate, well enough for speech: straight
// lines, and on the way down means of two.
func at(samples []float32, rate int) []float32 {
	out := make([]float32, len(samples)*rate/engine.SampleRate)
	for i := range out {
		place := float64(i) * engine.SampleRate / float64(rate)
		j := int(place)
		next := samples[min(j+1, len(samples)-1)]
		part := float32(place - float64(j))
		if rate < engine.SampleRate {
			part = 0.5
		}
		out[i] = samples[j] + part*(next-samples[j])
	}
	return out
}

// pcmAt encodes samples as 16-bit PCM.
func pcmAt(rate int) func([]float32) []byte {
	return func(samples []float32) (raw []byte) {
		for _, v := range at(samples, rate) {
			raw = binary.LittleEndian.AppendUint16(raw, uint16(int16(v*(1<<15-1))))
		}
		return raw
	}
}

// lawAt encodes samples at 8 kHz, each as the first byte that is not below it.
func lawAt(t *testing.T, codec audioprep.RawCodec) func([]float32) []byte {
	t.Helper()
	decoder, err := audioprep.NewRawDecoder(codec, engine.SampleRate)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	values := decoder.Write(nil, all)
	slices.SortFunc(all, func(a, b byte) int { return cmp.Compare(values[a], values[b]) })
	return func(samples []float32) (raw []byte) {
		for _, v := range at(samples, 8000) {
			i, _ := slices.BinarySearchFunc(all, v, func(b byte, v float32) int { return cmp.Compare(values[b], v) })
			raw = append(raw, all[min(i, 255)])
		}
		return raw
	}
}

// TestLive says the sample to a server with a real model, in every form that sound may have: it hears the
// same words each time, where they were said.
func TestLive(t *testing.T) {
	url := serveTiny(t, whisper.Settings{ShortContext: true, Speech: sampleSound(5)})
	text, err := os.ReadFile("testdata/sample.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := words(string(text))
	pcm, err := audioprep.Decode(t.Context(), bytes.NewReader(sample), audioprep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain := pcm.Samples
	seconds := float64(len(plain)) / engine.SampleRate
	const pause = 2.0
	for _, form := range []struct {
		name, format string
		encode       func([]float32) []byte
		rate, width  int
		commit       bool
	}{
		{"24 kHz", `{"type":"audio/pcm","rate":24000}`, pcmAt(24000), 24000, 2, true},
		{"16 kHz", `{"type":"audio/pcm","rate":16000}`, pcmAt(16000), 16000, 2, true},
		{"8 kHz", `{"type":"audio/pcm","rate":8000}`, pcmAt(8000), 8000, 2, true},
		{"mu-law", `{"type":"audio/pcmu"}`, lawAt(t, audioprep.RawMuLaw), 8000, 1, true},
		{"A-law", `{"type":"audio/pcma"}`, lawAt(t, audioprep.RawALaw), 8000, 1, true},
		{"24 kHz, turns found", `{"type":"audio/pcm","rate":24000}`, pcmAt(24000), 24000, 2, false},
	} {
		t.Run(form.name, func(t *testing.T) {
			turn := append(form.encode(plain), form.encode(make([]float32, int(pause*engine.SampleRate)))...)
			items := speakLive(t, url, form.format, form.commit, form.rate*form.width/50, turn, turn)
			for i, item := range items {
				errors, missing, added := compareWords(want, words(item.text))
				if errors > 2 || missing > 1 || added > 1 {
					t.Errorf("item %d: %d words are wrong in %q", i, errors, item.text)
				}
				begin := float64(i) * (seconds + pause)
				if math.Abs(item.start-begin) > 0.6 || item.end < begin+seconds-1.5 || item.end > begin+seconds+pause {
					t.Errorf("item %d is at %.2f to %.2f s, want about %.2f to %.2f", i, item.start, item.end, begin, begin+seconds)
				}
			}
		})
	}
	t.Run("an item of several windows", func(t *testing.T) {
		const times = 5
		long := bytes.Repeat(pcmAt(16000)(plain), times)
		item := speakLive(t, url, `{"type":"audio/pcm","rate":16000}`, true, 640, long)[0]
		errors, missing, added := compareWords(slices.Repeat(want, times), words(item.text))
		if errors > 2*times || missing > 1 || added > 1 {
			t.Errorf("%d words are wrong, up to %d in a row are missing, up to %d added: %q", errors, missing, added, item.text)
		}
		if end := times * seconds; math.Abs(item.end-end) > 1 {
			t.Errorf("the last segment ends at %.2f s, want about %.2f", item.end, end)
		}
	})
}
