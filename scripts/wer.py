"""Counts the word errors of a hark binary on the speech corpus, beside those of the reference implementation.

usage: wer.py [--quick] [--model NAME]... HARK SHARED

HARK is the binary, SHARED the folder with audio/ and golden/whisper/wer.json, which holds what openai-whisper makes of
the same files (greedy, temperature 0) after Whisper's English normaliser. Needs the package whisper-normalizer, which
scripts/clients/setup.sh fetches. Prints a table; exit code 1 if a row is beyond its bound:

  clips            error rate at most 1 point above the reference's
  sequential       long recordings as the reference decodes them: at most 0.3 points above
  windowed         long recordings cut at silence: at most 1 point above
  any              no stretch of 5 words more is missing, or added, than in the reference's own text

--quick takes a few clips only.
"""

import argparse
import json
import os
import subprocess
import sys
import time

from whisper_normalizer.english import EnglishTextNormalizer

QUICK = ["jfk", "leopard-test", "librivox-austen-0870", "ls-1089-134686-0000", "ls-1995-1837-0001", "sb-spk1_snt1"]
STRETCH = 5
# Part of wer.json, hark's options, name in the table, points allowed above the reference.
RUNS = [
    ("clips", [], "clips", 1.0),
    ("longform", ["--sequential", "--word-timestamps"], "long, sequential", 0.3),
    ("longform", [], "long, windowed", 1.0),
]


def align(ref, hyp):
    """The least number of word errors between two lists of words, with the longest missing and added stretches."""
    rows = [list(range(len(hyp) + 1))]
    for i, word in enumerate(ref, 1):
        above, row = rows[-1], [i]
        for j, other in enumerate(hyp, 1):
            row.append(min(above[j - 1] + (word != other), above[j] + 1, row[j - 1] + 1))
        rows.append(row)
    i, j, missing, added, longest_missing, longest_added = len(ref), len(hyp), 0, 0, 0, 0
    while i or j:
        if i and j and rows[i][j] == rows[i - 1][j - 1] + (ref[i - 1] != hyp[j - 1]):
            i, j, missing, added = i - 1, j - 1, 0, 0
        elif i and rows[i][j] == rows[i - 1][j] + 1:
            i, missing, added = i - 1, missing + 1, 0
        else:
            j, missing, added = j - 1, 0, added + 1
        longest_missing, longest_added = max(longest_missing, missing), max(longest_added, added)
    return rows[-1][-1], longest_missing, longest_added


def transcribe(hark, model, options, files):
    """The texts that one run of hark makes of the files, in their order, and the seconds it took."""
    argv = [hark, "transcribe", "--model", model, "--format", "json", "--language", "en", "--temperature", "0"]
    start = time.monotonic()
    run = subprocess.run(argv + options + files, stdout=subprocess.PIPE, text=True, check=False)
    took = time.monotonic() - start
    if run.returncode:
        sys.exit(f"{' '.join(argv + options)} ended with exit code {run.returncode}")
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if [a["file"] for a in answers] != files:
        sys.exit(f"asked for {files}, got answers for {[a['file'] for a in answers]}")
    return [a["text"] for a in answers], sum(a["duration"] for a in answers), took


def paths(shared):
    """The file of every clip by its name: wer.json's clips come from two folders."""
    with open(os.path.join(shared, "golden/whisper/clips.json"), encoding="utf-8") as f:
        clips = json.load(f)["clips"]
    roots = {"golden": os.path.join(shared, "golden/whisper"), "audio": os.path.join(shared, "audio")}
    return {c["id"]: os.path.join(roots[c["root"]], c["file"]) for c in clips}


def measure(args, normalise, files, model, part, options, allowed):
    """One row of the table and whether it is within its bound."""
    names = list(args.reference[model][part]["per_clip"])
    if args.quick:
        names = [n for n in names if n in QUICK]
    texts, audio, took = transcribe(args.hark, model, options, [files[n] for n in names])
    words = errors = want = 0
    faults = []
    for name, text in zip(names, texts):
        r = args.reference[model][part]["per_clip"][name]
        ref = r["ref_normalised"].split()
        e, missing, added = align(ref, normalise(text).split())
        e_want, missing_want, added_want = align(ref, r["hyp_normalised"].split())
        words, errors, want = words + len(ref), errors + e, want + e_want
        if e != e_want and args.verbose:
            faults.append(f"  {name}: {e} errors, reference {e_want}: {normalise(text)}")
        if missing >= missing_want + STRETCH:
            faults.append(f"  {name}: {missing} words in a row are missing")
        if added >= added_want + STRETCH:
            faults.append(f"  {name}: {added} words in a row were never said")
    # One word is always allowed: the rate of few words moves in coarse steps.
    within = errors <= want + max(1, allowed / 100 * words) and not any("in a row" in f for f in faults)
    figures = [100 * want / words, 100 * errors / words, 100 * (errors - want) / words, allowed]
    return [len(names), words] + [f"{x:.2f}" for x in figures] + [f"{audio / took:.1f}", "ok" if within else "BEYOND"], faults, within


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--model", action="append")
    parser.add_argument("hark")
    parser.add_argument("shared")
    args = parser.parse_args()
    with open(os.path.join(args.shared, "golden/whisper/wer.json"), encoding="utf-8") as f:
        args.reference = json.load(f)
    normalise = EnglishTextNormalizer()
    files = paths(args.shared)

    line = "{:9} {:17} {:>5} {:>6} {:>10} {:>7} {:>7} {:>8} {:>8}  {}"
    print("word error in points; speed in seconds of audio per second")
    print(line.format("model", "what", "files", "words", "reference", "hark", "more", "allowed", "speed", ""))
    good = True
    for model in args.model or ["tiny.en", "base"]:
        for part, options, what, allowed in RUNS[:1] if args.quick else RUNS:
            row, faults, within = measure(args, normalise, files, model, part, options, allowed)
            print(line.format(model, what, *row), *faults, sep="\n", flush=True)
            good = good and within
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
