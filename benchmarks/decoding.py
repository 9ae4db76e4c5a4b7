"""Speed of translating: sentences a second and latency, through Python, the SavedModel in a
Session, and ONNX Runtime in int8 with one thread.

    python benchmarks/decoding.py [--sizes SMALL PAPER] [--beams 1 5 12] [--batches 1 8 64]

Weights are random; sentences have as many words as the size says, and so have their translations.
Text goes in and comes out. The three take turns call by call. Latency is that of a call: of a whole
batch.
"""

import pathlib
import sys
import tempfile
from itertools import cycle, islice
from statistics import median

import measuring


def measure(run, lines, beam, batches, repeats):
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
        for size in batches:
            python, saved, eight_bit = cycle(lines), cycle(lines), cycle(lines)

            def translate():
                call = list(islice(python, size))
                translator.translate(call, beam_size=beam, batch_size=size)

            def ask():
                session("translate", text=[line.encode() for line in islice(saved, size)])

            def run_onnx():
                runtime.translate(list(islice(eight_bit, size)), batch_size=size)

            tasks = {
                "Translator": translate,
                "SavedModel in a Session": ask,
                "ONNX Runtime, int8": run_onnx,
            }
            for how, seconds in measuring.in_turns(tasks, repeats).items():
                yield [size, how, size / median(seconds), 1000 * median(seconds)]


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
            for beam in arguments.beams:
                measuring.say(f"{name} beam {beam}")
                found = measure(run, lines, beam, arguments.batches, arguments.repeats)
                rows.extend([name, beam, *row] for row in found)


if __name__ == "__main__":
    main()
