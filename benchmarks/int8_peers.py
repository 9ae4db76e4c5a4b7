"""Search in eight bits beside CTranslate2's: sentences a second with --threads each, in turns.

    python benchmarks/int8_peers.py --threads 1 [--beams 1 12] [--batches 1 64]

Ours: RNNsearch of the size SMALL (256 units, 10,000 words) in TensorFlow float32, ONNX Runtime int8
and LiteRT int8, which takes a batch sentence by sentence. CTranslate2, installed with pip into an
environment of its own (--environments): Transformers of 3 layers of 256 and 4 of 128 dimensions in
int8. OpenNMT-tf, installed likewise: RNNsearch of our size in float32, which is all it has; if it
cannot be installed, which needs Python 3.8 to 3.10, it is said and left out. Random weights, 15
words in, 15 out. A ratio is the median of those of the rounds.
"""

import contextlib
import json
import pathlib
import tempfile
import time

import measuring
import numpy as np
import peers
import sizes
import without_tensorflow
from measuring import median

PEER = peers.Peer(
    "peer_ctranslate2.py",
    ("ctranslate2==4.8.5",),
    pythons=("python3.11", "python3.12", "python3.10"),
    precisions=("int8",),
    buckets=False,
)
TRANSFORMERS = {
    "CTranslate2, Transformer 3 × 256": dict(layers=3, width=256),
    "CTranslate2, Transformer 4 × 128": dict(layers=4, width=128),
}
OPENNMT = "OpenNMT-tf"
OURS = ["TensorFlow float32", "ONNX Runtime int8", "LiteRT int8"]


def our_ways(size, beam, threads, place):
    """{way: function of source ids} of ours."""
    from rnnsearch_tf.translation import Translator

    run = sizes.write_run(pathlib.Path(place) / f"beam{beam}", sizes.configuration(size))
    translator = Translator.load(run)
    search = sizes.fixed_length(size.source_length, size.target_length)
    config = translator.search_config(**search, beam_size=beam, nbest=1)
    ways = without_tensorflow.all_ways(translator.model, config, threads)
    return {way: ways[way] for way in OURS}


def opennmt_worker(size, arguments, place):
    """OpenNMT-tf as a Worker, or None if it cannot be installed."""
    peer = peers.PEERS[OPENNMT]
    folder = arguments.environments.absolute() / peer.worker.removesuffix(".py")
    try:
        python = peers.install(peer, folder)
    except RuntimeError as error:
        print(f"{OPENNMT} is not measured: {error}\n")
        return None
    batches = pathlib.Path(place) / "batches.npz"
    measuring.write_batches(batches, [])
    options = dict(size=size._asdict(), precision="float32", batches=str(batches))
    options = json.dumps(options | dict(threads=arguments.threads))
    return measuring.Worker([str(python), str(measuring.HERE / peer.worker), options])


def command_of_ctranslate2(python, size, options, threads):
    """The command of a Worker that searches with a Transformer of these options."""
    options = options | dict(vocabulary_size=size.vocabulary_size, type="int8", threads=threads)
    return [str(python), str(measuring.HERE / PEER.worker), json.dumps(options)]


def seconds_of(call, ids):
    start = time.perf_counter()
    call(ids)
    return time.perf_counter() - start


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 12])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64])
    parser.add_argument(
        "--environments", type=pathlib.Path, default=pathlib.Path("runs/environments")
    )
    arguments = measuring.parse(parser)
    size = sizes.SIZES["TINY" if arguments.quick else "SMALL"]
    python = peers.install(PEER, arguments.environments.absolute() / "peer_ctranslate2")
    ids = sizes.synthetic_batch(size, np.random.default_rng(1))["source_ids"]
    stack = contextlib.ExitStack()
    workers = {}
    heads = ["beam", "batch", *OURS, *TRANSFORMERS]
    heads += [f"{ours} over 3 × 256" for ours in OURS[1:]]
    heads += [OPENNMT, *(f"{ours} over {OPENNMT}" for ours in OURS[1:])]
    with stack, tempfile.TemporaryDirectory() as place, measuring.printed(heads) as rows:
        opennmt = opennmt_worker(size, arguments, place)
        if opennmt:
            stack.enter_context(opennmt)
        for name, options in TRANSFORMERS.items():
            command = command_of_ctranslate2(python, size, options, arguments.threads)
            workers[name] = stack.enter_context(measuring.Worker(command))
        for beam in arguments.beams:
            ours = our_ways(size, beam, arguments.threads, place)
            for count in arguments.batches:
                measuring.say(f"beam {beam}, batch {count}")
                batch = ids[:count]
                asked = dict(rows=batch[:, :-1].tolist(), length=size.target_length - 1, beam=beam)
                rounds = []
                for _ in range(arguments.repeats + 1):  # the first warms up
                    times = {way: seconds_of(call, batch) for way, call in ours.items()}
                    times |= {name: worker("search", **asked) for name, worker in workers.items()}
                    if opennmt:
                        one = dict(beam_size=beam, batch_size=count, repeats=1, warm_up=0)
                        (times[OPENNMT],) = opennmt("search", **one)
                    rounds.append(times)
                rounds = rounds[1:]
                speeds = {way: median(count / row[way] for row in rounds) for way in rounds[0]}
                first = next(iter(TRANSFORMERS))
                ratios = [median(row[first] / row[way] for row in rounds) for way in OURS[1:]]
                theirs = [None] * len(OURS)
                if opennmt:
                    ratios_to = [
                        median(row[OPENNMT] / row[way] for row in rounds) for way in OURS[1:]
                    ]
                    theirs = [speeds.pop(OPENNMT), *ratios_to]
                rows.append([beam, count, *speeds.values(), *ratios, *theirs])


if __name__ == "__main__":
    main()
