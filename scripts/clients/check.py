"""Drives a running server through the official Python client.

usage: check.py BASE SAMPLE.wav SAMPLE.txt

Prints a line for each check that fails and a closing 'python: N passed, N failed'.
"""

import base64
import io
import re
import sys
import traceback
import wave

import openai

SEGMENT_KEYS = {"id", "seek", "start", "end", "text", "tokens", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob"}
CHECKS = []


def check(f):
    """Registers f as a check; its name says what it holds."""
    CHECKS.append(f)
    return f


def words(text):
    """The words of text in lower case, without punctuation."""
    return re.findall(r"[a-z']+", text.lower())


def same_words(text):
    got, want = words(text), words(TEXT)
    assert got == want, f"got words {got}, want {want}"


def transcribe(**options):
    options.setdefault("model", "tiny.en")
    if "file" in options:
        return CLIENT.audio.transcriptions.create(**options)
    with open(SAMPLE, "rb") as f:
        return CLIENT.audio.transcriptions.create(file=f, **options)


def refused(kind, param, **options):
    """Asserts that a request is refused with the given class, naming the parameter at fault."""
    try:
        answer = transcribe(**options)
    except openai.APIStatusError as e:
        assert type(e) is kind, f"got {type(e).__name__}, want {kind.__name__}: {e}"
        assert e.param == param, f"got param {e.param!r}, want {param!r}: {e}"
        assert isinstance(e.body, dict) and {"message", "type", "param", "code"} <= set(e.body), f"body lacks keys: {e.body}"
        assert e.body["message"], "the message is empty"
        return e
    raise AssertionError(f"accepted, with {answer!r}")


@check
def lists_models():
    ids = [m.id for m in CLIENT.models.list()]
    assert {"tiny.en", "base"} <= set(ids), ids


@check
def transcribes_json():
    answer = transcribe()
    same_words(answer.text)
    assert answer._request_id, "no request id"


@check
def transcribes_multilingual_model():
    same_words(transcribe(model="base").text)


@check
def transcribes_text():
    text = transcribe(response_format="text")
    assert isinstance(text, str), type(text)
    same_words(text)


@check
def transcribes_srt():
    text = transcribe(response_format="srt")
    assert re.match(r"1\n\d\d:\d\d:\d\d,\d{3} --> \d\d:\d\d:\d\d,\d{3}\n\S", text), text[:80]
    same_words(re.sub(r"(?m)^\d+$|^\d\d:.*$", "", text))


@check
def transcribes_vtt():
    text = transcribe(response_format="vtt")
    assert text.startswith("WEBVTT\n\n"), text[:40]
    assert re.search(r"(?m)^(\d\d:)?\d\d:\d\d\.\d{3} --> (\d\d:)?\d\d:\d\d\.\d{3}$", text), text[:80]
    same_words(re.sub(r"(?m)^WEBVTT$|^.*-->.*$", "", text))


@check
def transcribes_verbose_json():
    answer = transcribe(response_format="verbose_json")
    same_words(answer.text)
    assert answer.language == "english", answer.language
    assert isinstance(answer.duration, float) and abs(answer.duration - DURATION) < 0.01, answer.duration
    assert not answer.words, "words that nobody asked for"
    same_words("".join(s.text for s in answer.segments))
    end = 0.0
    for i, s in enumerate(answer.segments):
        keys = set(s.to_dict())
        assert SEGMENT_KEYS <= keys, f"segment lacks {SEGMENT_KEYS - keys}"
        assert s.id == i, f"segment {i} has id {s.id}"
        assert end - 0.01 <= s.start < s.end <= DURATION + 0.01, f"segment {i} from {s.start} to {s.end} after {end}"
        end = s.end


def right_words(answer):
    same_words(" ".join(w.word for w in answer.words))
    start = 0.0
    for w in answer.words:
        assert start <= w.start <= w.end <= DURATION + 0.01, f"{w.word} from {w.start} to {w.end} after {start}"
        start = w.start


@check
def transcribes_word_times():
    right_words(transcribe(response_format="verbose_json", timestamp_granularities=["word"]))


@check
def transcribes_both_granularities():
    answer = transcribe(response_format="verbose_json", timestamp_granularities=["word", "segment"])
    right_words(answer)
    assert answer.segments, "no segments"


@check
def takes_bytes_without_a_name():
    with open(SAMPLE, "rb") as f:
        same_words(transcribe(file=f.read()).text)


@check
def takes_language_prompt_and_temperature():
    same_words(transcribe(model="base", language="en", prompt="A night on the railway.", temperature=0).text)


@check
def translates():
    with open(SAMPLE, "rb") as f:
        answer = CLIENT.audio.translations.create(file=f, model="base", response_format="verbose_json")
    assert answer.language == "english", answer.language
    same_words(answer.text)


def live_input(**more):
    """Settings of a live session: the sample's form of sound, and no looks at unfinished speech, which might show "9" for "nine"."""
    return {"format": {"type": "audio/pcm", "rate": 16000}, "transcription": {"model": "tiny.en", "delay": "xhigh"}, **more}


def live_text(connection):
    """What is heard of the next item, whose deltas must be its transcript."""
    deltas = ""
    for event in connection:
        assert event.event_id, event
        if event.type == "conversation.item.input_audio_transcription.delta":
            deltas += event.delta
        elif event.type == "conversation.item.input_audio_transcription.completed":
            assert event.transcript == deltas, f"transcript {event.transcript!r}, deltas {deltas!r}"
            assert event.usage.type == "duration" and abs(event.usage.seconds - DURATION) < 1, event.usage
            return event.transcript
        assert event.type != "error", event
    raise AssertionError("the session ended")


@check
def transcribes_live():
    with CLIENT.realtime.connect(extra_query={"intent": "transcription"}) as connection:
        created = connection.recv()
        assert created.type == "session.created" and created.session.type == "transcription", created
        connection.session.update(session={"type": "transcription", "audio": {"input": live_input(turn_detection=None)}})
        updated = connection.recv()
        assert updated.type == "session.updated", updated
        got = updated.session.audio.input
        assert got.format.type == "audio/pcm" and got.turn_detection is None and got.transcription.model == "tiny.en", got
        for at in range(0, len(SOUND), 3200):
            connection.input_audio_buffer.append(audio=base64.b64encode(SOUND[at : at + 3200]).decode())
        connection.input_audio_buffer.commit()
        same_words(live_text(connection))
        connection.input_audio_buffer.clear()
        assert connection.recv().type == "input_audio_buffer.cleared"
        connection.input_audio_buffer.commit(event_id="empty")
        refused = connection.recv()
        assert refused.type == "error" and refused.error.event_id == "empty", refused
        assert refused.error.code == "input_audio_buffer_commit_empty", refused


@check
def finds_live_turns():
    with CLIENT.realtime.connect(model="tiny.en") as connection:
        connection.session.update(session={"type": "transcription", "audio": {"input": live_input(turn_detection={"type": "server_vad"})}})
        for at in range(0, len(SOUND), 3200):
            connection.input_audio_buffer.append(audio=base64.b64encode(SOUND[at : at + 3200]).decode())
        connection.input_audio_buffer.append(audio=base64.b64encode(bytes(48000)).decode())
        same_words(live_text(connection))


@check
def refuses_unknown_model_live():
    try:
        with CLIENT.realtime.connect(model="no-such-model"):
            pass
    except Exception as e:
        assert "404" in str(e), e
        return
    raise AssertionError("accepted")


@check
def refuses_unknown_format():
    refused(openai.BadRequestError, "response_format", response_format="docx")


@check
def refuses_temperature_out_of_range():
    refused(openai.BadRequestError, "temperature", temperature=2)


@check
def refuses_unknown_language():
    refused(openai.BadRequestError, "language", model="base", language="xx")


@check
def refuses_text_named_wav():
    e = refused(openai.APIStatusError, "file", file=("talk.wav", b"This is no sound at all. " * 40))
    assert e.status_code == 415 and "text" in e.body["message"] and "flac" in e.body["message"], e


@check
def refuses_empty_file():
    refused(openai.BadRequestError, "file", file=("empty.wav", b""))


@check
def refuses_unknown_model():
    e = refused(openai.NotFoundError, "model", model="no-such-model")
    assert e.code == "model_not_found", e.code


@check
def refuses_too_large_a_file():
    big = io.BytesIO()
    with wave.open(big, "wb") as w:
        w.setparams((1, 2, 16000, 0, "NONE", ""))
        w.writeframes(bytes(2 << 20))
    e = refused(openai.APIStatusError, "file", file=("big.wav", big.getvalue()))
    assert e.status_code == 413, e.status_code


@check
def says_404_for_unknown_path():
    try:
        CLIENT.get("/audio/no-such-path", cast_to=object)
    except openai.NotFoundError as e:
        assert e.body and e.body["message"], e.body
        return
    raise AssertionError("accepted")


def stream(**options):
    """Every event of a stream, in order."""
    return list(transcribe(stream=True, **options))


@check
def streams():
    events = stream()
    deltas = [e.delta for e in events if e.type == "transcript.text.delta"]
    done = events[-1]
    assert done.type == "transcript.text.done" and deltas and len(deltas) == len(events) - 1, [e.type for e in events]
    assert "".join(deltas) == done.text, f"{deltas} join to something else than {done.text!r}"
    same_words(done.text)
    assert done.usage.seconds == round(DURATION, 3) and done.languages[0].code == "en", done


@check
def streams_verbose_json():
    done = stream(response_format="verbose_json", timestamp_granularities=["word", "segment"])[-1]
    same_words(" ".join(w["word"] for w in done.words))
    assert done.segments and SEGMENT_KEYS <= set(done.segments[0]), done


@check
def stops_a_stream_early():
    with transcribe(stream=True) as events:
        for event in events:
            assert event.type == "transcript.text.delta", event
            break
    same_words(transcribe().text)


@check
def streams_speakers():
    events = stream(response_format="diarized_json")
    segments = [e for e in events if e.type == "transcript.text.segment"]
    same_words(" ".join(e.text for e in segments))
    assert [e.id for e in segments] == [f"seg_{i + 1:03}" for i in range(len(segments))], segments
    assert all(e.speaker == "A" and 0 <= e.start < e.end <= DURATION + 0.01 for e in segments), segments


@check
def refuses_a_stream_before_it_begins():
    try:
        stream(model="no-such-model")
    except openai.NotFoundError as e:
        assert e.param == "model", e
        return
    raise AssertionError("accepted")


@check
def raises_a_missed_deadline_of_a_stream():
    try:
        stream(extra_body={"deadline_ms": 1})
    except openai.APIError as e:
        assert e.body and e.body["message"] and e.param == "deadline_ms", e.body
        return
    raise AssertionError("in time")


def right_logprobs(tokens, text):
    assert bytes(int(b) for t in tokens for b in t.bytes).decode().strip() == text, tokens
    assert all(t.logprob <= 0 for t in tokens), tokens


@check
def tells_logprobs():
    answer = transcribe(include=["logprobs"])
    right_logprobs(answer.logprobs, answer.text)
    done = stream(include=["logprobs"])[-1]
    right_logprobs(done.logprobs, done.text)


@check
def transcribes_diarized_json():
    answer = transcribe(response_format="diarized_json")
    same_words(answer.text)
    same_words(" ".join(s.text for s in answer.segments))
    assert abs(answer.duration - DURATION) < 0.01 and {s.speaker for s in answer.segments} == {"A"}, answer
    refused(openai.BadRequestError, "known_speaker_names[]", extra_body={"known_speaker_names[]": "agent"})


@check
def names_unknown_fields():
    raw = CLIENT.audio.transcriptions.with_raw_response.create(file=open(SAMPLE, "rb"), model="tiny.en", extra_body={"langauge": "en"})
    assert "langauge (did you mean language?)" in raw.headers["x-hark-warning"], raw.headers
    e = refused(openai.BadRequestError, "langauge", extra_body={"langauge": "en", "strict": True})
    assert "did you mean language?" in e.body["message"], e


def main():
    failed = 0
    for f in CHECKS:
        try:
            f()
        except Exception:
            failed += 1
            print(f"python: {f.__name__} failed\n{traceback.format_exc()}")
    print(f"python: {len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


BASE, SAMPLE, TEXT_FILE = sys.argv[1:]
with open(TEXT_FILE, encoding="utf-8") as f:
    TEXT = f.read()
with wave.open(SAMPLE) as w:
    DURATION = w.getnframes() / w.getframerate()
    SOUND = w.readframes(w.getnframes())
# No retries: an answer that needs a second try is a failure here.
CLIENT = openai.OpenAI(base_url=BASE + "/v1", api_key="none", max_retries=0, timeout=120)
sys.exit(main())
