package bench

import (
	"bytes"
	"encoding/json"
)

// maxReason is how much of an answer is quoted, in bytes.
const maxReason = 200

// reason is what a server's refusal says to people: the message of OpenAI's errors, as a body
// ({"error":{"message":…}}) or as a live session's event has it ({"message":…}), the text that other servers put in
// "error" or "detail", or else the answer itself.
func reason(answer []byte) string {
	var said struct {
		Message string
		Error   json.RawMessage
		Detail  json.RawMessage
	}
	if json.Unmarshal(answer, &said) == nil {
		if said.Message != "" {
			return said.Message
		}
		for _, inner := range []json.RawMessage{said.Error, said.Detail} {
			var text string
			if json.Unmarshal(inner, &text) == nil && text != "" {
				return text
			}
		}
		var inner struct{ Message string }
		if json.Unmarshal(said.Error, &inner) == nil && inner.Message != "" {
			return inner.Message
		}
	}
	answer = bytes.TrimSpace(answer)
	return string(bytes.ToValidUTF8(answer[:min(len(answer), maxReason)], nil))
}
