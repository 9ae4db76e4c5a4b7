"""Speed of translating: sentences a second and latency, through Python, the SavedModel in a
Session, and the C++ runner.

    python benchmarks/decoding.py [--sizes SMALL PAPER] [--beams 1 5 12] [--batches 1 8 64]
    python benchmarks/decoding.py --model RUN --text FILE

Fixed length: random sentences of as many words as the size has, and the end symbol forbidden until
every output has its length; so all models do the same work, trained or not. Natural: the sentences
of FILE, and outputs as long as the RUN makes them. Text goes in and comes out. The three ways take
turns call by call; the runner's calls follow theirs. Latency is that of a call: of a whole batch.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

import numpy as np

import measuring
from measuring import median


class Work(NamedTuple):
    """What is translated: a name, lines, and options of the search section."""

    name: str
    lines: list
    search: dict


def build_runner(folder):
    """The path of export/runner.cc, compiled."""
    command = [
        "make",
        "--silent",
        "-C",
        str(measuring.HERE.parent / "export"),
        "runner",
        f"BUILD={folder}",
        f"PYTHON={sys.executable}",
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return pathlib.Path(folder) / "runner"


def runner_seconds(runner, saved_model, lines, batch_size):
    """Median seconds of the runner's calls; those are all of one batch size."""
    command = [
        str(runner),
        str(saved_model),
        "--batch-size",
        str(batch_size),
        "--times",
        *text_ops(),
    ]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True)
    times = re.search(r"a call ([\d.]+) ms \(median\)", done.stderr)
    if done.returncode or not times:
        raise RuntimeError(
            f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[-1000:]}"
        )
    return float(times.group(1)) / 1000


def text_ops():
    import tensorflow_text

    return ["--ops", str(pathlib.Path(tensorflow_text.__file__).parent / "python" / "ops")]


def calls(lines, batch_size, number):
    """Lists of so many lines, those of the text again and again."""
    return [
        [lines[k % len(lines)] for k in range(start, start + batch_size)]
        for start in range(0, number * batch_size, batch_size)
    ]


def measure(run, work, beam, batches, runner, repeats):
    """Rows of one RUN, work and beam: how, batch, sentences a second, milliseconds a call, the
    slowest of them.
    """
    from rnnsearch_tf.export.saved_model import SavedModel
    from rnnsearch_tf.export.writer import export_model
    from rnnsearch_tf.translation import Translator

    search = dict(work.search, beam_size=beam)
    translator = Translator.load(run)
    with tempfile.TemporaryDirectory() as base:
        overrides = [
            *(f"search.{name}={value}" for name, value in search.items()),
            "signatures=[translate]",
            "warmup_requests=0",
        ]
        folder = export_model(run, pathlib.Path(base) / "model", overrides=overrides).folder
        session = SavedModel(folder)
        for batch_size in batches:
            turns = calls(work.lines, batch_size, repeats + 1)  # one of them warms up
            python = iter(turns)
            saved = iter(turns)
            seconds = measuring.in_turns(
                {
                    "Translator": lambda: translator.translate(
                        next(python), **search, batch_size=batch_size
                    ),
                    "SavedModel in a Session": lambda: session(
                        "translate", text=np.array([line.encode() for line in next(saved)], object)
                    ),
                },
                repeats,
            )
            for how, values in seconds.items():
                yield [
                    how,
                    batch_size,
                    batch_size / median(values),
                    1000 * median(values),
                    1000 * max(values),
                ]
            if runner is not None:
                call = runner_seconds(
                    runner, folder, [line for lines in turns for line in lines], batch_size
                )
                yield ["C++ runner", batch_size, batch_size / call, 1000 * call, None]


def runs(arguments, place):
    """(name, RUN folder, list of Work) of everything that is asked for."""
    import sizes
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.files.reading import read_lines
    from rnnsearch_tf.runs.folder import Run
    from rnnsearch_tf.text.vocabulary import Vocabulary

    generator = np.random.default_rng(1)
    if arguments.model:
        run = Run.open(arguments.model)
        config = load_config(run.config)
        tokens = Vocabulary.load(run.vocabulary("source")).tokens
        words = (
            [token for token in tokens[3:] if token.isalpha()]
            if config.source.tokenization != "sentencepiece"
            else ["a"]
        )
        every = [(run.path.name, run, sizes.SIZES[arguments.sizes[0]], words)]
    else:
        every = []
        for name in arguments.sizes:
            size = sizes.SIZES[name]
            run = sizes.write_run(
                pathlib.Path(place) / name, sizes.configuration(size, arguments.system)
            )
            every.append(
                (
                    f"{name}, {arguments.system}",
                    run,
                    size,
                    sizes.vocabulary(size.vocabulary_size)[3:],
                )
            )
    for name, run, size, words in every:
        lines = sizes.sentences(arguments.lines, size.source_length - 1, words, generator)
        work = [
            Work(
                f"fixed, {size.target_length}",
                lines,
                sizes.fixed_length(size.source_length, size.target_length),
            )
        ]
        if arguments.text:
            natural = [line for line in read_lines(arguments.text) if line.strip()]
            work.append(Work("natural", natural[: arguments.lines], {}))
        yield name, run, work


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument(
        "--system", default="rnnsearch", help="a row of sizes.SYSTEMS (%(default)s)"
    )
    parser.add_argument("--model", help="a RUN folder, in place of sizes with random weights")
    parser.add_argument(
        "--text",
        help="sentences of the RUN's source language, for the natural length; needs --model",
    )
    parser.add_argument(
        "--lines",
        type=int,
        default=640,
        help="sentences taken, again and again where they are too few (%(default)s)",
    )
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5, 12])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument(
        "--no-runner",
        action="store_true",
        help="leave out the C++ runner, which has to be compiled",
    )
    arguments = measuring.parse(parser)
    if arguments.text and not arguments.model:
        parser.error("--text: random weights have no natural length; give --model too")
    if arguments.quick:
        arguments.sizes = ["TINY"]
        arguments.beams = arguments.beams[:1]
        arguments.batches = [2]
        arguments.no_runner = True
    heads = [
        "model",
        "output length",
        "beam",
        "how",
        "batch",
        "sentences/s",
        "a call, ms",
        "slowest, ms",
    ]
    with tempfile.TemporaryDirectory() as place, measuring.printed(heads) as rows:
        runner = None if arguments.no_runner else build_runner(place)
        for name, run, work in runs(arguments, place):
            for each in work:
                for beam in arguments.beams:
                    measuring.say(f"{name} {each.name} beam {beam}")
                    for row in measure(
                        run, each, beam, arguments.batches, runner, arguments.repeats
                    ):
                        rows.append([name, each.name, beam, *row])
    if not arguments.text:
        print(
            "Natural length was not measured: it needs a trained model (--model RUN --text FILE).\n"
        )


if __name__ == "__main__":
    main()
