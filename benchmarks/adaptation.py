"""The gain of further training of a trained model: BLEU in its own domain and in another one.

    python benchmarks/adaptation.py --run runs/tatoeba --work runs/adaptation --minutes 10

Four models are scored on both domains' test sets: the RUN as it is; adapted to the new text (`train
--from`); adapted with old text mixed in (`--mix`); and one of the same size trained on the new text
from nothing, with a vocabulary of its own. Each of the three is trained equally long, with the
RUN's own settings but for the length limits, smaller batches and how often it is evaluated.

A folder of data has train.en.gz, val.en.gz and the same of the other language; val is the test set,
the development text is held out of train. Finished steps stay in the folder --work: the same
command resumes after an interruption.
"""

import json
import os
import pathlib
import subprocess
import sys

import measuring

SHARED = pathlib.Path(os.environ.get("RNNSEARCH_SHARED", measuring.HERE.parents[1] / "shared"))


def rnnsearch(*words, output=sys.stderr):
    """Run a command of the program; its results go to standard error or a file."""
    measuring.say("rnnsearch " + " ".join(map(str, words)))
    subprocess.run(
        [sys.executable, "-m", "rnnsearch_tf", *map(str, words)], check=True, stdout=output
    )


def settings(values):
    """Words of the command line for {option: value}."""
    return [
        word
        for name, value in values.items()
        for word in ("--set", f"{name}={'null' if value is None else value}")
    ]


def files(folder, part, languages):
    """Paths of the two sides of a part of a corpus."""
    return [pathlib.Path(folder).absolute() / f"{part}.{language}.gz" for language in languages]


def train(run, words):
    """Train, resume, or keep a finished training."""
    if (run / "model_card.md").exists():
        return measuring.say(f"{run}: trained already")
    if (run / "checkpoints" / "state.json").exists():
        return rnnsearch("train", "--output", run, "--resume")
    rnnsearch("train", "--output", run, *words)


def score(run, sides, path, beam_size):
    """(BLEU, its signature) on a test set, kept in a file."""
    if not path.exists():
        text = ("--source", sides[0], "--reference", sides[1])
        words = ("evaluate", "--model", run, *text, "--json", "--beam-size", beam_size)
        with open(path, "wb") as output:
            rnnsearch(*words, output=output)
    bleu = json.loads(path.read_text(encoding="utf-8"))["bleu"]
    return bleu["score"], bleu["signature"]


def test_files(arguments, folder, languages):
    """The test set of a domain; with --sentences its first lines."""
    sides = files(folder, "val", languages)
    if not arguments.sentences:
        return sides
    from rnnsearch_tf.files.reading import read_all

    shorter = [arguments.work / f"{pathlib.Path(folder).name}.{language}" for language in languages]
    for whole, path in zip(sides, shorter):
        path.write_text(
            "".join(f"{line}\n" for line in read_all(str(whole))[: arguments.sentences]),
            encoding="utf-8",
        )
    return shorter


def trainings(arguments, languages):
    """{name: words of the training's command}."""
    limits = {f"data.maximum_{side}_length": arguments.length for side in ("source", "target")}
    length = {
        "training.maximum_minutes": arguments.minutes,
        "training.maximum_updates": arguments.updates,
        "training.epochs": 100_000,
    }
    batches = {
        "data.batch_size": arguments.batch_size,
        "training.warmup_updates": arguments.warmup_updates,
    }
    often = {
        "training.evaluate_every": arguments.evaluate_every,
        "training.evaluate_sentences": 200,
    }
    text = dict(
        zip(
            ("data.train_source", "data.train_target"),
            files(arguments.new_data, "train", languages),
        )
    )
    own = {
        f"data.{name}": None
        for name in ("folder", "corpora", "development_source", "development_target")
    } | {"data.corpus": "files"}
    begin = [
        "--from",
        arguments.run,
        *(["--new-words", arguments.new_words] if arguments.new_words else []),
    ]
    common = settings(
        {**text, **limits, **length, **batches, **often, "data.held_out": arguments.held_out}
    )
    return {
        "adapted": begin + common,
        f"adapted, {arguments.mix:g} old pairs for a new one": [
            *begin,
            "--mix",
            arguments.mix,
            *common,
        ],
        "from nothing": ["--config", arguments.run / "config.yaml", *settings(own), *common],
    }


def updates_of(run):
    state = run / "checkpoints" / "state.json"
    return json.loads(state.read_text(encoding="utf-8"))["batches"] if state.exists() else None


def main():
    parser = measuring.parser(__doc__, repeats=False)
    parser.add_argument("--run", type=pathlib.Path, required=True, help="the RUN to start from")
    parser.add_argument(
        "--work", type=pathlib.Path, required=True, help="folder of what is trained and scored"
    )
    parser.add_argument(
        "--old-data", default=SHARED / "data" / "tatoeba", help="its own domain (%(default)s)"
    )
    parser.add_argument(
        "--new-data", default=SHARED / "data" / "python-docs", help="the other domain (%(default)s)"
    )
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="of each training (%(default)s)"
    )
    parser.add_argument("--updates", type=int, help="of each training, in place of minutes")
    parser.add_argument(
        "--mix", type=float, default=1.0, help="old pairs for each new one (%(default)s)"
    )
    parser.add_argument(
        "--new-words",
        type=int,
        default=4000,
        help="new words or subwords of each side (%(default)s)",
    )
    parser.add_argument(
        "--length",
        type=int,
        default=100,
        help="longest sentences trained on, in tokens (%(default)s)",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=32,
        help="sentences; in few minutes more, smaller updates learn more (%(default)s)",
    )
    parser.add_argument(
        "--warmup-updates", type=int, default=50, help="of the learning rate (%(default)s)"
    )
    parser.add_argument(
        "--held-out", type=int, default=500, help="development pairs of the new text (%(default)s)"
    )
    parser.add_argument("--evaluate-every", type=int, default=200, help="updates (%(default)s)")
    parser.add_argument(
        "--beam-size", type=int, default=12, help="of the test translations (%(default)s)"
    )
    parser.add_argument(
        "--sentences", type=int, help="test sentences of each domain, the first ones; left out: all"
    )
    arguments = measuring.parse(parser)
    if arguments.quick:
        arguments.updates = 2
        arguments.sentences = 5
        arguments.beam_size = 1
        arguments.length = 20
    arguments.minutes = None if arguments.updates else arguments.minutes
    arguments.work.mkdir(parents=True, exist_ok=True)
    from rnnsearch_tf.config import saved_config

    config = saved_config(arguments.run / "config.yaml")
    languages = (config.source.language, config.target.language)
    tests = {
        pathlib.Path(folder).name: test_files(arguments, folder, languages)
        for folder in (arguments.old_data, arguments.new_data)
    }
    signature = None
    with measuring.printed(["model", *(f"BLEU, {domain}" for domain in tests), "updates"]) as rows:
        for name, words in {"as it is": None, **trainings(arguments, languages)}.items():
            folder = arguments.work / name.replace(",", "").replace(" ", "-")
            run = arguments.run if words is None else folder
            if words is not None:
                train(run, words)
            kept = {domain: folder.with_name(f"{folder.name}.{domain}.json") for domain in tests}
            found = [
                score(run, sides, kept[domain], arguments.beam_size)
                for domain, sides in tests.items()
            ]
            signature = found[0][1]
            rows.append([name, *(bleu for bleu, _ in found), updates_of(run)])
    print(f"sacreBLEU: {signature}; beam {arguments.beam_size}.")


if __name__ == "__main__":
    main()
