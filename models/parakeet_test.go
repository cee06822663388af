package models

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

// Both forms of the small model were written by the libraries whose forms they
// are.
func TestParakeetForms(t *testing.T) {
	nemo, hf := openParakeet(t, tinyParakeet), openParakeet(t, hfParakeetDir(t))
	if nemo.Format() != FormatNemo || hf.Format() != FormatSafetensors {
		t.Errorf("formats %s and %s", nemo.Format(), hf.Format())
	}
	if !reflect.DeepEqual(nemo.Config, hf.Config) {
		t.Errorf("configurations differ:\n%+v\n%+v", nemo.Config, hf.Config)
	}
	want := append(hf.Names(), "preprocessor.featurizer.fb", "preprocessor.featurizer.window")
	slices.Sort(want)
	if !slices.Equal(nemo.Names(), want) {
		t.Fatalf("names differ:\n%q\n%q", nemo.Names(), want)
	}
	for _, name := range hf.Names() {
		a, _ := nemo.Tensor(name)
		b, _ := hf.Tensor(name)
		if a.Name != name || b.Name != name || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.Data, b.Data) {
			t.Errorf("%s differs: %v %v and %v %v", name, a.DType, a.Shape, b.DType, b.Shape)
		}
	}
	if !reflect.DeepEqual(nemo.Tokenizer.pieces[0], hf.Tokenizer.pieces[0]) || !slices.Equal(nemo.Tokenizer.texts, hf.Tokenizer.texts) {
		t.Error("vocabularies differ")
	}
	for _, text := range []string{"", "turn on the radio", "Set the light to seven.", " a  b ", "é"} {
		if a, b := nemo.Tokenizer.Encode(text), hf.Tokenizer.Encode(text); !slices.Equal(a, b) {
			t.Errorf("%q is %v and %v", text, a, b)
		}
	}
}
