"""Prints which instructions hark and its peers really use, in their own words, under the environment that is set.

usage: isa.py [--hark FILE]
"""
import argparse
import json
import os
import re
import subprocess
import sys

import corpus

VERBOSE = {"CT2_VERBOSE": "1", "MKL_VERBOSE": "1", "ONEDNN_VERBOSE": "1", "OMP_NUM_THREADS": "1"}
# What a program's log says, and of what.
SAID = {
    "CTranslate2": r"Selected ISA: (.+)",
    "its MKL": r"MKL_VERBOSE oneMKL .* for Intel\(R\) 64 architecture (.*?)(?: enabled processors|, Lnx)",
    "its oneDNN": r"onednn_verbose,(?:v1,)?info,cpu,isa:(.+)",
}
TORCH = """
import torch
print(torch.backends.cpu.get_cpu_capability())
"""
WHISPERCPP = """
import _pywhispercpp
print(_pywhispercpp.whisper_print_system_info())
"""


def log_of(peer):
    """What one transcription makes a peer say."""
    request = json.dumps({"file": os.path.join(corpus.SHARED, "audio", corpus.LENGTHS["11 s"]), "language": "en"})
    done = subprocess.run([sys.executable, "-B", os.path.join(corpus.SHARED, "bench", "peer.py"), peer, "tiny.en", "--threads", "1"],
                          input=request + "\n", env=dict(os.environ, **VERBOSE), capture_output=True, text=True, check=True)
    return done.stderr


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def found(log, names):
    for name in names:
        said = re.search(SAID[name], log)
        if said:
            yield f"{name}: {said[1].strip()}"


def report(hark):
    """A line for each program."""
    doctor = subprocess.run([hark, "doctor"], capture_output=True, text=True).stdout
    says = {
        "hark": [line.removeprefix("code").strip() for line in doctor.splitlines() if line.startswith("code ")],
        "faster-whisper": found(log_of("faster-whisper-int8"), SAID),
        "openai-whisper": [f"torch: {python(TORCH).strip()}", *found(log_of("openai-whisper-fp32"), ["its MKL", "its oneDNN"])],
        "whisper.cpp": [" ".join(re.findall(r"(\w+) = 1", python(WHISPERCPP)))],
    }
    return "\n".join(f"{name}: {'; '.join(lines)}" for name, lines in says.items())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hark", default="./hark")
    print(report(p.parse_args().hark))


if __name__ == "__main__":
    main()
