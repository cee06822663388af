package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// modelNames is a flag for models: given several times, or separated by commas.
type modelNames []string

// Decode appends the names in one value, byte for byte. A comma in a name is written \, there.
func (m *modelNames) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	var name []byte
	value := fmt.Sprint(token.Value)
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == ',':
			*m = append(*m, string(name))
			name = nil
			continue
		case strings.HasPrefix(value[i:], `\,`):
			i++
		}
		name = append(name, value[i])
	}
	*m = append(*m, string(name))
	return nil
}
