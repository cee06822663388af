"""Compares hark with its peers on recordings of 11 s, 1, 5 and 20 minutes, and prints tables in Markdown.

usage: speed.py [--plan NAME] [--show] [--rounds N] [--only TEXT] [--models NAMES] [--budget MINUTES] [--hark FILE] [--out FILE]

All work is done by offline.py of the shared benchmark: same weights and files, greedy, timestamps on, every program in turn in every
round. A plan is a list of sections, each one run of it; --show tells what they are and how long they take. A ratio is the median of the
rounds' ratios: by wall time on two threads, by CPU seconds on one. "hark" starts a process for every file and loads its model within the
time taken; "hark serve" and the peers stay loaded, as servers are.
"""
import argparse
import dataclasses
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import corpus
import isa
import common  # of the shared benchmark, as corpus has set the path

ALL = ["faster-whisper-int8", "faster-whisper-batched-int8", "faster-whisper-fp32", "whisper.cpp-f16", "whisper.cpp-q8_0", "openai-whisper-fp32"]
# The fastest of each family.
STRONGEST = ["faster-whisper-int8", "faster-whisper-batched-int8", "whisper.cpp-f16", "openai-whisper-fp32"]
# The fastest with AVX2 alone that lose no words as the batched pipeline does.
NEAREST = ["faster-whisper-int8", "whisper.cpp-q8_0"]
OURS = ["hark", "hark serve"]

# About how many seconds of audio a second, on two threads of the machine that EXPERIMENTS.md was measured on: tiny.en, base.
EXPECTED = {"hark": (70, 61), "hark serve": (75, 65), "faster-whisper-int8": (32, 18), "faster-whisper-batched-int8": (32, 18),
            "faster-whisper-fp32": (20, 11), "whisper.cpp-f16": (20, 9), "whisper.cpp-q8_0": (17, 8), "openai-whisper-fp32": (30, 15)}
SECONDS = {"11 s": 11, "1 min": 60, "5 min": 299, "20 min": 1198}


@dataclasses.dataclass
class Section:
    lengths: list
    models: list
    peers: list
    threads: int
    rounds: int
    cold: int = 0  # starts of each program that are timed
    slower: float = 1.0  # than EXPECTED, for a plan's minutes

    def minutes(self):
        """An estimate, with warm-ups."""
        total = 0
        for column, model in enumerate(["tiny.en", "base"]):
            if model in self.models:
                rate = sum(1 / EXPECTED[p][column] for p in self.peers + OURS)
                total += (sum(SECONDS[n] for n in self.lengths) * self.rounds + (1 + self.cold) * SECONDS["11 s"]) * rate
        return (total * (1 if self.threads > 1 else 1.8) * self.slower + 2 * (1 + self.cold) * len(self.models) * len(self.peers)) / 60

    def title(self):
        unit = "threads, by wall time" if self.threads > 1 else "thread, by CPU seconds"
        return f"{', '.join(self.lengths)}; {', '.join(self.models)}; {self.threads} {unit}; rounds: {self.rounds}"


BOTH = ["tiny.en", "base"]
PLANS = {
    "quick": [
        Section(["11 s"], BOTH, ALL, threads=1, rounds=1),  # to see that everything is in place
    ],
    "native": [
        Section(["11 s", "1 min"], BOTH, ALL, threads=2, rounds=5, cold=3),
        Section(["11 s", "1 min"], BOTH, ALL, threads=1, rounds=5),
        Section(["11 s", "5 min"], BOTH, ALL, threads=2, rounds=5),
    ],
    "native-long": [
        Section(["11 s", "20 min"], BOTH, STRONGEST, threads=2, rounds=5),
    ],
    "avx2": [
        Section(["11 s", "1 min"], BOTH, ALL, threads=2, rounds=5, cold=2, slower=1.5),
        Section(["11 s", "5 min"], BOTH, ALL, threads=2, rounds=5, slower=1.1),
    ],
    "avx2-long": [
        Section(["11 s", "20 min"], BOTH, ALL, threads=2, rounds=5, slower=1.1),
    ],
    "avx2-cpu": [
        Section(["11 s", "1 min"], BOTH, ALL, threads=1, rounds=5, slower=1.5),
        Section(["11 s", "5 min"], BOTH, ALL, threads=1, rounds=5, slower=1.1),
        Section(["11 s", "20 min"], BOTH, NEAREST, threads=1, rounds=5, slower=1.1),
    ],
}


def run(section, model, manifest, args, seconds):
    """Runs one model of a section and returns offline.py's report."""
    with tempfile.TemporaryDirectory() as folder, corpus.Server(args.hark, model, section.threads) as server:
        out = os.path.join(folder, "out.json")
        subprocess.run([
            sys.executable, "-B", os.path.join(corpus.SHARED, "bench", "offline.py"), "--manifest", manifest,
            "--match", "|".join(corpus.file_of(n) for n in section.lengths), "--models", model, "--peers", ",".join(section.peers),
            "--product", f"hark={shlex.quote(args.hark)} transcribe --model {{model}} --threads {{threads}} --format json --language en --temperature 0 {{file}}",
            "--http", f"hark serve={server.url}", "--threads", str(section.threads), "--rounds", str(args.rounds or section.rounds),
            "--cold", str(section.cold), "--file-timeout", "600", "--budget", str(max(1, int(seconds))), "--out", out], stdout=subprocess.DEVNULL, check=True)
        with open(out) as f:
            return json.load(f)


