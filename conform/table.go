package conform

import "slices"

// table is every case, in the order in which they run: what is sent, what is right, why it is looked at, and how it is
// tried. What keeps a server busy comes last, so that a quick run on a slow machine reaches the rest.
var table = slices.Concat(startCases, refusalCases, answerCases, formCases, soundCases, linkCases, loadCases, aftermathCases)

// What is right for a whole group.
const (
	toTheEnd         = "the last segment reaches the end, words within 0.5 s of where they were said"
	sameWords        = "the same words as in plain WAV"
	sameWordsRefused = "the same words as in plain WAV, or 400/415 that names the forms taken"
	pictureIgnored   = "the sound is transcribed, the picture ignored"
	alikeParsed      = "parsed alike: the words of the clip"
	understood       = "understood in any spelling: the words of the clip"
	understoodOrNot  = "as its plain code: transcribed, or 400 with param language by a model that lacks it"
	noTextNoSegments = "text empty, segments empty"
	saidOnce         = "the speech once, nothing else, no spans of no length"
	fourKeys         = "with error.message, type, param and code"
)

// startCases are T8, which needs the first request of a run.
var startCases = []Case{
	{Name: "T8.first-clip", Sends: "the first clip of a run, then others", run: firstRequests,
		Want: "the first takes at most twice as long as later ones",
		Why:  "servers that load or compile at the first request say they are ready and are not"},
	{Name: "T8.after-idling", Sends: "a clip after the model was unloaded", run: cannot("needs to wait past a time that only the server's operator knows"),
		Want: "the first takes at most twice as long as later ones"},
}

