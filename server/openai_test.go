package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// officialClient is OpenAI's own Go client with the server as its base.
func officialClient(ts *testServer, more ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{option.WithAPIKey("sk-test"), option.WithBaseURL(ts.url + "/v1")}, more...)...)
}

func TestOfficialClient(t *testing.T) {
	ts := newTestServer(t, nil)
	client := officialClient(ts)
	ctx := context.Background()
	clip := speechWAV(2.5, 1)
	file := func() io.Reader { return openai.File(bytes.NewReader(clip), "clip.wav", "audio/wav") }

	t.Run("json", func(t *testing.T) {
		got, err := client.Audio.Transcriptions.New(ctx, openai.AudioTranscriptionNewParams{Model: "whisper-1", File: file()})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got.Text, "heard ") || got.Usage.Type != "duration" || got.Usage.Seconds != 2.5 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("verbose_json", func(t *testing.T) {
		got, err := client.Audio.Transcriptions.New(ctx, openai.AudioTranscriptionNewParams{
			Model: "whisper-1", File: file(), ResponseFormat: openai.AudioResponseFormatVerboseJSON,
			Language: openai.String("de"), Prompt: openai.String("Guten Tag."), Temperature: openai.Float(0.5),
			TimestampGranularities: []string{"word", "segment"},
			ChunkingStrategy:       openai.AudioTranscriptionNewParamsChunkingStrategyUnion{},
		})
		if err != nil {
			t.Fatal(err)
		}
		v := got.AsTranscriptionVerbose()
		if v.Language != "german" || v.Duration != 2.5 || len(v.Words) != 2 || len(v.Segments) != 1 || v.Segments[0].End != 2.5 || v.Usage.Seconds != 2.5 {
			t.Errorf("got %+v", v)
		}
		if o := ts.model.lastOptions(); o.Language != "de" || o.Prompt != "Guten Tag." || len(o.Temperatures) != 1 || !o.WordTimestamps {
			t.Errorf("the model got %+v", o)
		}
	})
	t.Run("chunking strategy as an object", func(t *testing.T) {
		_, err := client.Audio.Transcriptions.New(ctx, openai.AudioTranscriptionNewParams{Model: "gpt-4o-transcribe", File: file(),
			ChunkingStrategy: openai.AudioTranscriptionNewParamsChunkingStrategyUnion{
				OfAudioTranscriptionNewsChunkingStrategyVadConfig: &openai.AudioTranscriptionNewParamsChunkingStrategyVadConfig{Type: "server_vad", Threshold: openai.Float(0.4)}}})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("translation", func(t *testing.T) {
		//lint:ignore SA1019 deprecated by OpenAI, and still what people's programs call
		got, err := client.Audio.Translations.New(ctx, openai.AudioTranslationNewParams{Model: "whisper-1", File: file()})
		if err != nil || !strings.HasPrefix(got.Text, "heard ") {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("text through a raw body", func(t *testing.T) {
		var raw *http.Response
		_, err := client.Audio.Transcriptions.New(ctx, openai.AudioTranscriptionNewParams{Model: "whisper-1", File: file(),
			ResponseFormat: openai.AudioResponseFormatText}, option.WithResponseBodyInto(&raw))
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Body.Close()
		if text, err := io.ReadAll(raw.Body); err != nil || !strings.HasPrefix(string(text), "heard ") || raw.Header.Get("x-request-id") == "" {
			t.Errorf("got %q, %v", text, err)
		}
	})
	t.Run("models", func(t *testing.T) {
		page, err := client.Models.List(ctx)
		if err != nil || len(page.Data) != 1 || page.Data[0].ID != "fake" || page.Data[0].Object != "model" {
			t.Errorf("got %+v, %v", page, err)
		}
		if m, err := client.Models.Get(ctx, "fake"); err != nil || m.OwnedBy != "hark" {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}

// TestOfficialClientStreams reads every event of streams, stops early and sees errors before and inside one.
func TestOfficialClientStreams(t *testing.T) {
	ts := newStreamServer(t)
	client := officialClient(ts, option.WithMaxRetries(0))
	recording := speechWAV(100, 1)
	params := func() openai.AudioTranscriptionNewParams {
		return openai.AudioTranscriptionNewParams{Model: "gpt-4o-transcribe", File: openai.File(bytes.NewReader(recording), "clip.wav", "audio/wav"),
			Include: []openai.TranscriptionInclude{openai.TranscriptionIncludeLogprobs}}
	}
	t.Run("whole", func(t *testing.T) {
		stream := client.Audio.Transcriptions.NewStreaming(t.Context(), params())
		deltas, tokens, done := "", 0, ""
		for stream.Next() {
			switch e := stream.Current().AsAny().(type) {
			case openai.TranscriptionTextDeltaEvent:
				deltas += e.Delta
				tokens += len(e.Logprobs)
			case openai.TranscriptionTextDoneEvent:
				done = e.Text
				tokens -= len(e.Logprobs)
			default:
				t.Errorf("event %T", e)
			}
		}
		if err := stream.Err(); err != nil || done == "" || deltas != done || tokens != 0 {
			t.Errorf("%q, done %q, %d tokens more, %v", deltas, done, tokens, err)
		}
	})
	t.Run("stopped early", func(t *testing.T) {
		ts.model.batches.Store(0)
		ts.model.set(func(m *fakeModel) { m.holdAfter = make(chan struct{}) })
		stream := client.Audio.Transcriptions.NewStreaming(t.Context(), params())
		if !stream.Next() || stream.Close() != nil {
			t.Errorf("no event: %v", stream.Err())
		}
		eventually(t, "the rest is dropped", func() bool { return ts.model.lastJob().dropped.Load() && ts.pending.Load() == 0 })
		ts.model.set(func(m *fakeModel) { m.holdAfter = nil })
	})
	t.Run("error before", func(t *testing.T) {
		p := params()
		p.Model = "nothing"
		stream := client.Audio.Transcriptions.NewStreaming(t.Context(), p)
		var e *openai.Error
		if stream.Next() || !errors.As(stream.Err(), &e) || e.StatusCode != 404 || e.Param != "model" {
			t.Errorf("%v", stream.Err())
		}
	})
	t.Run("error inside", func(t *testing.T) {
		hold := make(chan struct{})
		ts.model.batches.Store(0)
		ts.model.set(func(m *fakeModel) { m.holdAfter = hold })
		stream := client.Audio.Transcriptions.NewStreaming(t.Context(), params())
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
		ts.model.set(func(m *fakeModel) { m.fail = errors.New("broken") })
		close(hold)
		for stream.Next() {
		}
		if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "went wrong in the server") {
			t.Errorf("got %v", err)
		}
	})
}

func TestOfficialClientErrors(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxUploadBytes = 200_000; c.MaxPending = 1 })
	client := officialClient(ts, option.WithMaxRetries(0))
	call := func(file []byte, change func(*openai.AudioTranscriptionNewParams)) error {
		params := openai.AudioTranscriptionNewParams{Model: "whisper-1", File: bytes.NewReader(file)}
		change(&params)
		_, err := client.Audio.Transcriptions.New(context.Background(), params)
		return err
	}
	clip := speechWAV(1, 1)
	none := func(*openai.AudioTranscriptionNewParams) {}
	check := func(t *testing.T, err error, status int, code, param string) {
		t.Helper()
		var e *openai.Error
		if !errors.As(err, &e) {
			t.Fatalf("got %v, want the client's API error", err)
		}
		if e.StatusCode != status || e.Code != code || e.Param != param || e.Message == "" || e.Type == "" {
			t.Errorf("got %d %q param %q: %s", e.StatusCode, e.Code, e.Param, e.Message)
		}
	}
	t.Run("400", func(t *testing.T) {
		check(t, call(clip, func(p *openai.AudioTranscriptionNewParams) { p.Temperature = openai.Float(2) }), 400, "invalid_value", "temperature")
	})
	t.Run("404", func(t *testing.T) {
		check(t, call(clip, func(p *openai.AudioTranscriptionNewParams) { p.Model = "nothing" }), 404, "model_not_found", "model")
	})
	t.Run("413", func(t *testing.T) { check(t, call(make([]byte, 300_000), none), 413, "file_too_large", "file") })
	t.Run("413 by its length", func(t *testing.T) { check(t, call(make([]byte, 20<<20), none), 413, "file_too_large", "file") })
	t.Run("415", func(t *testing.T) {
		check(t, call([]byte("just some words in a file"), none), 415, "unsupported_format", "file")
	})
	t.Run("429", func(t *testing.T) {
		hold := make(chan struct{})
		ts.model.set(func(m *fakeModel) { m.hold = hold })
		first := make(chan error)
		go func() { first <- call(clip, none) }()
		eventually(t, "the first is under way", func() bool { return ts.pending.Load() == 1 })
		check(t, call(clip, none), 429, "queue_full", "")
		close(hold)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
	t.Run("500", func(t *testing.T) {
		ts.model.set(func(m *fakeModel) { m.hold, m.fail = nil, errors.New("broken") })
		check(t, call(clip, none), 500, "internal_error", "")
	})
}
