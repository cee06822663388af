package bench

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/coder/websocket"
)

// Live speaks a file to a server's live transcription, at the pace at which it was spoken, and takes the time until
// text comes. It talks OpenAI's Realtime API, in a session of type "transcription" that finds turns by itself.
type Live struct {
	// URL is of the WebSocket, with http or https.
	URL *url.URL
	// Key is sent as a bearer token, unless it's empty.
	Key string
	// Model and Language are what is asked for.
	Model, Language string
	// Rounds is how often the file is spoken, each time in a session of its own.
	Rounds int
	// Timeout is a client's patience once all is said.
	Timeout time.Duration
	// File names Samples, which are mono, 16 kHz; speech is in [SpeechStart, SpeechEnd).
	File                   string
	Samples                []float32
	SpeechStart, SpeechEnd int
}

// LiveResult is what came of it. Times are in seconds.
type LiveResult struct {
	URL    string      `json:"url"`
	Model  string      `json:"model"`
	File   string      `json:"file"`
	Audio  float64     `json:"audio_s"`
	First  float64     `json:"first_text_s"` // median of the rounds that had some
	Final  float64     `json:"final_s"`      // median
	Rounds []LiveRound `json:"rounds"`
	// Interrupted says that there were to be more rounds.
	Interrupted bool `json:"interrupted,omitempty"`
}

// LiveRound is one session.
type LiveRound struct {
	// First is the time from when the first sample of speech was sent to the first text; Final is that from the last
	// sample of speech to the last transcript, the silence included that shows the server the end of the turn.
	First float64 `json:"first_text_s"`
	Final float64 `json:"final_s"`
	// Early is true if the first text came before all speech was sent.
	Early bool `json:"early"`
	// Deltas is how many pieces the text came in, Turns how many transcripts there are.
	Deltas int    `json:"deltas"`
	Turns  int    `json:"turns"`
	Text   string `json:"text"`
}

const (
	liveRate    = 24000 // Hz, the one rate that OpenAI's API takes
	liveLead    = time.Second
	liveTail    = 3 * time.Second
	livePiece   = 40 * time.Millisecond
	maxLiveRead = 4 << 20
)

// Run runs all rounds, one after the other. When ctx ends it returns what came of the rounds that are
// over, if there are any, beside ctx's error.
func (l *Live) Run(ctx context.Context) (*LiveResult, error) {
	result := &LiveResult{URL: l.URL.String(), Model: l.Model, File: l.File, Audio: float64(len(l.Samples)) / 16000}
	sound := l.sound()
	var firsts, finals []float64
	for range l.Rounds {
		round, err := l.round(ctx, sound)
		if ctx.Err() != nil {
			result.Interrupted = true
			break
		}
		if err != nil {
			return nil, err
		}
		result.Rounds = append(result.Rounds, *round)
		finals = append(finals, round.Final)
		if round.Deltas > 0 {
			firsts = append(firsts, round.First)
		}
	}
	if len(finals) == 0 {
		return nil, ctx.Err()
	}
	result.Final = median(finals)
	if len(firsts) > 0 {
		result.First = median(firsts)
	}
	if result.Interrupted {
		return result, ctx.Err()
	}
	return result, nil
}

// sound is what is sent: silence, the file and silence, as 16-bit PCM.
func (l *Live) sound() []byte {
	const up, down = 3, 2 // 24 kHz of 16 kHz
	raw := make([]byte, int(liveLead.Seconds()*liveRate)*2)
	for i := range len(l.Samples) * up / down {
		at, rest := i*down/up, float32(i*down%up)/up
		v := l.Samples[at]
		if at+1 < len(l.Samples) {
			v += rest * (l.Samples[at+1] - v)
		}
		raw = binary.LittleEndian.AppendUint16(raw, uint16(int16(v*(1<<15-1))))
	}
	return append(raw, make([]byte, int(liveTail.Seconds()*liveRate)*2)...)
}

// liveEvent is what a server says, as far as it's looked at.
type liveEvent struct {
	Type       string          `json:"type"`
	Item       string          `json:"item_id"`
	Delta      string          `json:"delta"`
	Transcript string          `json:"transcript"`
	Error      json.RawMessage `json:"error"`
	at         time.Time
}

// round speaks once.
func (l *Live) round(ctx context.Context, sound []byte) (*LiveRound, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	link, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer link.CloseNow()
	events := make(chan liveEvent, 1<<12)
	go listen(ctx, link, events)
	begin := time.Now()
	if err := l.speak(ctx, link, begin, sound); err != nil {
		return nil, err
	}
	start := begin.Add(liveLead + time.Duration(l.SpeechStart)*time.Second/16000)
	end := begin.Add(liveLead + time.Duration(l.SpeechEnd)*time.Second/16000)
	result, err := l.judge(events, start, end)
	link.Close(websocket.StatusNormalClosure, "")
	return result, err
}

