package server

import (
	"encoding/json"
	"maps"
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

// parseChunking checks chunking_strategy: "auto", or an object as JSON or as bracketed fields. Recordings are always
// cut at silence, which is what auto and server_vad ask for. An object's figures are not used, since nobody would gain
// by it. Clients that send them mean somebody else's defaults, 200 ms of silence after which a piece ends and 300 ms
// before it; windows are cut for the model, nearly as long as it takes them, in the longest pauses. A threshold of 0.25
// or 1 instead of 0.5, which would be 3 or 12 dB over the noise instead of 6, would give the model mostly within 5 % as
// much to hear, 13 % at most, in recordings of 1 to 5 minutes with noise 6 to 20 dB below their speech.
func (v *wishes) parseChunking(f fields, d dialect) error {
	kind, err := f.text("chunking_strategy")
	if err != nil {
		return err
	}
	given := slices.DeleteFunc(slices.Clone(chunkingMembers), func(member string) bool { return len(f[member]) == 0 })
	switch {
	case strings.HasPrefix(kind, "{"):
		kind, given, err = v.parseChunkingObject(kind)
	case len(given) > 0 && kind == "":
		kind, err = f.text("chunking_strategy[type]")
	case kind == "":
		return nil
	}
	if err != nil {
		return err
	}
	if kind != "auto" && kind != "server_vad" {
		return badField("chunking_strategy", "invalid_value",
			"chunking_strategy is %s, want auto or an object of type server_vad", quoted(kind))
	}
	given = slices.DeleteFunc(given, func(member string) bool { return member == "chunking_strategy[type]" })
	if len(given) > 0 {
		v.warn("audio is cut at silence by the server's own measure, these are ignored: %s", strings.Join(given, " "))
	}
	return nil
}

// parseChunkingObject returns the type of a chunking_strategy in JSON, and which members it
// has that are known; it notes the others.
func (v *wishes) parseChunkingObject(text string) (kind string, given []string, err error) {
	var members map[string]any
	err = json.Unmarshal([]byte(text), &members)
	kind, ok := members["type"].(string)
	if err != nil || !ok {
		return "", nil, badField("chunking_strategy", "invalid_value",
			"chunking_strategy is neither auto nor a JSON object with a type")
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		if member = "chunking_strategy[" + member + "]"; known(member) {
			given = append(given, member)
		} else {
			v.unread = append(v.unread, shown(member))
		}
	}
	return kind, given, nil
}
