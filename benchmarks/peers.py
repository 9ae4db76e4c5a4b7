"""Training and search beside Joey NMT and OpenNMT-tf: the same sizes, batches and threads, run by
run in turns.

    python benchmarks/peers.py [--sizes SMALL PAPER]

Each peer is installed with pip into an environment of its own in build/peers, which is kept; one
that cannot be installed is said so. OpenNMT-tf needs Python 3.8 to 3.10, looked for on the PATH.
Every system is a process that waits for its turn: a round is some updates of each, or half a second
of searches, and a ratio is the median of those of the rounds.

All read the same batches. PAPER: 25 tokens in every sentence. SMALL: lengths as short captions have
them, in random batches. Random weights, no dropout; Adam at SMALL, Adadelta at PAPER; OpenNMT-tf
does not cut the gradient. RNNsearch has maxout before its softmax, which neither peer has. Search
forbids the end symbol until every output has its length. Starting, loading and tracing are not
counted.
"""

import contextlib
import itertools
import pathlib
import shutil
import subprocess
import sys
import tempfile
from statistics import median
from typing import NamedTuple

import measuring

OURS = "rnnsearch_tf"
ENVIRONMENTS = measuring.HERE.parent / "build" / "peers"


class Peer(NamedTuple):
    """A system to install: its worker, what pip is asked for, the Pythons it runs on, the
    precisions it has.
    """

    worker: str
    packages: tuple
    pythons: tuple
    precisions: tuple

    @property
    def folder(self):
        """Of its environment."""
        return ENVIRONMENTS / self.worker.removesuffix(".py")

    @property
    def installed(self):
        """Empty file in an environment that is complete."""
        return self.folder / "installed"

    @property
    def python(self):
        return self.folder / "bin" / "python"


PEERS = {
    "Joey NMT": Peer(
        "peer_joeynmt.py",
        ("joeynmt==2.3.0", "torch==2.13.0", "importlib_metadata"),
        pythons=("python3.11", "python3.10"),
        precisions=("float32", "mixed_bfloat16"),
    ),
    "OpenNMT-tf": Peer(
        "peer_opennmt.py",
        ("OpenNMT-tf[tensorflow]==2.32.0", "tensorflow==2.13.1"),
        pythons=("python3.10", "python3.9", "python3.8"),
        precisions=("float32",),
    ),
}

CTRANSLATE2 = Peer(
    "peer_ctranslate2.py",
    ("ctranslate2==4.8.5",),
    pythons=("python3.11", "python3.12", "python3.10"),
    precisions=("int8",),
)
"""Only decoding.py measures it, with a Transformer: it has no recurrent models."""


def install(peer):
    """Make a peer's environment if it is not there.

    Raises:
        RuntimeError: there is no Python for it.
        subprocess.CalledProcessError: pip failed, and said why.
    """
    if peer.installed.exists():
        return
    base = next(filter(None, map(shutil.which, peer.pythons)), None)
    if base is None:
        raise RuntimeError(f"it needs one of {', '.join(peer.pythons)} on the PATH")
    subprocess.run([base, "-m", "venv", "--clear", str(peer.folder)], check=True)
    pip = [str(peer.python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *peer.packages], check=True, stdout=sys.stderr)
    peer.installed.touch()


def available(quick):
    """List of the names of the peers that can be had; what cannot is printed."""
    names = []
    for name, peer in PEERS.items():
        measuring.say(f"installing {name}")
        try:
            if quick and not peer.installed.exists():
                raise RuntimeError("--quick installs nothing")
            install(peer)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name} is not measured: {error}\n")
        else:
            print(f"{name}: {', '.join(peer.packages)}\n")
            names.append(name)
    return names


def write_batches(name, path):
    """Keep a size's batches for all systems, as measuring.read_batches reads them."""
    import numpy as np

    import sizes

    varied = name == "SMALL"
    batches = sizes.random_batches(sizes.SIZES[name], 100 if varied else 4, varied)
    np.savez(path, *(ids for batch in batches for ids in batch.values()))


