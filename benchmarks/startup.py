"""How long a user waits: `rnnsearch --help`, and one line by a cold `rnnsearch translate`, of a run
folder and of its export.

    python benchmarks/startup.py [--model RUN] [--beams 1 12]

Every measurement is a fresh process. Beside the commands, in turns, stands one that only imports
TensorFlow and Keras.
"""

import subprocess
import sys
import tempfile
from statistics import median

import measuring


def process(*words, text=""):
    """A function that runs Python with these words, the text on standard input."""
    return lambda: subprocess.run(
        [sys.executable, *words], input=text, stdout=subprocess.DEVNULL, check=True, text=True
    )


def command(*words, text=""):
    """The same of the program."""
    return process("-m", "rnnsearch_tf", *words, text=text)


def main():
    parser = measuring.parser(__doc__, sizes=False)
    parser.add_argument(
        "--model",
        default="tatoeba-en-fr",
        help="a run folder, or a model that comes with the package (%(default)s)",
    )
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 12])
    arguments = measuring.parse(parser)
    line = "Tom is reading a book."
    tasks = {
        "rnnsearch --help": command("--help"),
        "importing": process("-c", "import tensorflow, tensorflow_text, keras"),
    }
    heads = ["process", "ms"]
    with tempfile.TemporaryDirectory() as place, measuring.printed(heads) as rows:
        for beam in arguments.beams:
            measuring.say(f"export, beam {beam}")
            exported = f"{place}/{beam}"
            export = ("export", "--model", arguments.model, "--output", exported)
            command(*export, "--set", f"search.beam_size={beam}")()
            run = ("translate", "--model", arguments.model, "--beam-size", str(beam))
            tasks[f"run folder, beam {beam}"] = command(*run, text=line)
            tasks[f"its export, beam {beam}"] = command("translate", "--model", exported, text=line)
        measuring.say("in turns")
        seconds = measuring.in_turns(tasks, arguments.repeats)
        rows += [[name, 1000 * median(values)] for name, values in seconds.items()]


if __name__ == "__main__":
    main()