// formCases are T6: the same clip in every form that people have.
var formCases = []Case{
	{Name: "T6.wav-s16", Sends: "WAV, 16 bits, 16 kHz", run: hears(asWAV(wavForm{bits: 16, rate: 16000, channels: 1})), Want: sameWords,
		Why: "a name's ending, or a header's claim, is taken for what a file is; and what fails then is a 500"},
	{Name: "T6.wav-s24", Sends: "WAV, 24 bits", run: hearsOrRefuses(asWAV(wavForm{bits: 24, rate: 16000, channels: 1})), Want: sameWordsRefused},
	{Name: "T6.wav-f32", Sends: "WAV, 32 bits float", run: hearsOrRefuses(asWAV(wavForm{bits: 32, rate: 16000, channels: 1})), Want: sameWordsRefused},
	{Name: "T6.wav-mulaw", Sends: "WAV, µ-law, 8 kHz", run: hearsOrRefuses(asWAV(wavForm{bits: 8, rate: 8000, channels: 1})), Want: sameWordsRefused},
	{Name: "T6.wav-extensible", Sends: "WAVE_FORMAT_EXTENSIBLE, 24 bits", run: hearsOrRefuses(asWAV(wavForm{bits: 24, rate: 48000, channels: 2, extensible: true})), Want: sameWordsRefused},
	{Name: "T6.wav-8khz", Sends: "WAV, 8 kHz", run: hears(asWAV(wavForm{bits: 16, rate: 8000, channels: 1})), Want: sameWords},
	{Name: "T6.wav-48khz-stereo", Sends: "WAV, 48 kHz, stereo", run: hears(asWAV(wavForm{bits: 16, rate: 48000, channels: 2})), Want: sameWords},
	{Name: "T6.wav-96khz", Sends: "WAV, 96 kHz", run: hears(asWAV(wavForm{bits: 16, rate: 96000, channels: 1})), Want: sameWords},
	{Name: "T6.wav-5.1", Sends: "WAV, 5.1, speech in the centre", run: hearsOrRefuses(asWAV(wavForm{bits: 16, rate: 48000, channels: 6, extensible: true})), Want: sameWordsRefused},
	{Name: "T6.wav-size-0", Sends: "WAV from a pipe, data size 0", run: hears(asWAV(wavForm{bits: 16, rate: 16000, channels: 1, piped: true})), Want: sameWords},
	{Name: "T6.wav-size-max", Sends: "WAV from a pipe, data size 0xFFFFFFFF", run: hears(asWAV(wavForm{bits: 16, rate: 16000, channels: 1, piped: true, pipedSize: 0xFFFFFFFF})), Want: sameWords},
	{Name: "T6.flac", Sends: "FLAC", run: hearsOrRefuses(asAsset("clip.flac", "audio/flac")), Want: sameWordsRefused},
	{Name: "T6.mp3-cbr", Sends: "MP3, constant rate", run: hearsOrRefuses(asAsset("clip.mp3", "audio/mpeg")), Want: sameWordsRefused},
	{Name: "T6.mp3-vbr", Sends: "MP3, variable rate, ID3v2.4", run: hearsOrRefuses(asAsset("clip-vbr.mp3", "audio/mpeg")), Want: sameWordsRefused},
	{Name: "T6.m4a", Sends: "M4A, AAC", run: hearsOrRefuses(asAsset("clip.m4a", "audio/mp4")), Want: sameWordsRefused},
	{Name: "T6.ogg-vorbis", Sends: "Ogg, Vorbis", run: hearsOrRefuses(asAsset("clip.ogg", "audio/ogg")), Want: sameWordsRefused},
	{Name: "T6.ogg-opus", Sends: "Ogg, Opus", run: hearsOrRefuses(asAsset("clip.opus", "audio/ogg")), Want: sameWordsRefused},
	{Name: "T6.webm-opus", Sends: "WebM, Opus", run: hearsOrRefuses(asAsset("clip.webm", "audio/webm")), Want: sameWordsRefused},
	{Name: "T6.webm-recorder", Sends: "WebM as a browser records it: no duration, clusters of unknown size", run: hearsOrRefuses(asAsset("recorder.webm", "audio/webm;codecs=opus")), Want: sameWordsRefused},
	{Name: "T6.no-extension", Sends: "WAV named speech", run: hears(named("speech", "audio/wav")), Want: sameWords},
	{Name: "T6.wrong-extension", Sends: "WAV named speech.mp3, as audio/mpeg", run: hears(named("speech.mp3", "audio/mpeg")), Want: sameWords},
	{Name: "T6.octet-stream", Sends: "WAV as application/octet-stream named upload", run: hears(named("upload", "application/octet-stream")), Want: sameWords},

	{Name: "T23.cover-wrong-type", Sends: "MP3 with a cover of the type text/plain", run: hears(withCovers(picture{"\x03", "text/plain", 4096})), Want: pictureIgnored,
		Why: "pictures are taken for the first track, or looked through for a frame of MP3"},
	{Name: "T23.cover-8mb", Sends: "MP3 with a cover of 8 MB", run: hears(withCovers(picture{"\x03", "image/png", 8_000_000})), Want: pictureIgnored},
	{Name: "T23.two-covers", Sends: "MP3 with two covers", run: hears(withCovers(picture{"\x03", "image/png", 4096}, picture{"\x04", "image/jpeg", 4096})), Want: pictureIgnored},
	{Name: "T23.m4a-cover-chapters", Sends: "M4A with a cover and a track of chapters", run: hears(asAsset("covers.m4a", "audio/mp4")), Want: pictureIgnored},
	{Name: "T23.mp4-video", Sends: "MP4, video and AAC", run: hears(asAsset("video.mp4", "video/mp4")), Want: pictureIgnored},
}

