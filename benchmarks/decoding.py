"""Speed of translating: sentences a second and latency, through Python and the SavedModel in a
Session.

    python benchmarks/decoding.py [--sizes SMALL PAPER] [--beams 1 5 12] [--batches 1 8 64]
    python benchmarks/decoding.py --model RUN --text FILE

With sizes, weights are random, sentences have as many words as the size says, and so have their
translations: all models do the same work. With a RUN, the sentences of FILE get translations as
long as it makes them. Text goes in and comes out. The two take turns call by call. Latency is that
of a call: of a whole batch.
"""

import pathlib
import tempfile
from itertools import cycle, islice
from statistics import median

import measuring


def measure(run, lines, beam, batches, repeats):
    """Rows of one RUN and beam: batch, how, sentences a second, milliseconds a call."""
    from rnnsearch_tf.export.saved_model import SavedModel
    from rnnsearch_tf.export.writer import export_model
    from rnnsearch_tf.translation import Translator

    translator = Translator.load(run)
    overrides = [f"search.beam_size={beam}", "signatures=[translate]", "warmup_requests=0"]
    with tempfile.TemporaryDirectory() as base:
        folder = export_model(run, pathlib.Path(base) / "model", overrides=overrides).folder
        session = SavedModel(folder)
        for size in batches:
            python, saved = cycle(lines), cycle(lines)

            def translate():
                call = list(islice(python, size))
                translator.translate(call, beam_size=beam, batch_size=size)

            def ask():
                session("translate", text=[line.encode() for line in islice(saved, size)])

            tasks = {"Translator": translate, "SavedModel in a Session": ask}
            for how, seconds in measuring.in_turns(tasks, repeats).items():
                yield [size, how, size / median(seconds), 1000 * median(seconds)]


def runs(arguments, place):
    """(name, RUN folder, lines) of everything that is asked for."""
    import sizes
    from rnnsearch_tf.files.reading import read_lines

    if arguments.model:
        lines = [line for line in read_lines(arguments.text) if line.strip()]
        yield pathlib.Path(arguments.model).name, arguments.model, lines
        return
    for name in arguments.sizes:
        size = sizes.SIZES[name]
        config = sizes.configuration(size, **sizes.fixed_length(size))
        yield name, sizes.write_run(f"{place}/{name}", size, config), sizes.sentences(size, 640)


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument("--model", help="a RUN folder, in place of sizes with random weights")
    parser.add_argument("--text", help="sentences of its source language; needed with --model")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5, 12])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 64])
    arguments = measuring.parse(parser)
    if bool(arguments.model) != bool(arguments.text):
        parser.error("--model and --text go together")
    if arguments.quick:
        arguments.sizes = ["TINY"]
        arguments.beams = arguments.beams[:1]
        arguments.batches = [2]
    heads = ["model", "beam", "batch", "how", "sentences/s", "a call, ms"]
    with tempfile.TemporaryDirectory() as place, measuring.printed(heads) as rows:
        for name, run, lines in runs(arguments, place):
            for beam in arguments.beams:
                measuring.say(f"{name} beam {beam}")
                found = measure(run, lines, beam, arguments.batches, arguments.repeats)
                rows.extend([name, beam, *row] for row in found)


if __name__ == "__main__":
    main()
