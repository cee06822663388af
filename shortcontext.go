package main

// shortContexts are the models whose word errors were measured to stay within 0.2 points in short contexts, in the
// precision that auto takes: of 2733 words in 167 clips tiny.en errs in 233 as in whole windows, base in 206 instead of
// 202; of 1073 words in recordings cut at silence tiny.en errs in 159 instead of 165, base in 131 instead of 140. Sound
// that is cut within words, at both ends, is harder: of 11012 words in such pieces (scripts/wer-options.py --pieces
// 12,17,22,27) tiny.en errs in 1161 instead of 1096, since it completes a sentence that breaks off; base errs in 1060
// instead of 1233, of which 171 are one loop.
var shortContexts = map[string]bool{"tiny.en": true, "base": true}

// shortContextFor reports whether a model is loaded to use short contexts. word is a value of --encoder-context.
func shortContextFor(word, model string) bool {
	return word == "short" || word == "auto" && shortContexts[model]
}