// answerCases are about the form of the answer, and what in the request decides on it.
var answerCases = []Case{
	{Name: "T7.json", Sends: "response_format=json", run: shape(jsonShape, "response_format=json"), Want: "application/json with text, without segments",
		Why: "clients read a shape without looking: a duration that is a string, a key that is missing, a header left out break them later"},
	{Name: "T7.default", Sends: "no response_format", run: shape(jsonShape), Want: "as json"},
	{Name: "T7.text", Sends: "response_format=text", run: shape(textShape, "response_format=text"), Want: "text/plain, the bare text"},
	{Name: "T7.srt", Sends: "response_format=srt", run: shape(srtShape, "response_format=srt"), Want: "cues from 1, comma in times, not wrapped, ends within the sound"},
	{Name: "T7.vtt", Sends: "response_format=vtt", run: shape(vttShape, "response_format=vtt"), Want: "WEBVTT, point in times, not wrapped, ends within the sound"},
	{Name: "T7.verbose", Sends: "response_format=verbose_json", run: shape(verboseShape(false, true), "response_format=verbose_json"),
		Want: "duration a number, language \"english\", all 10 keys in each segment, ids from 0, no words"},
	{Name: "T7.verbose-segment", Sends: "verbose_json by segment", run: shape(verboseShape(false, true), "response_format=verbose_json", "timestamp_granularities[]=segment"),
		Want: "as verbose_json"},
	{Name: "T7.verbose-word", Sends: "verbose_json by word", run: shape(verboseShape(true, false), "response_format=verbose_json", "timestamp_granularities[]=word"),
		Want: "words with word, start and end"},
	{Name: "T7.verbose-both", Sends: "verbose_json by word and segment", run: shape(verboseShape(true, true), append(slices.Clone(wordTimes), "response_format=verbose_json")...),
		Want: "segments and words"},
	{Name: "T7.diarized", Sends: "response_format=diarized_json", run: diarizedShape,
		Want: "segments with type, id and speaker, or 400 with param response_format"},

	{Name: "T9.en", Sends: "language=en", run: english("en"), Want: understood,
		Why: "a name goes to the model as it came; what it doesn't know becomes a 500, or another language"},
	{Name: "T9.EN", Sends: "language=EN", run: english("EN"), Want: understood},
	{Name: "T9.en-US", Sends: "language=en-US", run: english("en-US"), Want: understood},
	{Name: "T9.en_us", Sends: "language=en_us", run: english("en_us"), Want: understood},
	{Name: "T9.english", Sends: "language=english", run: english("english"), Want: understood},
	{Name: "T9.English", Sends: "language=English", run: english("English"), Want: understood},
	{Name: "T9.auto", Sends: "language=auto", run: english("auto"), Want: understood},
	{Name: "T9.empty", Sends: "language= with nothing", run: english(""), Want: understood},
	{Name: "T9.pt-BR", Sends: "language=pt-BR", run: otherLanguage("pt-BR", "pt"), Want: understoodOrNot},
	{Name: "T9.zh-Hans", Sends: "language=zh-Hans", run: otherLanguage("zh-Hans", "zh"), Want: understoodOrNot},
	{Name: "T9.yue", Sends: "language=yue", run: otherLanguage("yue", "cantonese"), Want: understoodOrNot},
	{Name: "T9.xx", Sends: "language=xx", run: refuses("language", withField("language=xx"), 400), Want: "400 with param language"},
	{Name: "T9.german-named", Sends: "German speech, language=de", run: staysGerman("language=de"), Want: "German text"},
	{Name: "T9.german-found", Sends: "German speech, no language", run: staysGerman(), Want: "German text"},

	{Name: "T25.python", Sends: "fields, then the file, as OpenAI's client for Python", run: hearsForm(pythonForm), Want: alikeParsed,
		Why: "servers route on a field before they have read it, ask for a length, or know one spelling only"},
	{Name: "T25.node", Sends: "the file, then fields, chunked, as OpenAI's client for Node", run: hearsForm(nodeForm), Want: alikeParsed},
	{Name: "T25.go", Sends: "fields and file by name, as OpenAI's client for Go", run: hearsForm(goForm), Want: alikeParsed},
	{Name: "T25.tiny-chunks", Sends: "no Content-Length: chunks of 1 byte and more, with extensions", run: tinyChunks, Want: alikeParsed},
	{Name: "T25.quoted-name", Sends: `filename="say \"hello\".wav"`, run: hearsForm(fileNamed(`filename="say \"hello\".wav"`)), Want: alikeParsed},
	{Name: "T25.utf8-name", Sends: `filename="Füße 語.wav"`, run: hearsForm(fileNamed(`filename="Füße 語.wav"`)), Want: alikeParsed},
	{Name: "T25.rfc5987-name", Sends: `filename*=UTF-8''F%C3%BC%C3%9Fe.wav beside filename`, run: hearsForm(fileNamed(`filename="fuesse.wav"; filename*=UTF-8''F%C3%BC%C3%9Fe.wav`)), Want: alikeParsed},
	{Name: "T25.granularities-bare", Sends: "timestamp_granularities with and without []", run: bareGranularities, Want: "the same words by both"},
	{Name: "T25.chunking-brackets", Sends: "chunking_strategy[type]=server_vad and its figures", run: hearsForm(bracketed), Want: alikeParsed},
	{Name: "T25.chunking-json", Sends: "chunking_strategy as JSON", run: hearsForm(asJSON), Want: alikeParsed},
}

