"""How long a user waits: `rnnsearch --help`, loading a RUN, the first translation, later ones, one
line by a cold `rnnsearch translate`.

    python benchmarks/startup.py [--sizes SMALL PAPER]
    python benchmarks/startup.py --model RUN --text FILE

Every measurement of --help, of loading and of the first translation is a fresh process. Loading is
counted from the process's start, Python and TensorFlow included, and apart from them. A sentence is
one of ten words, or one of FILE. A cold command stands beside a process that only imports
TensorFlow and Keras, in turns; also of the same model exported.
"""

import json
import subprocess
import sys
import tempfile
import time

import measuring
from measuring import median

LATER = 20  # translations after the first, in each process
IMPORTS = (
    "import gc; gc.set_threshold(50_000, 50, 50); import tensorflow, tensorflow_text, keras;"
    " gc.freeze()"
)
FRESH = """
import json, sys, time
import tensorflow
from rnnsearch_tf.translation import Translator
imported = time.perf_counter()
translator = Translator.load(sys.argv[1])
loaded = time.perf_counter()
translate = lambda line: (translator.translate([line], beam_size=int(sys.argv[2])), \
time.perf_counter())[1]
times = [loaded, *(translate(line) for line in json.load(sys.stdin))]
seconds = [after - before for before, after in zip(times, times[1:])]
print(json.dumps(dict(load=loaded - imported, translations=seconds, \
end=time.perf_counter() - imported)))
"""


def help_seconds():
    """Of one `rnnsearch --help`."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "rnnsearch_tf", "--help"], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def fresh(run, lines, beam):
    """{"start" (until TensorFlow is there), "load", "translations"}, in seconds, of one process."""
    start = time.perf_counter()
    command = [sys.executable, "-c", FRESH, str(run), str(beam)]
    done = subprocess.run(command, input=json.dumps(lines), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer | dict(start=time.perf_counter() - start - answer["end"])


def elapsed(words, text=""):
    """Seconds of a process: Python with these words, the text on standard input."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], input=text, check=True, capture_output=True, text=True)
    return time.perf_counter() - start


def cold(run, line, repeats, exported=None):
    """[(what, seconds, seconds beyond importing)] of `rnnsearch translate` for one line, by the RUN
    and by what it was exported as.
    """
    models = {"the RUN": run} | ({"exported": exported} if exported else {})
    commands = {
        name: (["-m", "rnnsearch_tf", "translate", "--model", str(model)], f"{line}\n")
        for name, model in models.items()
    }
    commands |= {"importing": (["-c", IMPORTS], "")}
    times = {name: [] for name in commands}
    for _ in range(repeats + 1):
        for name, command in commands.items():
            times[name].append(elapsed(*command))
    # the first of each fills the file cache
    middle = {name: median(seconds[1:]) for name, seconds in times.items()}
    return [(name, seconds, seconds - middle["importing"]) for name, seconds in middle.items()]


def runs(arguments, place):
    """(name, RUN folder, lines) of everything that is asked for."""
    import numpy as np

    import sizes
    from rnnsearch_tf.files.reading import read_lines

    if arguments.model:
        lines = [line for line in read_lines(arguments.text) if line.strip()]
        yield arguments.model, arguments.model, [lines[k % len(lines)] for k in range(1 + LATER)]
        return
    for name in arguments.sizes:
        size = sizes.SIZES[name]
        run = sizes.write_run(
            f"{place}/{name}", sizes.configuration(size, **sizes.fixed_length(11, 11))
        )
        words = sizes.vocabulary(size.vocabulary_size)[3:]
        yield (
            f"{name}, random weights",
            run,
            sizes.sentences(1 + LATER, 10, words, np.random.default_rng(1)),
        )


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument("--model", help="a RUN folder, in place of sizes with random weights")
    parser.add_argument("--text", help="sentences of its source language; needed with --model")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 12])
    arguments = measuring.parse(parser)
    if bool(arguments.model) != bool(arguments.text):
        parser.error("--model and --text go together")
    if arguments.quick:
        arguments.sizes = ["TINY"]
        arguments.beams = arguments.beams[:1]
    measuring.say("--help")
    help_seconds()  # compiled and in the file cache
    print(
        f"`rnnsearch --help`: {1000 * median(help_seconds() for _ in range(arguments.repeats)):.0f}"
        " ms\n"
    )
    rows = []
    commands = []
    with tempfile.TemporaryDirectory() as place:
        for name, run, lines in runs(arguments, place):
            for beam in arguments.beams:
                measuring.say(f"{name} beam {beam}")
                answers = [fresh(run, lines, beam) for _ in range(arguments.repeats)]
                later = [seconds for answer in answers for seconds in answer["translations"][1:]]
                first = [median(answer[part] for answer in answers) for part in ("start", "load")]
                first.append(median(answer["translations"][0] for answer in answers))
                rows.append(
                    [
                        name,
                        beam,
                        *(
                            1000 * seconds
                            for seconds in (*first, sum(first), median(later), max(later))
                        ),
                    ]
                )
            measuring.say(f"{name} cold")
            # random weights leave ties, which the export's own check refuses
            exported = f"{place}/exported" if arguments.model else None
            if exported:
                elapsed(["-m", "rnnsearch_tf", "export", "--model", str(run), "--output", exported])
            commands += [
                [name, what, *(1000 * t for t in seconds)]
                for what, *seconds in cold(run, lines[0], arguments.repeats, exported)
            ]
    heads = [
        "RUN",
        "beam",
        "Python and TensorFlow",
        "load",
        "first translation",
        "all of it",
        "a later one",
        "slowest",
    ]
    print(measuring.table(heads, rows) + "\n")
    print(
        measuring.table(["RUN", "cold command", "all of it", "beyond importing"], commands)
        + "\nAll in milliseconds.\n"
    )


if __name__ == "__main__":
    main()
