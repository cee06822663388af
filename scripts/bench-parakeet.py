"""Compares hark's FastConformer encoder with the same one in PyTorch, in seconds of audio per second.

usage: bench-parakeet.py [--seconds S] [--rounds N] [--threads T] [--layers L] [--env NAME=VALUE]... TESTS

TESTS is the test binary of engine/parakeet (go test -c -o TESTS ./engine/parakeet), whose BenchmarkEncoder is run with
-test.bench. Both sides have the layer shapes of parakeet-tdt-0.6b (24 layers 1024 wide, 8 heads) with random weights, read the
features of one window, and compute in float32 on the same number of threads, by turns. Prints each side's median wall time and
median CPU time (of all its threads) over the rounds, and the ratios. Needs the package torch.

PyTorch gets its best plain form: pointwise convolutions as linear layers, the batch norm folded, no autograd, no masks.
"""

import argparse
import math
import os
import re
import resource
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

D, HEADS, FF, KERNEL, CHANNELS, MELS, JOINT = 1024, 8, 4096, 9, 256, 128, 640


def random(*shape):
    """Weights of about the size that keeps activations near 1."""
    fan = math.prod(shape[1:]) if len(shape) > 1 else 100
    return torch.empty(*shape).uniform_(-1, 1) * math.sqrt(3 / fan)


class Block:
    def __init__(self):
        self.norms = [(1 + random(D), random(D)) for _ in range(5)]
        self.ff1, self.ff2 = [(random(FF, D), random(D, FF)) for _ in range(2)]
        self.q, self.k, self.v, self.pos, self.out, self.conv2 = [random(D, D) for _ in range(6)]
        self.u, self.w = random(HEADS, 1, D // HEADS), random(HEADS, 1, D // HEADS)
        self.conv1, self.depthwise, self.bias = random(2 * D, D), random(D, 1, KERNEL), random(D)

    def norm(self, i, x):
        return F.layer_norm(x, (D,), *self.norms[i])

    def __call__(self, x, pe):
        x = x + 0.5 * F.linear(F.silu(F.linear(self.norm(0, x), self.ff1[0])), self.ff1[1])
        x = x + self.attention(self.norm(1, x), pe)
        x = x + self.convolution(self.norm(2, x))
        x = x + 0.5 * F.linear(F.silu(F.linear(self.norm(3, x), self.ff2[0])), self.ff2[1])
        return self.norm(4, x)

    def attention(self, x, pe):
        n = x.shape[0]

        def heads(y):
            return y.view(-1, HEADS, D // HEADS).transpose(0, 1)

        q, k, v, p = heads(F.linear(x, self.q)), heads(F.linear(x, self.k)), heads(F.linear(x, self.v)), heads(F.linear(pe, self.pos))
        keys = torch.matmul(q + self.u, k.transpose(1, 2))
        positions = torch.matmul(q + self.w, p.transpose(1, 2))
        positions = F.pad(positions, (1, 0)).view(HEADS, 2 * n, n)[:, 1:].view(HEADS, n, 2 * n - 1)[:, :, :n]
        probs = torch.softmax((keys + positions) / math.sqrt(D // HEADS), dim=-1)
        return F.linear(torch.matmul(probs, v).transpose(0, 1).reshape(n, D), self.out)

    def convolution(self, x):
        x = F.glu(F.linear(x, self.conv1), dim=-1).t().unsqueeze(0)
        x = F.silu(F.conv1d(x, self.depthwise, self.bias, padding=KERNEL // 2, groups=D))
        return F.linear(x.squeeze(0).t(), self.conv2)


class Encoder:
    def __init__(self, layers):
        self.first = random(CHANNELS, 1, 3, 3), random(CHANNELS)
        self.stages = [(random(CHANNELS, 1, 3, 3), random(CHANNELS), random(CHANNELS, CHANNELS, 1, 1), random(CHANNELS)) for _ in range(2)]
        self.out = random(D, CHANNELS * MELS // 8), random(D)
        self.blocks = [Block() for _ in range(layers)]
        self.joint = random(JOINT, D), random(JOINT)

    def __call__(self, features):
        x = F.relu(F.conv2d(features[None, None], *self.first, stride=2, padding=1))
        for w, b, pw, pb in self.stages:
            x = F.relu(F.conv2d(F.conv2d(x, w, b, stride=2, padding=1, groups=CHANNELS), pw, pb))
        n = x.shape[2]
        x = F.linear(x[0].transpose(0, 1).reshape(n, -1), *self.out)
        pe = positions(n)
        for block in self.blocks:
            x = block(x, pe)
        return F.linear(x, *self.joint)


def positions(n, cache={}):
    """The sines and cosines of 2n-1 relative positions."""
    if n not in cache:
        at = torch.arange(n - 1, -n, -1, dtype=torch.float32)[:, None] * torch.exp(torch.arange(0, D, 2) * (-math.log(10000) / D))
        cache[n] = torch.stack((at.sin(), at.cos()), dim=-1).view(-1, D)
    return cache[n]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run_torch(encoder, features):
    wall, cpu = time.perf_counter(), cpu_seconds()
    with torch.inference_mode():
        encoder(features)
    return time.perf_counter() - wall, cpu_seconds() - cpu


def run_hark(tests, args):
    env = dict(os.environ, GOMAXPROCS=str(args.threads), **dict(e.split("=", 1) for e in args.env))
    name = f"^BenchmarkEncoder$/^{args.seconds}s$"
    out = subprocess.run([os.path.abspath(tests), "-test.run", "^$", "-test.bench", name, "-test.benchtime", "2x"],
                         env=dict(env, HARK_BENCH_LAYERS=str(args.layers)), cwd=args.directory, check=True, capture_output=True, text=True).stdout
    wall, cpu = re.search(r"([\d.]+) ns/op", out), re.search(r"([\d.]+) cpu-ns/op", out)
    if not wall or not cpu:
        raise SystemExit(f"the benchmark gave no times:\n{out}")
    return float(wall[1]) / 1e9, float(cpu[1]) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for hark alone")
    parser.add_argument("--directory", default="engine/parakeet", help="that of the tests")
    parser.add_argument("tests")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    encoder, features = Encoder(args.layers), torch.randn(args.seconds * 100, MELS)
    run_torch(encoder, features)
    sides = {"hark": [], "torch": []}
    for _ in range(args.rounds):
        sides["hark"].append(run_hark(args.tests, args))
        sides["torch"].append(run_torch(encoder, features))
    medians = {}
    print(f"window of {args.seconds} s, {args.layers} layers, {args.threads} threads, torch {torch.__version__}, median of {args.rounds}")
    for side, runs in sides.items():
        wall, cpu = medians[side] = [statistics.median(column) for column in zip(*runs)]
        print(f"{side:6} wall {wall:7.3f} s  cpu {cpu:7.3f} s  {args.seconds / wall:6.1f} audio-s/s by wall, {args.seconds / cpu * args.threads:6.1f} by cpu")
    print("hark is faster by", ", ".join(f"{medians['torch'][i] / medians['hark'][i]:.2f} ({what})" for i, what in enumerate(("wall", "cpu"))))


if __name__ == "__main__":
    main()