def spread(values):
    return [min(values), statistics.median(values), max(values)] if values else None


def ratios(theirs, ours, at, key):
    """How often faster ours is than theirs on file number at, round by round."""
    return spread([t[key][at] / o[key][at] for t, o in zip(theirs["rounds"], ours["rounds"]) if t[key][at] and o[key][at]])


def summarize(section, report, manifest):
    """A row for each peer of the report's one model: by length the rate, the ratios and the word error; memory and cold start."""
    with open(manifest) as f:
        texts = {os.path.splitext(os.path.basename(r["path"]))[0]: r["transcript"] for r in json.load(f)}
    (model, peers), = report["models"].items()
    key, rows = "walls" if section.threads > 1 else "cpu_s", []
    for name, got in peers.items():
        row = {"model": model, "peer": name, "rounds": len(got["rounds"]), "cold_s": got["cold"], "peak_rss_mib": got["peak_rss_mib"],
               "errors": got["errors"], "lengths": {}}
        for at, length in enumerate(section.lengths):
            if not got["rounds"]:
                continue
            heard = got["rounds"][-1]["texts"][at]
            row["lengths"][length] = {
                "audio_s_per_s": spread([SECONDS[length] / r[key][at] for r in got["rounds"] if r[key][at]]),
                "hark": ratios(got, peers["hark"], at, key), "hark serve": ratios(got, peers["hark serve"], at, key),
                "wer": common.corpus_wer([(texts[corpus.file_of(length)], heard)])}
        rows.append(row)
    return rows


def show(s, digits=2):
    return "-" if not s else f"{s[1]:.{digits}f} ({s[0]:.{digits}f}..{s[2]:.{digits}f})"


def table(section, rows):
    """Markdown. Columns that the section can't fill are left out."""
    head = ["model", "program", "rounds"]
    rate = "audio-s/s" if section.threads > 1 else "audio-s per CPU s"
    for n in section.lengths:
        head += [f"{n}: {rate}", "hark is faster by", "hark serve by", "WER %"]
    lines = [head + ["cold start, s", "peak MiB"]]
    lines.append(["---"] * len(lines[0]))
    for row in rows:
        line = [row["model"], row["peer"], str(row["rounds"])]
        for n in section.lengths:
            got = row["lengths"].get(n)
            line += [show(got["audio_s_per_s"], 1), show(got["hark"]), show(got["hark serve"]), f"{100 * got['wer']:.1f}"] if got else ["-"] * 4
        lines.append(line + [show(row["cold_s"]), f"{row['peak_rss_mib'] or '-'}"])
    notes = [f"{r['model']} {r['peer']}: {e}" for r in rows for e in r["errors"]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "".join(f"\n\n{n}" for n in notes)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--plan", choices=PLANS, default="native")
    p.add_argument("--show", action="store_true", help="only tell what would be run")
    p.add_argument("--rounds", type=int, help="instead of the plan's")
    p.add_argument("--only", default="", help="only sections whose title holds this")
    p.add_argument("--models", default="tiny.en,base", help="only these")
    p.add_argument("--budget", type=float, default=45, metavar="MINUTES", help="for all; what is left then is left out, and the table says so")
    p.add_argument("--hark", default="./hark")
    p.add_argument("--out", metavar="FILE", help="also write JSON")
    args = p.parse_args()
    args.hark = os.path.abspath(args.hark)
    models = args.models.split(",")
    sections = [dataclasses.replace(s, models=[m for m in s.models if m in models]) for s in PLANS[args.plan] if args.only in s.title()]
    sections = [s for s in sections if s.models]
    if args.show:
        for s in sections:
            print(f"{s.minutes():5.1f} min: {s.title()}; {', '.join(s.peers)}")
        print(f"{sum(s.minutes() for s in sections):5.1f} min")
        return

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends too
    end, results = time.monotonic() + 60 * args.budget, []
    forced = {k: os.environ[k] for k in ("HARK_CPU", "CT2_FORCE_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY",
                                         "OPENBLAS_CORETYPE") if k in os.environ}
    print(f"{common.machine()} {' '.join(f'{k}={v}' for k, v in forced.items())}\n\n{isa.report(args.hark)}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        manifest = corpus.manifest(folder)
        for s in sections:
            rows = []
            for model in s.models:
                report = run(s, model, manifest, args, end - time.monotonic())
                rows += summarize(s, report, manifest)
                results.append({"section": s.title(), "environment": forced, "report": report, "rows": rows[-len(report["models"][model]):]})
                if args.out:
                    with open(args.out, "w") as f:
                        json.dump(results, f, indent=1)
            print(f"### {s.title()}\n\n{table(s, rows)}\n", flush=True)


if __name__ == "__main__":
    main()
