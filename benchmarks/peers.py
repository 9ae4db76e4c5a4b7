"""Training and search beside Joey NMT and OpenNMT-tf: the same sizes, batches and threads, run by
run in turns.

    python benchmarks/peers.py [--sizes SMALL PAPER] [--text SOURCE TARGET]

Each peer is installed with pip into an environment of its own (--environments), which is kept; one
that cannot be installed is said so. OpenNMT-tf needs Python 3.8 to 3.10, looked for on the PATH.
Every system is a process that waits for its turn: a round is some updates of each, or half a second
of searches, and a ratio is the median of those of the rounds.

All read the same batches. PAPER: 25 tokens in every sentence. SMALL: lengths as short captions have
them, in random batches and in buckets of like length (of which Joey NMT has none: it is left out
there). Random weights, no dropout; Adam at SMALL, Adadelta at PAPER; OpenNMT-tf does
not cut the gradient. RNNsearch has maxout before its softmax, which neither peer has. Search
forbids the end symbol until every output has its length. Starting, loading and tracing are not
counted.
"""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import numpy as np

import measuring
import sizes
from measuring import median

OURS = "rnnsearch_tf"


class Peer(NamedTuple):
    """A system to install: its worker, what pip is asked for, the Pythons it runs on, the
    precisions it has, whether it has buckets.
    """

    worker: str
    packages: tuple
    pythons: tuple
    precisions: tuple
    buckets: bool


PEERS = {
    "Joey NMT": Peer(
        "peer_joeynmt.py",
        ("joeynmt==2.3.0", "torch==2.13.0", "importlib_metadata"),
        pythons=("python3.11", "python3.10"),
        precisions=("float32", "mixed_bfloat16"),
        buckets=False,
    ),
    "OpenNMT-tf": Peer(
        "peer_opennmt.py",
        ("OpenNMT-tf[tensorflow]==2.32.0", "tensorflow==2.13.1"),
        pythons=("python3.10", "python3.9", "python3.8"),
        precisions=("float32",),
        buckets=True,
    ),
}


INSTALLED = "installed"
"""Empty file in an environment that is complete."""


def environment(name, arguments):
    """The folder of a peer's environment."""
    return arguments.environments / PEERS[name].worker.removesuffix(".py")