// dial opens a session.
func (l *Live) dial(ctx context.Context) (*websocket.Conn, error) {
	address := *l.URL
	query := address.Query()
	query.Set("intent", "transcription")
	address.RawQuery = query.Encode()
	header := http.Header{}
	if l.Key != "" {
		header.Set("Authorization", "Bearer "+l.Key)
	}
	link, response, err := websocket.Dial(ctx, address.String(),
		&websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{"realtime"}})
	if err != nil {
		if response != nil {
			body, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
			err = fmt.Errorf("%s: %s", response.Status, reason(body))
		}
		return nil, fmt.Errorf("bench: no live session: %w", err)
	}
	link.SetReadLimit(maxLiveRead)
	type object = map[string]any
	input := object{
		"format":         object{"type": "audio/pcm", "rate": liveRate},
		"transcription":  object{"model": l.Model, "language": l.Language},
		"turn_detection": object{"type": "server_vad"},
	}
	err = send(ctx, link, object{"type": "session.update",
		"session": object{"type": "transcription", "audio": object{"input": input}}})
	return link, err
}

func send(ctx context.Context, link *websocket.Conn, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return link.Write(ctx, websocket.MessageText, text)
}

// speak sends sound at its pace.
func (l *Live) speak(ctx context.Context, link *websocket.Conn, begin time.Time, sound []byte) error {
	piece := int(livePiece.Seconds()*liveRate) * 2
	for at := 0; at < len(sound); at += piece {
		part := sound[at:min(len(sound), at+piece)]
		// A microphone has a piece when its last sample is spoken.
		spoken := begin.Add(time.Duration(at+len(part)) * time.Second / (2 * liveRate))
		select {
		case <-time.After(time.Until(spoken)):
		case <-ctx.Done():
			return ctx.Err()
		}
		event := map[string]string{"type": "input_audio_buffer.append",
			"audio": base64.StdEncoding.EncodeToString(part)}
		if err := send(ctx, link, event); err != nil {
			return fmt.Errorf("bench: the session ended while it was spoken to: %w", err)
		}
	}
	return nil
}

// listen hands on what a server says, until the link breaks or ctx ends.
func listen(ctx context.Context, link *websocket.Conn, events chan<- liveEvent) {
	defer close(events)
	for {
		_, message, err := link.Read(ctx)
		if err != nil {
			return
		}
		e := liveEvent{at: time.Now()}
		if json.Unmarshal(message, &e) != nil {
			e.Type, e.Error = "error", message
		}
		select {
		case events <- e:
		case <-ctx.Done():
			return
		}
	}
}

// judge waits for the transcripts of all turns and takes the times.
func (l *Live) judge(events <-chan liveEvent, start, end time.Time) (*LiveRound, error) {
	round := &LiveRound{}
	var texts []string
	open := map[string]bool{} // items without a transcript
	patience := time.After(l.Timeout)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return nil, errors.New("bench: the server closed the session")
			}
			switch e.Type {
			case "input_audio_buffer.committed":
				open[e.Item] = true
			case "conversation.item.input_audio_transcription.delta":
				if round.Deltas++; round.Deltas == 1 {
					round.First, round.Early = e.at.Sub(start).Seconds(), e.at.Before(end)
				}
			case "conversation.item.input_audio_transcription.completed":
				delete(open, e.Item)
				texts = append(texts, e.Transcript)
				round.Final = e.at.Sub(end).Seconds()
			case "error", "conversation.item.input_audio_transcription.failed":
				return nil, fmt.Errorf("bench: the server says: %s", reason(e.Error))
			}
		case <-patience:
			return nil, errors.New("bench: there is no transcript within --timeout")
		}
		if len(texts) > 0 && len(open) == 0 && len(events) == 0 {
			round.Turns, round.Text = len(texts), strings.Join(texts, " ")
			return round, nil
		}
	}
}

// WriteTable writes what a person wants to know of it.
func (r *LiveResult) WriteTable(w io.Writer) error {
	note := ""
	if r.Interrupted {
		note = ", interrupted"
	}
	fmt.Fprintf(w, "%s, %s, %s (%.1f s), spoken %d times%s\n\n", r.URL, r.Model, r.File, r.Audio, len(r.Rounds), note)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "round\tfirst text s\tfinal text s\tdeltas\tturns\t\n")
	for i, round := range r.Rounds {
		fmt.Fprintf(t, "%d\t%.2f\t%.2f\t%d\t%d\t\n", i+1, round.First, round.Final, round.Deltas, round.Turns)
	}
	fmt.Fprintf(t, "median\t%.2f\t%.2f\t\t\t\n", r.First, r.Final)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nfirst: from the beginning of the speech; final: from its end, the silence included that ends a turn\n")
	return err
}
