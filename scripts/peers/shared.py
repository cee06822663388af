"""Measures what other work on the same cores costs hark and its peers, and what an idle server of hark's costs.

usage: shared.py [--model NAME] [--length "11 s"] [--busy 0,2,4] [--rounds N] [--peers NAMES] [--budget MINUTES] [--hark FILE] [--out FILE]

Every program transcribes the same recording on two threads, in turn, while so many other processes, of the same priority, do nothing but
compute. "plain work" is what the scheduler leaves to any program: two processes that compute apart for a fixed number of steps and need
not wait for each other. A program whose threads wait for each other well takes longer by the same factor, and no more CPU time than
on an idle machine; one that spins in its waits takes more of both. Figures are medians of the rounds (least..greatest).
"""
import argparse
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import time
import types

import corpus
import common  # of the shared benchmark, as corpus has set the path
import offline

SPIN = "while True: pass"
PLAIN_WORK = """
import os
child = os.fork()
for _ in range(20_000_000): pass
if child: os.wait()
"""
PEERS = "faster-whisper-int8,faster-whisper-fp32,whisper.cpp-f16,openai-whisper-fp32"


class PlainWork:
    """Two processes that count, each on its own."""
    rss = None

    def start(self):
        pass

    stop = start

    def ask(self, _):
        begin, before = time.perf_counter(), os.times()
        subprocess.run([sys.executable, "-c", PLAIN_WORK], start_new_session=True, check=True)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return time.perf_counter() - begin, "", cpu


class Busy:
    """So many processes that compute, as programs of somebody else: each in a session of its own."""

    def __init__(self, n):
        self.n, self.processes = n, []

    def __enter__(self):
        self.processes = [subprocess.Popen([sys.executable, "-c", SPIN], start_new_session=True) for _ in range(self.n)]
        time.sleep(0.5 if self.n else 0)

    def __exit__(self, *_):
        for p in self.processes:
            p.kill()
            p.wait()


def idle_cpu(server, seconds=20):
    """The share of one core that a server takes when nobody asks it anything, after it has worked."""
    time.sleep(3)
    before = common.cpu_seconds(server.process.pid)
    time.sleep(seconds)
    return (common.cpu_seconds(server.process.pid) - before) / seconds


def run(sides, entry, busy, rounds, deadline):
    """{side: {n: [(wall, cpu)]}}, and what failed. A side that fails once with so many others is left out from then on."""
    got, failed = {name: {n: [] for n in busy} for name in sides}, {}
    for r in range(rounds):
        for n in busy:
            with Busy(n):
                for name, side in sides.items():
                    if (name, n) in failed:
                        continue
                    if time.monotonic() > deadline:
                        failed[name, n] = "the time was used up"
                        continue
                    try:
                        wall, _, cpu = side.ask(entry)
                    except offline.Failed as e:
                        failed[name, n] = str(e)
                        side.start()
                        continue
                    got[name][n].append((wall, cpu))
                    print(f"  round {r + 1}, {n} others, {name}: {wall:.2f} s, {cpu:.2f} CPU s", file=sys.stderr)
    return got, failed


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}..{max(values):.2f})"


def table(got, failed, busy):
    head = ["program", "alone: wall s", "CPU s"]
    for n in busy[1:]:
        head += [f"{n} others: wall s", "times alone", "CPU s", "times alone"]
    lines = [head, ["---"] * len(head)]
    for name, by in got.items():
        line = [name]
        for n in busy:
            if not by[n]:
                line += ["-"] * (2 if n == busy[0] else 4)
                continue
            for column in range(2):
                values = [v[column] for v in by[n]]
                line.append(spread(values))
                if n != busy[0] and by[busy[0]]:
                    alone = statistics.median(v[column] for v in by[busy[0]])
                    line.append(f"{statistics.median(values) / alone:.2f}")
        lines.append(line)
    notes = [f"{name}, {n} others: {why}" for (name, n), why in failed.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "".join(f"\n\n{n}" for n in notes)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="tiny.en")
    p.add_argument("--length", choices=corpus.LENGTHS, default="11 s")
    p.add_argument("--busy", default="0,2,4", help="how many other processes compute; the first is what others are compared with")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--peers", default=PEERS)
    p.add_argument("--budget", type=float, default=12, metavar="MINUTES")
    p.add_argument("--hark", default="./hark")
    p.add_argument("--out", metavar="FILE", help="also write JSON")
    args = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends too
    deadline = time.monotonic() + 60 * args.budget
    busy = [int(n) for n in args.busy.split(",")]
    entry = {"path": os.path.join(corpus.SHARED, "audio", corpus.LENGTHS[args.length])}
    common_args = types.SimpleNamespace(threads=2, language="en", file_timeout=180)
    template = f"{shlex.quote(os.path.abspath(args.hark))} transcribe --model {{model}} --threads 2 --format json --language en --temperature 0 {{file}}"
    with open("/proc/sys/kernel/sched_autogroup_enabled") as f:
        groups = f.read().strip()
    print(f"{common.machine()} sched_autogroup_enabled={groups}\n\n{args.model}, {args.length}, 2 threads, {args.rounds} rounds\n", flush=True)
    with corpus.Server(os.path.abspath(args.hark), args.model, 2) as server:
        sides = {"plain work": PlainWork(), "hark": offline.Command(template, args.model, common_args),
                 "hark serve": offline.Http(server.url, args.model, common_args)}
        sides |= {name: offline.Worker(name, args.model, common_args) for name in args.peers.split(",") if name}
        try:
            for side in sides.values():  # load, and one run that does not count
                side.start()
                side.ask(entry)
            idle = idle_cpu(server)
            got, failed = run(sides, entry, busy, args.rounds, deadline)
        finally:
            for side in sides.values():
                side.stop()
    print(table(got, failed, busy))
    print(f"\nhark serve with nothing to do takes {100 * idle:.2f} % of a core.")
    if args.out:
        with open(args.out, "w") as f:
            json.dump({"machine": common.machine(), "args": vars(args), "autogroup": groups, "idle_cpu": idle, "runs": got,
                       "failed": [[*k, v] for k, v in failed.items()]}, f, indent=1)


if __name__ == "__main__":
    main()
