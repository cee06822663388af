"""Drives a running server with keys through the official Python client, retries and all.

usage: keys.py BASE SAMPLE.wav PATIENT_KEY HASTY_KEY

The patient key may send twenty requests a minute, the hasty one a single one. Prints a line for each check that fails and a
closing 'python, keys: N passed, N failed'.
"""

import re
import sys
import traceback
import urllib.request

import openai

BASE, SAMPLE, PATIENT, HASTY = sys.argv[1:]
CHECKS = []


def check(f):
    """Registers f as a check; its name says what it holds."""
    CHECKS.append(f)
    return f


def client(key, **options):
    return openai.OpenAI(base_url=BASE + "/v1", api_key=key, timeout=120, **options)


def transcribe(c):
    with open(SAMPLE, "rb") as f:
        return c.audio.transcriptions.create(model="tiny.en", file=f)


def refusals(code):
    """How often the server has refused with a code, which is how many attempts it has seen."""
    with urllib.request.urlopen(BASE + "/metrics") as answer:
        found = re.search(r'^hark_rejections_total\{code="%s"\} (\d+)$' % code, answer.read().decode(), re.M)
    return int(found[1]) if found else 0


def refused(kind, code, call):
    """Asserts that a call is refused after a single attempt, and returns the error."""
    before = refusals(code)
    try:
        call()
    except openai.APIStatusError as e:
        assert type(e) is kind and e.code == code, f"got {type(e).__name__} {e.code}: {e}"
        attempts = refusals(code) - before
        assert attempts == 1, f"{attempts} attempts"
        return e
    raise AssertionError("accepted")


@check
def takes_a_key():
    assert "last train" in transcribe(client(PATIENT)).text


@check
def refuses_a_wrong_key():
    e = refused(openai.AuthenticationError, "invalid_api_key", lambda: transcribe(client("sk-no-such-key")))
    assert e.type == "invalid_request_error", e.type


@check
def comes_back_when_a_place_is_soon_free():
    hurried = client(PATIENT, max_retries=0)
    for _ in range(30):  # an empty file is a request, too
        try:
            hurried.audio.transcriptions.create(model="tiny.en", file=("empty.wav", b""))
        except openai.BadRequestError:
            continue
        except openai.RateLimitError as e:
            assert 1 <= int(e.response.headers["retry-after"]) <= 8, e.response.headers
            assert e.response.headers["x-ratelimit-limit-requests"] == "20", e.response.headers
            break
    before = refusals("rate_limit_exceeded")
    assert "last train" in transcribe(client(PATIENT)).text
    attempts = refusals("rate_limit_exceeded") - before
    assert attempts <= 1, f"{attempts} refused attempts before one was served"


@check
def gives_up_at_once_when_it_is_not():
    transcribe(client(HASTY))
    e = refused(openai.RateLimitError, "rate_limit_exceeded", lambda: transcribe(client(HASTY)))
    assert e.type == "rate_limit_error" and "retry-after" not in e.response.headers, e.response.headers


failed = 0
for f in CHECKS:
    try:
        f()
    except Exception:
        failed += 1
        print(f"python, keys: {f.__name__} failed\n{traceback.format_exc()}")
print(f"python, keys: {len(CHECKS) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
