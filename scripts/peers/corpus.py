"""What speed.py and shared.py have in common: the recordings, and a server of hark's."""
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

SHARED = os.environ["HARK_SHARED"]
sys.path.insert(0, os.path.join(SHARED, "bench"))

# Recordings by their length. All are English, with a text to hold results to.
LENGTHS = {
    "11 s": "clips/jfk-16k.wav",
    "1 min": "longform/long-60s.flac",
    "5 min": "longform/long-5min.flac",
    "20 min": "longform/long-20min.mp3",
}


def manifest(folder):
    """Writes a manifest of the recordings, shortest first, and returns its file. What is no WAV or FLAC, which all peers read, is made FLAC."""
    audio = os.path.join(SHARED, "audio")
    with open(os.path.join(audio, "manifest.json")) as f:
        rows = {row["path"]: row for row in json.load(f)}
    chosen = []
    for path in LENGTHS.values():
        file = os.path.join(audio, path)
        if not path.endswith((".wav", ".flac")):
            file = os.path.join(folder, os.path.splitext(os.path.basename(path))[0] + ".flac")
            subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", os.path.join(audio, path), file], check=True)
        chosen.append(dict(rows[path], path=file))
    to = os.path.join(folder, "manifest.json")
    with open(to, "w") as f:
        json.dump(chosen, f)
    return to


def file_of(name):
    """The file name of a length, as a regular expression finds it in a manifest."""
    return os.path.splitext(os.path.basename(LENGTHS[name]))[0]


class Server:
    """hark serve with one model, ready to answer."""

    def __init__(self, hark, model, threads):
        with socket.create_server(("127.0.0.1", 0)) as free:
            host = "127.0.0.1:%d" % free.getsockname()[1]
        self.address = f"http://{host}"
        self.process = subprocess.Popen(
            [hark, "serve", "--addr", host, "--model", model, "--threads", str(threads)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.url = f"{self.address}/v1/audio/transcriptions#{self.process.pid}"

    def __enter__(self):
        for _ in range(300):
            if self.process.poll() is not None:
                raise SystemExit("hark serve ended at once")
            try:
                with urllib.request.urlopen(self.address + "/readyz", timeout=1):
                    return self
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        raise SystemExit("hark serve is not ready within 30 s")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
