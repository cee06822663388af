"""Counts the word errors of a hark binary on every English clip of the corpus, with options to be compared.

usage: wer-options.py HARK SHARED MODEL [OPTIONS]...

OPTIONS are hark's, as one argument for each row of the table: "--precision f32 --encoder-context full". The clips are all of
audio/clips and audio/parts that have a transcript, are spoken by people and take at most 30 s. Run it with the Python that
scripts/clients/setup.sh makes, which has Whisper's normaliser.
"""

import json
import os
import resource
import sys

import wer
from whisper_normalizer.english import EnglishTextNormalizer


def is_clip(row):
    """Whether a row of the manifest is one of the clips."""
    folder = row["path"].split("/")[0]
    return folder in ("clips", "parts") and row["transcript"] and row["language"] == "en" and row["seconds"] <= 30 and not row["synthetic"]


def cpu_seconds():
    """The processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    hark, shared, model = sys.argv[1:4]
    audio = os.path.join(shared, "audio")
    with open(os.path.join(audio, "manifest.json"), encoding="utf-8") as f:
        rows = [row for row in json.load(f) if is_clip(row)]
    normalise = EnglishTextNormalizer()
    for options in sys.argv[4:] or [""]:
        begin = cpu_seconds()
        texts, _, _ = wer.transcribe(hark, model, options.split(), [os.path.join(audio, row["path"]) for row in rows])
        errors = words = 0
        for row, text in zip(rows, texts):
            want = normalise(row["transcript"]).split()
            errors += wer.align(want, normalise(text).split())[0]
            words += len(want)
        print(f"{model} {options}: {errors} of {words} words, {100 * errors / words:.2f} %, {cpu_seconds() - begin:.0f} s of CPU", flush=True)


main()
