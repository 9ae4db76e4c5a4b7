"""Speed of translating: sentences a second and latency, through Python, the SavedModel in a
Session, ONNX Runtime in int8 with one thread, and CTranslate2.

    python benchmarks/decoding.py [--sizes SMALL PAPER] [--beams 1 5 12] [--batches 1 8 64]

Weights are random; sentences have as many words as the size says, and so have their translations.
Text goes in and comes out. All take turns call by call. Latency is that of a call: of a whole
batch. CTranslate2 translates with a Transformer of three layers in int8, and is installed as the
peers of peers.py.
"""

import contextlib
import pathlib
import subprocess
import sys
import tempfile
from itertools import cycle, islice
from statistics import median

import measuring
import peers


def measure(run, lines, beam, arguments, ctranslate2):
    """Rows of one run folder and beam: batch, how, sentences a second, milliseconds a call."""
    from rnnsearch_tf.export.saved_model import SavedModel
    from rnnsearch_tf.export.writer import export_model
    from rnnsearch_tf.extras.onnx.export import export_onnx
    from rnnsearch_tf.translation import Translator

    sys.path.append(str(pathlib.Path(__file__).parents[1] / "runtime"))
    import rnnsearch_runtime

    translator = Translator.load(run)
    search = [f"search.beam_size={beam}", "nbest=1"]
    saved_options = [*search, "signatures=[translate]", "warmup_requests=0"]
    with tempfile.TemporaryDirectory() as base:
        folder = export_model(run, pathlib.Path(base) / "model", overrides=saved_options).folder
        session = SavedModel(folder)
        small = export_onnx(run, pathlib.Path(base) / "small", overrides=[*search, "weights=int8"])
        runtime = rnnsearch_runtime.Translator(small.folder / "model.onnx", threads=1)
        ways = {
            "Translator": lambda call: translator.translate(
                call, beam_size=beam, batch_size=len(call)
            ),
            "SavedModel in a Session": lambda call: session(
                "translate", text=[line.encode() for line in call]
            ),
            "ONNX Runtime, int8": lambda call: runtime.translate(call, batch_size=len(call)),
        }
        if ctranslate2:
            ways["CTranslate2, Transformer, int8"] = lambda call: ctranslate2(
                "translate", lines=call, beam_size=beam
            )
        for size in arguments.batches:
            tasks = {how: on_batches(way, lines, size) for how, way in ways.items()}
            for how, seconds in measuring.in_turns(tasks, arguments.repeats).items():
                yield [size, how, size / median(seconds), 1000 * median(seconds)]


def on_batches(way, lines, size):
    """A function that translates the next lines, so many at a time, again and again."""
    left = cycle(lines)
    return lambda: way(list(islice(left, size)))


def started(size, arguments):
    """CTranslate2's worker, or no more than a context if it cannot be had."""
    peer = peers.CTRANSLATE2
    try:
        if arguments.quick and not peer.installed.exists():
            raise RuntimeError("--quick installs nothing")
        peers.install(peer)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"CTranslate2 is not measured: {error}\n")
        return contextlib.nullcontext()
    options = dict(size=size._asdict(), threads=arguments.threads)
    return measuring.Worker(peer.worker, peer.python, **options)


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5, 12])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 64])
    arguments = measuring.parse(parser)
    import sizes

    if arguments.quick:
        arguments.beams = arguments.beams[:1]
        arguments.batches = [2]
    heads = ["model", "beam", "batch", "how", "sentences/s", "a call, ms"]
    with tempfile.TemporaryDirectory() as place, measuring.printed(heads) as rows:
        for name in arguments.sizes:
            size = sizes.SIZES[name]
            config = sizes.configuration(size, **sizes.fixed_length(size))
            run = sizes.write_run(f"{place}/{name}", size, config)
            lines = sizes.sentences(size, 640)
            with started(size, arguments) as ctranslate2:
                for beam in arguments.beams:
                    measuring.say(f"{name} beam {beam}")
                    found = measure(run, lines, beam, arguments, ctranslate2)
                    rows.extend([name, beam, *row] for row in found)


if __name__ == "__main__":
    main()
