package server

import (
	"encoding/json"
	"slices"
	"strings"
)

// chunkingMembers are those of the object chunking_strategy.
var chunkingMembers = []string{
	"chunking_strategy[type]",
	"chunking_strategy[threshold]",
	"chunking_strategy[prefix_padding_ms]",
	"chunking_strategy[silence_duration_ms]",
}

// parseChunking checks chunking_strategy: "auto", or an object as JSON or as bracketed fields. Audio is always cut
// at silence, so "auto" is what happens; an object's figures are not used.
func (v *wishes) parseChunking(f fields, d dialect) error {
	kind, err := f.text("chunking_strategy")
	if err != nil {
		return err
	}
	bracketed := slices.ContainsFunc(chunkingMembers, func(member string) bool { return len(f[member]) > 0 })
	switch {
	case strings.HasPrefix(kind, "{"):
		kind, err = v.parseChunkingObject(kind)
	case bracketed && kind == "":
		kind, err = f.text("chunking_strategy[type]")
	case kind == "":
		return nil
	}
	switch {
	case err != nil:
		return err
	case kind == "auto":
	case kind == "server_vad":
		v.warn("chunking_strategy is ignored: audio is cut at silence by the server's own measure")
	default:
		return badField("chunking_strategy", "invalid_value", "chunking_strategy is %s, want auto or an object of type server_vad", quoted(kind))
	}
	return nil
}

// parseChunkingObject returns the type of a chunking_strategy in JSON, and notes members that no reader knows.
func (v *wishes) parseChunkingObject(text string) (kind string, err error) {
	var members map[string]any
	err = json.Unmarshal([]byte(text), &members)
	kind, ok := members["type"].(string)
	if err != nil || !ok {
		return "", badField("chunking_strategy", "invalid_value", "chunking_strategy is neither auto nor a JSON object with a type")
	}
	for member := range members {
		if member = "chunking_strategy[" + member + "]"; !known(member) {
			v.unread = append(v.unread, shown(member))
		}
	}
	return kind, nil
}
