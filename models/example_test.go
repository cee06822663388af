package models_test

import (
	"fmt"

	"hark/models"
)

// A special token is never made from text, and never becomes text.
func ExampleTokenizer() {
	tok, err := models.LoadTokenizer("testdata/tokenizer.json") // a made-up vocabulary
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := tok.Encode("hello hello")
	end, _ := tok.Special("<|end|>")
	fmt.Println(ids, end)
	fmt.Printf("%q\n", tok.Decode(append(ids, end)))
	// Output:
	// [259 260] 262
	// "hello hello"
}