@contextlib.contextmanager
def workers(peers, size, precision, batches):
    """{name: Worker} of ours and of the peers, ready to take turns."""
    import sizes

    options = dict(precision=precision, batches=str(batches))
    with contextlib.ExitStack() as stack:
        started = {OURS: stack.enter_context(measuring.Worker("ours.py", size=size, **options))}
        for name in peers:
            peer = PEERS[name]
            worker = measuring.Worker(
                peer.worker, peer.python, size=sizes.SIZES[size]._asdict(), **options
            )
            started[name] = stack.enter_context(worker)
        yield started


def in_rounds(started, rounds, rate):
    """{name: rate(name, worker) of every round}."""
    rates = {name: [] for name in started}
    for _ in range(rounds):
        for name, worker in started.items():
            rates[name].append(rate(name, worker))
    return rates


def train(started, rounds, updates):
    """{name: tokens a second of every round}: a round is so many updates of each."""

    def rate(name, worker):
        rows = worker("updates", updates=updates, warm_up=1)
        return sum(row["tokens"] for row in rows) / sum(row["seconds"] for row in rows)

    for worker in started.values():
        worker("updates", updates=1, warm_up=3)
    return in_rounds(started, rounds, rate)


def search(started, beam, batch, rounds):
    """{name: sentences a second of every round}: a round is half a second of searches of each, but
    one at least.
    """
    what = dict(beam_size=beam, batch_size=batch)
    turns = {}
    for name, worker in started.items():
        (seconds,) = worker("search", repeats=1, warm_up=2, **what)
        turns[name] = max(1, round(0.5 / seconds))

    def rate(name, worker):
        # the others had the caches; a long search does not notice
        warm_up = int(turns[name] > 1)
        seconds = worker("search", repeats=turns[name], warm_up=warm_up, **what)
        return batch * len(seconds) / sum(seconds)

    return in_rounds(started, rounds, rate)


def compared(rates):
    """Yield the cells of each system: name, median of its rates, how many times ours are that."""
    for name, theirs in rates.items():
        ratio = median(a / b for a, b in zip(rates[OURS], theirs))
        yield [name, median(theirs), f"{ratio:.2f} ×"]


def training_rows(size, batches, arguments, peers):
    """Yield a row for each precision and system that has it."""
    for precision in arguments.precisions:
        measuring.say(f"training {size} {precision}")
        able = [name for name in peers if precision in PEERS[name].precisions]
        with workers(able, size, precision, batches) as started:
            rates = train(started, arguments.repeats, arguments.updates)
            for cells in compared(rates):
                yield [size, precision, *cells, started[cells[0]]("memory")]


def search_rows(size, batches, arguments, peers):
    """Yield a row for each beam, batch and system."""
    if not arguments.beams:
        return
    with workers(peers, size, "float32", batches) as started:
        for beam, batch in itertools.product(arguments.beams, arguments.batches):
            measuring.say(f"search {size} beam {beam} batch {batch}")
            for cells in compared(search(started, beam, batch, arguments.repeats)):
                yield [size, beam, batch, *cells]


def main():
    parser = measuring.parser(__doc__)
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
    arguments = measuring.parse(parser)
    if arguments.quick:
        arguments.precisions = ["float32"]
        arguments.updates = 1
        arguments.beams = [2]
        arguments.batches = [2]
    peers = available(arguments.quick)
    train_heads = [
        "size",
        "precision",
        "system",
        "target tokens/s",
        f"{OURS} is",
        "peak memory, GB",
    ]
    search_heads = ["size", "beam", "batch", "system", "sentences/s", f"{OURS} is"]
    with (
        tempfile.TemporaryDirectory() as place,
        measuring.printed(search_heads) as searched,
        measuring.printed(train_heads) as trained,
    ):
        for size in arguments.sizes:
            batches = pathlib.Path(place) / f"{size}.npz"
            write_batches(size, batches)
            trained.extend(training_rows(size, batches, arguments, peers))
            searched.extend(search_rows(size, batches, arguments, peers))


if __name__ == "__main__":
    main()
