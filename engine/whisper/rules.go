package whisper

import "hark/engine"

// maxInitialTimestamp is the latest start of a window's first segment, in timestamp steps
// of 20 ms: 1 s (openai/whisper, decoding.py, DecodingOptions.max_initial_timestamp).
const maxInitialTimestamp = 50

// ruleset holds a model's masks on its device and makes the rule for what a transcript may go on with.
type ruleset struct {
	v *vocabulary
	// Masks of ids never written, at the first step and later. With timestamps the
	// token that asks for none is banned too.
	first, later, firstTimed, laterTimed engine.Mask
	notLanguages                         engine.Mask
}

func newRuleset(dev engine.Device, v *vocabulary) (*ruleset, error) {
	r := &ruleset{v: v}
	first := append(append([]int32(nil), v.suppress...), v.suppressFirst...)
	for _, m := range []struct {
		dst    *engine.Mask
		banned []int32
	}{
		{&r.later, v.suppress},
		{&r.first, first},
		{&r.laterTimed, append(append([]int32(nil), v.suppress...), v.noTimestamps)},
		{&r.firstTimed, append(append([]int32(nil), first...), v.noTimestamps)},
		{&r.notLanguages, v.notLanguages()},
	} {
		mask, err := dev.NewMask(m.banned, v.size)
		if err != nil {
			return nil, err
		}
		*m.dst = mask
	}
	return r, nil
}

// next is the rule for the token after written, which holds what was written after the prompt. Timestamps come in
// pairs, except right before the end, never decrease, and open the transcript (openai/whisper,
// decoding.py, ApplyTimestampRules).
func (r *ruleset) next(written []int32, timestamps bool) engine.Rule {
	v, n := r.v, len(written)
	if !timestamps {
		if n == 0 {
			return engine.Rule{Mask: r.first}
		}
		return engine.Rule{Mask: r.later}
	}
	stamps := engine.Range{From: v.firstTimestamp, To: int32(v.size)}
	if n == 0 {
		return engine.Rule{
			Mask: r.firstTimed,
			Ban: [4]engine.Range{{From: 0, To: v.firstTimestamp},
				{From: v.firstTimestamp + maxInitialTimestamp + 1, To: int32(v.size)}},
		}
	}
	rule := engine.Rule{Mask: r.laterTimed, MassFrom: v.firstTimestamp}
	lastIs := v.isTimestamp(written[n-1])
	beforeIs := n < 2 || v.isTimestamp(written[n-2])
	switch {
	case lastIs && beforeIs: // a segment has just been opened: text must follow
		rule.Ban[0] = stamps
	case lastIs: // one has just been closed: open the next one, or end
		rule.Ban[0] = engine.Range{From: 0, To: v.endOfText}
	}
	for i := n - 1; i >= 0; i-- {
		if !v.isTimestamp(written[i]) {
			continue
		}
		before := written[i] + 1 // no segment is empty
		if lastIs && !beforeIs {
			before = written[i] // but the next one may start where this one ended
		}
		rule.Ban[1] = engine.Range{From: v.firstTimestamp, To: before}
		break
	}
	return rule
}