// refusalCases are T12: whose fault it was, in a form that clients can read.
var refusalCases = []Case{
	{Name: "T12.no-file", Sends: "no file", run: refuses("file", noFile, 400), Want: "400 with param file, " + fourKeys,
		Why: "a body of another form leaves clients with «status code (no body)»; a 500 makes them try again"},
	{Name: "T12.no-model", Sends: "no model", run: refuses("model", noModel, 400), Want: "400 with param model, " + fourKeys},
	{Name: "T12.empty-file", Sends: "a file of 0 bytes", run: refuses("file", emptyFile, 400, 415), Want: "400 with param file, " + fourKeys},
	{Name: "T12.text-file", Sends: "a text named speech.wav", run: refuses("file", textFile, 400, 415), Want: "400/415 with param file, " + fourKeys},
	{Name: "T12.truncated-mp3", Sends: "half an MP3", run: cutShort, Want: "what is there is transcribed, or 400/415/422 with param file"},
	{Name: "T12.bad-format", Sends: "response_format=nonsense", run: refuses("response_format", withField("response_format=nonsense"), 400), Want: "400 with param response_format, " + fourKeys},
	{Name: "T12.bad-temperature", Sends: "temperature=2", run: refuses("temperature", withField("temperature=2"), 400), Want: "400 with param temperature, " + fourKeys},
	{Name: "T12.too-large", Sends: "Content-Length of a terabyte", run: tooLarge, Want: "413 before the body is read, " + fourKeys},
	{Name: "T12.wrong-key", Sends: "another key", run: wrongKey, Want: "401 " + fourKeys},
	{Name: "T12.unknown-path", Sends: "GET /v1/audio/no-such-call", run: unknownPath, Want: "404 " + fourKeys},
	{Name: "T12.wrong-method", Sends: "GET /v1/audio/transcriptions", run: wrongMethod, Want: "405 with Allow, " + fourKeys},

	{Name: "T13.unusable-gpu", Sends: "a start with a GPU that can't be used", run: cannot("needs to start the server itself"),
		Want: "it fails, or says cpu; never silently"},

	{Name: "T17.after", Sends: "settings, then a plain request", run: nothingStays, Want: "the plain answer as if alone, to the byte",
		Why: "options kept on a shared model leak into the next request, or into its neighbours in a batch"},
	{Name: "T17.beside", Sends: "plain requests among some with settings", run: nothingLeaks, Want: "the plain answer as if alone, to the byte"},
}