def install(peer, folder):
    """The Python of a peer's environment, made if it is not there.

    Raises:
        RuntimeError: there is no Python for it, or pip failed; the message says which.
    """
    python = folder / "bin" / "python"
    done = folder / INSTALLED
    if done.exists():
        return python
    base = next((path for path in map(shutil.which, peer.pythons) if path and _runs(path)), None)
    if base is None:
        raise RuntimeError(f"it needs one of {', '.join(peer.pythons)} on the PATH")
    for command in (
        [base, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", *peer.packages],
    ):
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(
                f"`{' '.join(command[1:])}` failed: {result.stderr.strip().splitlines()[-1]}"
            )
    done.touch()
    return python


def _runs(python):
    return subprocess.run([python, "--version"], capture_output=True).returncode == 0


def random_pairs(size, number, varied):
    """(source ids, target ids) of random words; ``varied``: of lengths like those of captions, 15 ±
    4, the target's close by.
    """
    generator = np.random.default_rng(1)
    pairs = []
    for _ in range(number):
        lengths = [size.source_length, size.target_length]
        if varied:
            lengths[0] = int(np.clip(round(generator.normal(lengths[0], 4)), 4, 2 * lengths[0]))
            lengths[1] = int(np.clip(round(generator.normal(lengths[0], 2)), 4, 2 * lengths[1]))
        pairs.append(
            tuple(
                np.append(generator.integers(3, size.vocabulary_size, length - 1), 1)
                for length in lengths
            )
        )
    return pairs


def batches_of(pairs, size, bucketed):
    """Batches of the pairs in random order, or of those whose longer side is of like length."""
    from rnnsearch_tf.data.batches import Batches
    from rnnsearch_tf.data.ids import Ids

    sides = [*zip(*pairs)]
    flat = tuple(np.concatenate(side) for side in sides)
    offsets = tuple(np.cumsum([0, *map(len, side)]) for side in sides)
    ids = Ids(flat, offsets, [len(pairs)], [1.0])
    batches = Batches(ids, "bucketed" if bucketed else "unsorted", size.batch_size, seed=2)
    found = [ids.batch(batches.rows(0, number)) for number in range(batches.per_epoch)]
    return [batch for batch in found if len(batch[0]) == size.batch_size]


def write_all_batches(name, length, folder):
    """{"random": path} of a size's batches, at SMALL "bucketed" too; ``length`` as the option."""
    size = sizes.with_lengths(sizes.SIZES[name], length, length)
    small = name == "SMALL"
    number = (100 if small else 4) * size.batch_size
    pairs = random_pairs(size, number, varied=small)
    paths = {
        batching: folder / f"{name}-{batching}.npz"
        for batching in (("random", "bucketed") if small else ("random",))
    }
    for batching, path in paths.items():
        measuring.write_batches(path, batches_of(pairs, size, batching == "bucketed"))
    return paths


@contextlib.contextmanager
def workers(peers, size_name, precision, batches, threads):
    """{name: Worker} of ours and of the peers, {name: Python}, ready to take turns."""
    size = sizes.SIZES[size_name]
    with contextlib.ExitStack() as stack:
        options = json.dumps(dict(size=size_name, precision=precision, batches=str(batches)))
        started = {
            OURS: measuring.Worker([sys.executable, str(measuring.HERE / "ours.py"), options])
        }
        options = json.dumps(
            dict(size=size._asdict(), precision=precision, batches=str(batches), threads=threads)
        )
        for name, python in peers.items():
            started[name] = measuring.Worker(
                [str(python), str(measuring.HERE / PEERS[name].worker), options]
            )
        for worker in started.values():
            stack.enter_context(worker)
        yield started


def train(started, rounds, updates):
    """{name: (tokens a second of every round, GB)}: a round is so many updates of each."""
    rates = {name: [] for name in started}
    for worker in started.values():
        worker("updates", updates=1, warm_up=3)
    for _ in range(rounds):
        for name, worker in started.items():
            rows = worker("updates", updates=updates, warm_up=1)
            rates[name].append(
                sum(row["tokens"] for row in rows) / sum(row["seconds"] for row in rows)
            )
    return {name: (rates[name], worker("memory")) for name, worker in started.items()}


def search(started, beam, batch, rounds):
    """{name: sentences a second of every round}: a round is half a second of searches of each, but
    one at least.
    """
    rates = {name: [] for name in started}
    turns = {}
    for name, worker in started.items():
        (seconds,) = worker("search", beam_size=beam, batch_size=batch, repeats=1, warm_up=2)
        turns[name] = max(1, round(0.5 / seconds))
    for _ in range(rounds):
        for name, worker in started.items():
            # the others had the caches; a long search does not notice
            warm_up = int(turns[name] > 1)
            seconds = worker(
                "search", beam_size=beam, batch_size=batch, repeats=turns[name], warm_up=warm_up
            )
            rates[name].append(batch * len(seconds) / sum(seconds))
    return rates


def ratio(ours, theirs):
    """Median of the rounds' ratios, in a cell."""
    return f"{median(a / b for a, b in zip(ours, theirs)):.2f} ×"


def training_rows(name, batches, arguments, environments):
    """Yield a row for each kind of batches, precision and system that has both."""
    for batching, path in batches.items():
        for precision in arguments.precisions:
            measuring.say(f"training {name} {batching} {precision}")
            able = [peer for peer in environments if precision in PEERS[peer].precisions]
            able = [peer for peer in able if PEERS[peer].buckets or batching == "random"]
            with workers(
                {peer: environments[peer] for peer in able},
                name,
                precision,
                path,
                arguments.threads,
            ) as started:
                results = train(started, arguments.repeats, arguments.updates)
            for system, (rates, memory) in results.items():
                yield [
                    name,
                    batching,
                    precision,
                    system,
                    median(rates),
                    memory,
                    ratio(results[OURS][0], rates),
                ]


def search_rows(name, path, arguments, environments):
    """Yield a row for each beam, batch and system."""
    if not arguments.beams:
        return
    with workers(environments, name, "float32", path, arguments.threads) as started:
        for beam, batch in itertools.product(arguments.beams, arguments.batches):
            measuring.say(f"search {name} beam {beam} batch {batch}")
            results = search(started, beam, batch, arguments.repeats)
            for system, rates in results.items():
                yield [name, beam, batch, system, median(rates), ratio(results[OURS], rates)]


def installed(arguments):
    """{name: Python} of the peers that can be had; what cannot is printed."""
    environments = {}
    for name in arguments.peers:
        measuring.say(f"installing {name}")
        try:
            environments[name] = install(PEERS[name], environment(name, arguments))
        except RuntimeError as error:
            print(f"{name} is not measured: {error}\n")
        else:
            print(f"{name}: {', '.join(PEERS[name].packages)}\n")
    return environments


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument(
        "--precisions",
        nargs="*",
        default=["float32", "mixed_bfloat16"],
        help="of training (%(default)s)",
    )
    parser.add_argument(
        "--updates", type=int, default=5, help="of each system in a round (%(default)s)"
    )
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 5, 12])
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 64])
    parser.add_argument(
        "--length",
        type=int,
        help=(
            "tokens of the sentences of training, in place of the size's (say --beams and nothing"
            " after it, to leave out search)"
        ),
    )
    parser.add_argument("--peers", nargs="*", default=list(PEERS), help="(%(default)s)")
    build = measuring.HERE.parent / "build" / "peers"
    parser.add_argument(
        "--environments",
        type=pathlib.Path,
        default=build,
        help="where they are installed (build/peers)",
    )
    arguments = measuring.parse(parser)
    os.environ.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    if arguments.quick:  # nothing is installed, what is there is tried
        arguments.peers = [
            name for name in arguments.peers if (environment(name, arguments) / INSTALLED).exists()
        ]
        arguments.sizes = ["TINY"]
        arguments.precisions = ["float32"]
        arguments.updates = 1
        arguments.beams = [2]
        arguments.batches = [2]
    environments = installed(arguments)
    heads = (
        [
            "size",
            "batches",
            "precision",
            "system",
            "target tokens/s",
            "peak memory, GB",
            f"{OURS} is",
        ],
        ["size", "beam", "batch", "system", "sentences/s", f"{OURS} is"],
    )
    with (
        tempfile.TemporaryDirectory() as place,
        measuring.printed(heads[1]) as searched,
        measuring.printed(heads[0]) as trained,
    ):
        for name in arguments.sizes:
            every = write_all_batches(
                name,
                arguments.length,
                pathlib.Path(place),
            )
            trained.extend(training_rows(name, every, arguments, environments))
            searched.extend(search_rows(name, every["random"], arguments, environments))


if __name__ == "__main__":
    main()
