package live

import (
	"strings"
	"time"

	"hark/audioprep"
	"hark/engine"
)

// item is a turn and its text.
type item struct {
	id     string
	start  int       // its first sample
	spoken time.Time // about when its first speech was spoken
	text   strings.Builder

	whole    bool // it was committed, at ended
	ended    time.Time
	length   int // in samples, once whole
	pieces   int // closed and not yet transcribed
	segments int // told so far
	language string
	spelling []engine.Token
	dead     bool // it failed, or was cleared: nobody waits for its text
}

// add puts text behind what there is and returns what that adds to it: an item doesn't begin with a space.
func (it *item) add(text string) string {
	if it.text.Len() == 0 {
		text = strings.TrimLeft(text, " ")
	}
	it.text.WriteString(text)
	return text
}

// piece is a stretch of an item that is transcribed at once.
type piece struct {
	item  *item
	start int // its first sample
	draft draft
	tried int // the sample behind the last one that a partial hypothesis heard

	samples []float32 // once it's whole
}

// settle makes segments of a piece's last hypothesis, whose text behind what was shown is rest. Joined they are the
// text of the piece: where the hypothesis differs from what was shown, one segment says what was shown.
func (p *piece) settle(result *engine.Result, text, rest string) (told []Segment) {
	shown := strings.Join(p.draft.shown, "")
	old := len(text) - len(rest) // bytes of the hypothesis in whose place it stands
	differs := shown != text[:old]
	offset, end := seconds(p.start), seconds(p.start+len(p.samples))
	at := 0
	for i := range result.Segments {
		s := &result.Segments[i]
		begin := at
		at = min(len(text), at+len(s.Text))
		next := Segment{Item: p.item.id, Start: min(end, offset+s.Start),
			End: min(end, offset+s.End), Text: text[begin:at]}
		switch {
		case differs && begin < old && len(told) > 0:
			told[0].End = next.End
			told[0].Text = shown + text[min(old, at):at]
		case differs && begin < old:
			next.Text = shown + text[min(old, at):at]
			told = append(told, next)
		case next.Text != "":
			told = append(told, next)
		}
	}
	if len(told) == 0 && shown+rest != "" {
		told = []Segment{{Item: p.item.id, Start: offset, End: end, Text: shown + rest}}
	}
	return told
}

func seconds(samples int) float64 { return float64(samples) / audioprep.SampleRate }