// soundCases are about sound that is short, empty or no speech.
var soundCases = []Case{
	{Name: "T14.silence-10s", Sends: "10 s of digital silence", run: noWords(silent(10)), Want: noTextNoSegments,
		Why: "models write what nobody said: thanks for watching, the same again and again"},
	{Name: "T14.silence-120s", Sends: "120 s of digital silence", run: noWords(silent(120)), Want: noTextNoSegments},
	{Name: "T14.noise", Sends: "10 s of noise at −60 dB", run: noWords(noise), Want: noTextNoSegments},
	{Name: "T14.speech-silence", Sends: "the clip and 30 s of silence", run: besideSilence(0, 30), Want: saidOnce},
	{Name: "T14.silence-speech", Sends: "30 s of silence and the clip", run: besideSilence(30, 0), Want: saidOnce},
	{Name: "T14.tone", Sends: "10 s of 440 Hz", run: calm(tone), Want: "200, no thanks, nothing three times over, no spans of no length"},
	{Name: "T14.music", Sends: "20 s of chords", run: calm(music), Want: "200, no thanks, nothing three times over, no spans of no length"},

	{Name: "T16.nothing", Sends: "0 samples", run: short(0), Want: "400 " + fourKeys + ", or 200 with an empty text",
		Why: "a window that comes out empty divides by its length"},
	{Name: "T16.one-sample", Sends: "1 sample", run: short(1), Want: "200"},
	{Name: "T16.10ms", Sends: "10 ms", run: short(160), Want: "200"},
	{Name: "T16.100ms", Sends: "100 ms", run: short(1600), Want: "200"},
	{Name: "T16.one-word", Sends: "half a second: «talking»", run: oneWord, Want: "the word"},
	{Name: "T16.0.8s", Sends: "0.8 s", run: short(12800), Want: "200"},
	{Name: "T16.0.999s", Sends: "0.999 s", run: short(15984), Want: "200"},

	{Name: "T18.cues", Sends: "a sentence at 5, 25 and 70 s, as srt", run: pausedCues, Want: "3 cues or more, begun within 0.3 s, none across a silence",
		Why: "cues stand for half a minute, or begin in the silence before"},
	{Name: "T18.words", Sends: "the same, words in verbose_json", run: pausedWords, Want: "words begin with the sentences within 0.3 s"},
}

// linkCases are about links: streams, browsers, live sessions, and what a long run leaves behind.
var linkCases = []Case{
	{Name: "T10.stream", Sends: "stream=true", run: streamEvents, Want: "text/event-stream: deltas, transcript.text.done, [DONE]",
		Why: "proxies drop links that bring nothing for half a minute"},
	{Name: "T10.alive", Sends: "stream=true, a recording that takes a minute", all: true, run: streamAlive, Want: "an event or comment each 15 s"},
	{Name: "T10.job", Sends: "Prefer: respond-async", run: job, Want: "202 with a location at once, the result there later"},

	{Name: "T15.stream", Sends: "S(40) as a stream", run: speechStream, Want: "joined deltas = the text at the end, valid UTF-8",
		Why: "tokens are pieces of characters; a stream that sends them one by one cuts these"},
	{Name: "T15.chinese", Sends: "Chinese speech as a stream", run: foreignStream("zh"), Want: "joined deltas = the text at the end, valid UTF-8"},
	{Name: "T15.japanese", Sends: "Japanese speech as a stream", run: foreignStream("ja"), Want: "joined deltas = the text at the end, valid UTF-8"},

	{Name: "T19.preflight", Sends: "OPTIONS with Origin and the headers of a request", run: preflight, Want: "all that it needs is allowed, or nothing is",
		Why: "a preflight that asks for a key can't be answered: browsers send none"},

	{Name: "T20.pcm-24khz", Sends: "the clip live, PCM of 24 kHz", run: live(liveFormat{"audio/pcm", 24000}), Want: "the words of the clip, within its time",
		Why: "rates taken for granted make speech too fast or too slow to be heard"},
	{Name: "T20.pcm-16khz", Sends: "the clip live, PCM of 16 kHz", run: live(liveFormat{"audio/pcm", 16000}), Want: "the words of the clip, within its time"},
	{Name: "T20.mulaw-8khz", Sends: "the clip live, µ-law of 8 kHz", run: live(liveFormat{Type: "audio/pcmu"}), Want: "the words of the clip, within its time"},

	{Name: "T21.probes", Sends: "health, readiness and metrics without a key", run: probes, Want: "200 for all",
		Why: "a probe that gets 401 restarts a server that is well"},
	{Name: "T21.keyed", Sends: "/v1 without a key", run: keyed, Want: "401 " + fourKeys},

	{Name: "T22.memory", Sends: "500 requests of all kinds", all: true, run: steadyMemory, Want: "the last 100 take no more memory",
		Why: "leaks show after days, and end in the night"},
	{Name: "T22.unload", Sends: "nothing, past the time to unload", run: cannot("needs to see the device's memory from inside"), Want: "memory goes back to the driver"},
	{Name: "T22.neighbour", Sends: "requests beside another process on the GPU", run: cannot("needs to fill the server's GPU"), Want: "its cap is kept"},

	{Name: "T24.slow-reader", Sends: "a stream read at a byte a second, and clips", run: slowReader, Want: "the clips are not kept waiting",
		Why: "a writer that blocks holds the model's lock"},
}

