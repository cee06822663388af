"""Compares the CPU time in which hark and ffmpeg decode five minutes of every format to 16 kHz mono.

usage: decode-speed.py [--rounds N] [--seconds N] [--only TEXT] [SHARED]

Both do the same: decode, mix, resample. ffmpeg runs on one thread, with its own resampler, but for the row "resampler",
where it is soxr (precision 28, whose stop band is as deep as hark's). What is compared is user and system time of the
process less what the process takes for a tenth of a second, the median of N rounds (default 5) in which both take turns,
so that it holds on a machine that is busy with other things too. SHARED is the folder with audio/ (default $HARK_SHARED,
else ../shared beside the repository). Needs go and ffmpeg with libmp3lame, libvorbis, libopus and libsoxr. Files are made
in a temporary folder; HE-AAC, which ffmpeg does not encode, is the streams of audioprep/internal/aac/testdata repeated.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STEREO = ["-ar", "44100", "-ac", "2"]
# Name in the table, file, arguments that make it of speech in two channels; None: see repeat.
FORMATS = [
    ("WAV 16 bit", "x.wav", [*STEREO, "-c:a", "pcm_s16le"]),
    ("WAV float, 48 kHz", "f.wav", ["-ar", "48000", "-ac", "2", "-c:a", "pcm_f32le"]),
    ("FLAC 16 bit", "x.flac", [*STEREO, "-c:a", "flac", "-sample_fmt", "s16"]),
    ("ALAC 16 bit", "alac.m4a", [*STEREO, "-c:a", "alac", "-sample_fmt", "s16p"]),
    ("MP3 128 kbit/s", "x.mp3", [*STEREO, "-c:a", "libmp3lame", "-b:a", "128k"]),
    ("MP3 mono 64 kbit/s", "mono.mp3", ["-ar", "44100", "-ac", "1", "-c:a", "libmp3lame", "-b:a", "64k"]),
    ("MP2 192 kbit/s", "x.mp2", ["-ar", "48000", "-ac", "2", "-c:a", "mp2", "-b:a", "192k"]),
    ("AAC-LC 128 kbit/s", "x.m4a", [*STEREO, "-c:a", "aac", "-b:a", "128k"]),
    ("HE-AAC 24 kbit/s", "he.aac", "he-24000-coupled"),
    ("HE-AAC v2 16 kbit/s", "hev2.aac", "he-v2-24000"),
    ("Vorbis quality 4", "x.ogg", [*STEREO, "-c:a", "libvorbis", "-q:a", "4"]),
    ("Opus CELT 96 kbit/s", "celt.opus", ["-ac", "2", "-c:a", "libopus", "-b:a", "96k", "-application", "lowdelay"]),
    ("Opus hybrid 32 kbit/s", "hybrid.opus", ["-ac", "1", "-c:a", "libopus", "-b:a", "32k", "-application", "voip"]),
    ("Opus SILK 16 kbit/s", "silk.opus", ["-ac", "1", "-c:a", "libopus", "-b:a", "16k", "-application", "voip"]),
    ("resampler (WAV 44.1 kHz)", "mono.wav", ["-ar", "44100", "-ac", "1", "-c:a", "pcm_f32le"]),
]
SOXR = ["-af", "aresample=16000:resampler=soxr:precision=28"]


def cpu_seconds(command, env):
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or b"FAIL" in out:
        sys.exit(f"{' '.join(command)}: {out.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=True)


def repeat(name, path, seconds):
    """Writes a stream of ADTS frames again and again."""
    with open(os.path.join(ROOT, "audioprep/internal/aac/testdata", name + ".aac"), "rb") as f:
        stream = f.read()
    frames, at = 0, 0
    while at < len(stream):
        at += (stream[at + 3] & 3) << 11 | stream[at + 4] << 3 | stream[at + 5] >> 5
        frames += 1
    with open(path, "wb") as f:
        f.write(stream * max(1, round(seconds * 24000 / 2048 / frames)))


class Side:
    """One of the two programs, and what it takes to do next to nothing."""

    def __init__(self, rounds, command, short):
        self.command = command
        self.idle = statistics.median(self.run(short) for _ in range(rounds))

    def run(self, path):
        command, env = self.command(path)
        return cpu_seconds(command, env)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--only", default="", help="formats whose name holds this")
    parser.add_argument("shared", nargs="?", default=os.environ.get("HARK_SHARED", os.path.join(ROOT, "..", "shared")))
    options = parser.parse_args()
    speech = os.path.join(options.shared, "audio", "longform", "long-dialogue-stereo.flac")
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "audioprep.test")
        subprocess.run(["go", "test", "-c", "-o", binary, "./audioprep"], cwd=ROOT, check=True)

        def hark(path):
            arguments = [binary, "-test.run", "^$", "-test.bench", "^BenchmarkFile$", "-test.benchtime", "1x"]
            return arguments, {**os.environ, "HARK_DECODE": path}

        def theirs(path):
            chosen = SOXR if path.endswith("mono.wav") else []
            return ["ffmpeg", "-v", "error", "-threads", "1", "-i", path, *chosen, "-ac", "1", "-ar", "16000", "-f", "null", "-"], None

        short = os.path.join(folder, "short.wav")
        ffmpeg("-i", speech, "-t", "0.1", *STEREO, short)
        ours, other = Side(options.rounds, hark, short), Side(options.rounds, theirs, short)
        print(f"{'':26}{'hark':>9}{'ffmpeg':>9}{'ratio':>7}{'hark, x real time':>19}")
        for name, file, how in FORMATS:
            if options.only.lower() not in name.lower():
                continue
            path = os.path.join(folder, file)
            if isinstance(how, str):
                repeat(how, path, options.seconds)
            else:
                ffmpeg("-stream_loop", "-1", "-i", speech, "-t", str(options.seconds), *how, path)
            times = [(ours.run(path), other.run(path)) for _ in range(options.rounds)]
            a = max(1e-3, statistics.median(t[0] for t in times) - ours.idle)
            b = max(1e-3, statistics.median(t[1] for t in times) - other.idle)
            print(f"{name:26}{a:8.3f}s{b:8.3f}s{a / b:7.2f}{options.seconds / a:18.0f}x", flush=True)
            os.remove(path)


if __name__ == "__main__":
    main()
