package server

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hark/audioprep"
	"hark/engine"
)

// TestExplain: what a file is and would cost, as a form and as a bare body.
func TestExplain(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(2, 1)
	if a := ts.transcribe(t, clip); a.status != 200 { // so that the time of a batch is known
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	batches := ts.model.batches.Load()
	for how, a := range map[string]*answer{
		"form": ts.post(t, "/v1/explain", clip),
		"bare": ts.request(t, http.MethodPost, "/v1/explain", "audio/wav", bytes.NewReader(clip)),
	} {
		if a.status != 200 || a.header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: status %d: %s", how, a.status, a.body)
		}
		v := a.json(t)
		for key, want := range map[string]any{
			"bytes": float64(len(clip)), "container": "wav", "codec": "pcm_s16", "sample_rate": 16000.0, "channels": 1.0, "track": 1.0,
			"duration_s": 2.0, "lane": "clips", "cost_ms": 2000.0, "windows": 1.0, "model": ts.model.info.Name,
		} {
			if v[key] != want {
				t.Errorf("%s: %s: got %v, want %v", how, key, v[key], want)
			}
		}
		if faults, ok := v["faults"].([]any); !ok || len(faults) != 0 {
			t.Errorf("%s: faults: got %v, want none", how, v["faults"])
		}
		if l, ok := v["loudness_lufs"].(float64); !ok || l > 0 || l < -40 {
			t.Errorf("%s: loudness: got %v", how, v["loudness_lufs"])
		}
		if share, ok := v["speech_share"].(float64); !ok || share < 0.3 || share > 1 {
			t.Errorf("%s: speech: got %v", how, v["speech_share"])
		}
		if wait, ok := v["predicted_wait_ms"].(float64); !ok || wait <= 0 {
			t.Errorf("%s: wait: got %v", how, v["predicted_wait_ms"])
		}
		if _, ok := v["reason"]; ok {
			t.Errorf("%s: got a reason: %v", how, v["reason"])
		}
	}
	if got := ts.model.batches.Load(); got != batches {
		t.Errorf("the model ran %d batches for it", got-batches)
	}
}

// TestExplainRecording: lanes follow the length, cost what is left without silence.
func TestExplainRecording(t *testing.T) {
	ts := newTestServer(t, nil)
	v := ts.post(t, "/v1/explain", speechWAV(45, 1)).json(t)
	if v["lane"] != "recordings" || v["windows"].(float64) < 2 || v["cost_ms"].(float64) < 30_000 || v["duration_s"] != 45.0 {
		t.Errorf("45 s of speech: got %v", v)
	}
	v = ts.post(t, "/v1/explain", silentWAV(45)).json(t)
	if v["lane"] != "recordings" || v["windows"] != 0.0 || v["cost_ms"] != 0.0 || v["speech_share"] != 0.0 {
		t.Errorf("45 s of silence: got %v", v)
	}
	if _, ok := v["loudness_lufs"]; ok || !strings.HasPrefix(v["faults"].([]any)[0].(string), "silent: ") {
		t.Errorf("45 s of silence: got %v", v)
	}
}

// TestExplainSequential: a recording that is not cut costs all of it.
func TestExplainSequential(t *testing.T) {
	ts := newTestServer(t, nil)
	file := append(speechWAV(40, 1), make([]byte, 2*engine.SampleRate*20)...)
	binary.LittleEndian.PutUint32(file[40:], uint32(len(file)-44)) // 20 s of silence behind
	cut, whole := ts.post(t, "/v1/explain", file).json(t), ts.post(t, "/v1/explain", file, "sequential", "true").json(t)
	if cut["cost_ms"].(float64) > 45_000 || whole["cost_ms"] != 60_000.0 {
		t.Errorf("got cost %v, sequential %v, want less than 45000, and 60000", cut["cost_ms"], whole["cost_ms"])
	}
}

// TestExplainCold: a model that is not loaded is not loaded for that, and a stopping server says so.
func TestExplainCold(t *testing.T) {
	ts := newColdServer(t, nil)
	v := ts.post(t, "/v1/explain", speechWAV(2, 1)).json(t)
	if _, ok := v["predicted_wait_ms"]; ok || v["cost_ms"] != 2000.0 {
		t.Errorf("got %v", v)
	}
	if got := ts.model.batches.Load(); got != 0 {
		t.Errorf("the model ran %d batches", got)
	}
	ts.refuse()
	ts.post(t, "/v1/explain", speechWAV(2, 1)).wantError(t, 503, "shutting_down", "")
}