// loadCases are about long recordings, and who waits for whom.
var loadCases = []Case{
	{Name: "T1.unbroken", Sends: "S(120) as json and as verbose_json", run: unbroken,
		Want: "the same words, text = joined segments, none missing where windows of 30 s meet",
		Why:  "windows cut in the middle of a word lose it, and some servers take other ways for other formats"},

	{Name: "T2.behind-recording", Sends: "S(600), and S(3) half a second later; a shorter recording if the server takes more than 10 s for it", run: behindRecording,
		Want: "the clip waits for a turn, not for the recording's end",
		Why:  "a lock around the model, or one queue, makes a voice note wait for a podcast"},
	{Name: "T2.steady-clips", Sends: "4 recordings, as long as the server takes 2 minutes for, up to an hour each, beside clips without a break", all: true, run: steadyClips,
		Want: "clips wait for turns, recordings end all the same"},

	{Name: "T3.identical", Sends: "16 identical clips at once (--all: 64)", run: sameCrowd,
		Want: "all 200, each as the lone one, to the byte",
		Why:  "temporary files of one name, and models shared without a lock, mix up answers"},
	{Name: "T3.different", Sends: "16 different clips at once (--all: 64)", run: differentCrowd,
		Want: "all 200, each as its lone one, no slower than one after another"},

	{Name: "T5.29.9s", Sends: "S(29.9)", run: length(29.9), Want: toTheEnd,
		Why: "off by one window, padding counted as sound, times that drift, memory as the square of the length"},
	{Name: "T5.30.0s", Sends: "S(30.0)", run: length(30), Want: toTheEnd},
	{Name: "T5.30.1s", Sends: "S(30.1)", run: length(30.1), Want: toTheEnd},
	{Name: "T5.399s", Sends: "S(399)", all: true, run: length(399), Want: toTheEnd},
	{Name: "T5.410s", Sends: "S(410)", all: true, run: length(410), Want: toTheEnd},
	{Name: "T5.1h", Sends: "S(3600)", all: true, run: length(3600), Want: toTheEnd},
	{Name: "T5.3h", Sends: "S(10800)", all: true, run: length(10800), Want: toTheEnd},
}

// aftermathCases leave work behind in a server that fails them, from which others would suffer.
var aftermathCases = []Case{
	{Name: "T11.hang-ups", Sends: "3 recordings dropped after 1 s (--all: 100), then S(3)", run: hangUps, Want: "no work goes on for who is gone",
		Why: "a decoder in a thread of its own does not hear that its client left"},

	{Name: "T4.flood", Sends: "2,000 clips at once", all: true, run: flood(2000, secondOfSpeech),
		Want: "200, or 429 with Retry-After up to 8 s " + fourKeys + "; no link reset",
		Why:  "unbounded queues end in memory, bounded ones in resets, which clients repeat at once"},
	{Name: "T4.flood-of-recordings", Sends: "50 recordings at once, as long as the server takes 2 minutes for, up to an hour each", all: true, run: flood(50, longOfMany),
		Want: "200, or 429 with Retry-After up to 8 s " + fourKeys + "; no link reset"},
}
