"""Runs the examples of the README against a running server.

usage: readme.py BASE CACHE

Of the section "The API by example" every fenced block is run as its language says, from the repository's root, with the server's
address in place of the README's. CACHE is the folder whose node_modules hold the official Node client. Prints what failed and a
closing 'readme: N passed, N failed'.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

BASE, CACHE = sys.argv[1], pathlib.Path(sys.argv[2])
ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTION = "## The API by example\n"


def command(language, text, folder):
    """Writes an example to a file and returns how it's run."""
    if language == "js":
        folder = CACHE  # beside node_modules
    name = {"sh": "example.sh", "python": "example.py", "js": "example.mjs", "go": "main.go"}[language]
    path = pathlib.Path(folder) / name
    if language == "sh":
        text = "set -e\ncurl() { command curl -sS --fail-with-body \"$@\"; echo; }\n" + text
    path.write_text(text, encoding="utf-8")
    return {"sh": ["bash", path], "python": [sys.executable, path], "js": ["node", path], "go": ["go", "run", path]}[language]


def main():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index(SECTION) + len(SECTION) :]
    section = section[: section.index("\n## ")]
    examples = re.findall(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S)
    assert examples, "there are no examples"
    failed = 0
    for language, text in examples:
        with tempfile.TemporaryDirectory() as folder:
            run = command(language, text.replace("http://127.0.0.1:8080", BASE).replace("ws://127.0.0.1:8080", BASE.replace("http", "ws")), folder)
            done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0 or not done.stdout.strip():
            failed += 1
            print(f"readme: this example failed with {done.returncode}\n{text}\n{done.stdout}\n{done.stderr}")
    print(f"readme: {len(examples) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