// TestRefusedFiles: a file that is refused is described beside the error, by every call alike.
func TestRefusedFiles(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxDuration = 3 * time.Second })
	truncated := speechWAV(2, 1)[:44]
	for _, c := range []struct {
		name   string
		file   []byte
		status int
		code   string
		want   map[string]any
		fault  string
	}{
		{"png", []byte("\x89PNG\r\n\x1a\n0000000000000000"), 415, "unsupported_format", map[string]any{"container": "png", "bytes": 24.0, "duration_s": 0.0}, "mislabelled: the name ends in .wav, the content is png"},
		{"wma", []byte("\x30\x26\xb2\x75\x8e\x66\xcf\x1100000000"), 415, "unsupported_format", map[string]any{"container": "asf"}, "mislabelled: "},
		{"damaged", []byte("RIFF\x00\x00\x00\x00WAVEdata\x04\x00\x00\x00abcd"), 400, "corrupt_audio", map[string]any{"container": "wav"}, ""},
		{"nothing in it", truncated, 400, "empty_audio", map[string]any{"container": "wav", "codec": "pcm_s16", "sample_rate": 16000.0}, "truncated: "},
		{"empty", []byte{}, 400, "empty_audio", map[string]any{"bytes": 0.0}, ""},
		{"too long", speechWAV(4, 1), 413, "audio_too_long", map[string]any{"container": "wav", "duration_s": 3.072}, ""},
	} {
		for _, path := range []string{"/v1/audio/transcriptions", "/v1/transcribe", "/v1/explain"} {
			a := ts.post(t, path, c.file, "model", "whisper-1")
			a.wantError(t, c.status, c.code, "file")
			file, ok := a.json(t)["file"].(map[string]any)
			if !ok {
				t.Fatalf("%s, %s: no file beside the error: %s", c.name, path, a.body)
			}
			for key, want := range c.want {
				if file[key] != want {
					t.Errorf("%s, %s: %s: got %v, want %v", c.name, path, key, file[key], want)
				}
			}
			faults, _ := file["faults"].([]any)
			if c.fault == "" && len(faults) > 0 || c.fault != "" && (len(faults) != 1 || !strings.HasPrefix(faults[0].(string), c.fault)) {
				t.Errorf("%s, %s: faults: got %v, want %q", c.name, path, faults, c.fault)
			}
			if reason, _ := file["reason"].(string); reason == "" {
				t.Errorf("%s, %s: no reason", c.name, path)
			}
			for _, key := range []string{"cost_ms", "lane", "speech_share"} {
				if v, ok := file[key]; ok {
					t.Errorf("%s, %s: %s: got %v of a file that was not heard", c.name, path, key, v)
				}
			}
		}
	}
	// What is not about a file has none beside it.
	for _, a := range []*answer{ts.post(t, "/v1/explain", nil), ts.post(t, "/v1/explain", speechWAV(1, 1), "model", "whisper-9"), ts.post(t, "/v1/explain", speechWAV(1, 1), "deadline_ms", "soon")} {
		if _, ok := a.json(t)["file"]; ok || a.status < 400 {
			t.Errorf("status %d: got a file: %s", a.status, a.body)
		}
	}
}

// TestFFmpegFallback: what ffmpeg would take is said where there is none, and taken where there is one.
func TestFFmpegFallback(t *testing.T) {
	wma := []byte("\x30\x26\xb2\x75\x8e\x66\xcf\x1100000000")
	without := newTestServer(t, nil)
	a := without.transcribe(t, wma)
	a.wantError(t, 415, "unsupported_format", "file")
	for _, want := range []string{"the file is asf", "flac", "a server with ffmpeg on its PATH takes this too"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("got %s, want %q", a.body, want)
		}
	}
	if a := without.transcribe(t, []byte("\x89PNG\r\n\x1a\n0000000000000000")); strings.Contains(a.body, "ffmpeg") {
		t.Errorf("a picture: got %s", a.body)
	}

	clip := speechWAV(2, 1)
	with := newTestServer(t, func(c *Config) { c.FFmpeg = fakeFFmpeg(t, clip) })
	if a := with.transcribe(t, wma); a.status != 200 || !strings.Contains(a.body, "heard") {
		t.Errorf("status %d: %s", a.status, a.body)
	}
	v := with.post(t, "/v1/explain", wma).json(t)
	if v["container"] != "asf" || v["codec"] != "wmav2" || v["decoder"] != "ffmpeg 6.0" || v["duration_s"] != 2.0 || v["cost_ms"] != 2000.0 {
		t.Errorf("got %v", v)
	}
}

// fakeFFmpeg is a script that decodes everything to the samples of a 16-bit WAV at 16 kHz.
func fakeFFmpeg(t *testing.T, wav []byte) *audioprep.FFmpeg {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell to fake ffmpeg with")
	}
	pcm, err := audioprep.Decode(t.Context(), bytes.NewReader(wav), audioprep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "talk.au"), auOf(pcm.Samples), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `#!/bin/sh
case $1 in -version) echo ffmpeg version 6.0; exit;; esac
echo "[info] Input #0, asf, from 'x':" >&2
echo '[info]   Stream #0:0: Audio: wmav2, 16000 Hz, mono, fltp' >&2
echo '[info]   Stream #0:0 -> #0:0 (wmav2 (native) -> pcm_f32be (native))' >&2
exec cat ` + filepath.Join(dir, "talk.au") + "\n"
	path := filepath.Join(dir, "ffmpeg")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := audioprep.FindFFmpeg(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// auOf is an AU file of floats at 16 kHz.
func auOf(samples []float32) []byte {
	be := binary.BigEndian
	b := []byte(".snd")
	for _, v := range []uint32{24, 0xffffffff, 6, engine.SampleRate, 1} {
		b = be.AppendUint32(b, v)
	}
	for _, v := range samples {
		b = be.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
