package main

import (
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"
)

// verbatim puts a value into a string field byte for byte. Kong's own way leads through JSON, which replaces what is
// not UTF-8, but a Unix file name may be any bytes.
func verbatim(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	target.SetString(fmt.Sprint(token.Value))
	return nil
}
