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

// A Parakeet's weights have NeMo's names whatever form the model is in.
func ExampleOpenParakeet() {
	m, err := models.OpenParakeet("../testdata/parakeet-tiny/parakeet-tiny.nemo")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	embeddings, _ := m.Tensor("decoder.prediction.embed.weight")
	fmt.Println(m.Config.Layers, "layers,", m.Config.Vocabulary, "pieces and the blank:", embeddings.Shape)
	ids := m.Tokenizer.Encode("Turn on the radio.")
	for _, id := range ids {
		fmt.Printf("%q ", m.Tokenizer.Piece(id))
	}
	fmt.Printf("%q\n", m.Tokenizer.Decode(ids))
	// Output:
	// 2 layers, 128 pieces and the blank: [129 128]
	// "▁T" "urn" "▁on" "▁the" "▁radio" "." "Turn on the radio."
}
