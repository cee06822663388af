"""Counts the word errors of a hark binary on every English clip of the corpus, with options to be compared.

usage: wer-options.py [--pieces SECONDS,...] HARK SHARED MODEL [OPTIONS]...

OPTIONS are hark's, as one argument for each row of the table: "--precision f32 --encoder-context full". The clips are all of
audio/clips and audio/parts that have a transcript, are spoken by people and take at most 30 s. Run it with the Python that
scripts/clients/setup.sh makes, which has Whisper's normaliser.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

import wer
from whisper_normalizer.english import EnglishTextNormalizer

RECORDING = "longform/long-20min.mp3"


def is_clip(row):
    """Whether a row of the manifest is one of the clips."""
    folder = row["path"].split("/")[0]
    return folder in ("clips", "parts") and row["transcript"] and row["language"] == "en" and row["seconds"] <= 30 and not row["synthetic"]


def cpu_seconds():
    """The processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pieces(recording, lengths, folder):
    """The files that ffmpeg cuts a recording into, a list for each length."""
    for seconds in lengths:
        to = os.path.join(folder, seconds)
        os.mkdir(to)
        subprocess.run(["ffmpeg", "-v", "error", "-i", recording, "-ac", "1", "-ar", "16000", "-f", "segment", "-segment_time", seconds,
                        os.path.join(to, "%04d.wav")], check=True)
        yield [os.path.join(to, name) for name in sorted(os.listdir(to))]


def texts_to_hear(rows, audio, lengths, folder):
    """[(transcript, files that hold it)]"""
    if not lengths:
        return [(row["transcript"], [os.path.join(audio, row["path"])]) for row in rows if is_clip(row)]
    row = next(row for row in rows if row["path"] == RECORDING)
    return [(row["transcript"], files) for files in pieces(os.path.join(audio, RECORDING), lengths, folder)]


def main():
    args = sys.argv[1:]
    lengths = []
    if args[:1] == ["--pieces"]:
        lengths, args = args[1].split(","), args[2:]
    if len(args) < 3:
        sys.exit(__doc__)
    hark, shared, model = args[:3]
    audio = os.path.join(shared, "audio")
    with open(os.path.join(audio, "manifest.json"), encoding="utf-8") as f:
        rows = json.load(f)
    normalise = EnglishTextNormalizer()
    with tempfile.TemporaryDirectory() as folder:
        said = texts_to_hear(rows, audio, lengths, folder)
        for options in args[3:] or [""]:
            begin = cpu_seconds()
            texts, _, _ = wer.transcribe(hark, model, options.split(), [file for _, files in said for file in files])
            heard = iter(texts)
            errors = words = 0
            for transcript, files in said:
                want = normalise(transcript).split()
                got = normalise(" ".join(next(heard) for _ in files)).split()
                errors += wer.align(want, got)[0]
                words += len(want)
            print(f"{model} {options}: {errors} of {words} words, {100 * errors / words:.2f} %, {cpu_seconds() - begin:.0f} s of CPU", flush=True)


main()
