package main

// shortContexts are the models whose word errors were measured not to suffer from a short context: within 0.3 points on
// 167 clips, which is six words, some up and some down.
var shortContexts = map[string]bool{"tiny.en": true, "base": true}

// shortContextFor reports whether a model is loaded to use short contexts. word is a value of --encoder-context.
func shortContextFor(word, model string) bool {
	return word == "short" || word == "auto" && shortContexts[model]
}
