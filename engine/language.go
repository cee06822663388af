package engine

import "strings"

// languages are the codes and English names of the languages that Whisper knows, in the order of its
// vocabulary (openai/whisper, whisper/tokenizer.py, LANGUAGES). Parakeet's are among them.
var languages = []struct{ code, name string }{
	{"en", "english"}, {"zh", "chinese"}, {"de", "german"}, {"es", "spanish"}, {"ru", "russian"}, {"ko", "korean"},
	{"fr", "french"}, {"ja", "japanese"}, {"pt", "portuguese"}, {"tr", "turkish"}, {"pl", "polish"},
	{"ca", "catalan"}, {"nl", "dutch"}, {"ar", "arabic"}, {"sv", "swedish"}, {"it", "italian"}, {"id", "indonesian"},
	{"hi", "hindi"}, {"fi", "finnish"}, {"vi", "vietnamese"}, {"he", "hebrew"}, {"uk", "ukrainian"},
	{"el", "greek"}, {"ms", "malay"}, {"cs", "czech"}, {"ro", "romanian"}, {"da", "danish"}, {"hu", "hungarian"},
	{"ta", "tamil"}, {"no", "norwegian"}, {"th", "thai"}, {"ur", "urdu"}, {"hr", "croatian"}, {"bg", "bulgarian"},
	{"lt", "lithuanian"}, {"la", "latin"}, {"mi", "maori"}, {"ml", "malayalam"}, {"cy", "welsh"}, {"sk", "slovak"},
	{"te", "telugu"}, {"fa", "persian"}, {"lv", "latvian"}, {"bn", "bengali"}, {"sr", "serbian"}, {"az", "azerbaijani"},
	{"sl", "slovenian"}, {"kn", "kannada"}, {"et", "estonian"}, {"mk", "macedonian"}, {"br", "breton"},
	{"eu", "basque"}, {"is", "icelandic"}, {"hy", "armenian"}, {"ne", "nepali"}, {"mn", "mongolian"},
	{"bs", "bosnian"}, {"kk", "kazakh"}, {"sq", "albanian"}, {"sw", "swahili"}, {"gl", "galician"},
	{"mr", "marathi"}, {"pa", "punjabi"}, {"si", "sinhala"}, {"km", "khmer"}, {"sn", "shona"}, {"yo", "yoruba"},
	{"so", "somali"}, {"af", "afrikaans"}, {"oc", "occitan"}, {"ka", "georgian"}, {"be", "belarusian"},
	{"tg", "tajik"}, {"sd", "sindhi"}, {"gu", "gujarati"}, {"am", "amharic"}, {"yi", "yiddish"}, {"lo", "lao"},
	{"uz", "uzbek"}, {"fo", "faroese"}, {"ht", "haitian creole"}, {"ps", "pashto"}, {"tk", "turkmen"},
	{"nn", "nynorsk"}, {"mt", "maltese"}, {"sa", "sanskrit"}, {"lb", "luxembourgish"}, {"my", "myanmar"},
	{"bo", "tibetan"}, {"tl", "tagalog"}, {"mg", "malagasy"}, {"as", "assamese"}, {"tt", "tatar"},
	{"haw", "hawaiian"}, {"ln", "lingala"}, {"ha", "hausa"}, {"ba", "bashkir"}, {"jw", "javanese"},
	{"su", "sundanese"}, {"yue", "cantonese"},
}

// languageAliases are further names and codes that people and clients send.
var languageAliases = map[string]string{
	"burmese": "my", "valencian": "ca", "flemish": "nl", "haitian": "ht", "letzeburgesch": "lb", "pushto": "ps",
	"panjabi": "pa", "moldavian": "ro", "moldovan": "ro", "sinhalese": "si", "castilian": "es", "mandarin": "zh",
	"cmn": "zh", "jv": "jw", "nb": "no", "fil": "tl", "iw": "he", "in": "id", "ji": "yi", "cantonese": "yue",
	"eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt",
	"rus": "ru", "jpn": "ja", "kor": "ko", "zho": "zh", "chi": "zh", "nld": "nl", "dut": "nl", "pol": "pl",
	"ukr": "uk", "tur": "tr", "ara": "ar", "hin": "hi",
}

var (
	languageNames = map[string]string{} // code to name
	languageCodes = map[string]string{} // lower-case name or code to code
)

func init() {
	for _, l := range languages {
		languageNames[l.code] = l.name
		languageCodes[l.code] = l.code
		languageCodes[l.name] = l.code
	}
	for alias, code := range languageAliases {
		languageCodes[alias] = code
	}
}

// LanguageName is the English name, in lower case, of a language's code ("english"
// for "en"), or the code itself where there is none.
func LanguageName(code string) string {
	if name, ok := languageNames[code]; ok {
		return name
	}
	return code
}

// ParseLanguage finds the language that a caller means: a code, an English name or a BCP-47 tag,
// in any case, with "-" or "_" ("en", "EN", "english", "pt-BR", "zh_Hans"). The
// empty string and "auto" mean detection and give "". ok is false for anything unknown.
func ParseLanguage(s string) (code string, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" || s == "auto" {
		return "", true
	}
	if code, ok = languageCodes[s]; ok {
		return code, true
	}
	primary, rest, found := strings.Cut(strings.ReplaceAll(s, "_", "-"), "-")
	if !found || rest == "" {
		return "", false
	}
	if primary == "zh" && strings.HasPrefix(rest, "yue") { // the extended form of Cantonese, RFC 5646 section 2.2.2
		return "yue", true
	}
	code, ok = languageCodes[primary]
	return code, ok
}

// LanguageCodes are the codes of Whisper's languages, in the order of its vocabulary.
func LanguageCodes() []string {
	codes := make([]string, len(languages))
	for i, l := range languages {
		codes[i] = l.code
	}
	return codes
}
