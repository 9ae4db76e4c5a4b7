"""What the README tells a newcomer to do with two text files: the commands work as they stand, and
the model learns.
"""

import gzip
import itertools
import json
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.phrasebook import phrasebook
from shared_data import SHARED

ROOT = pathlib.Path(__file__).parents[2]
TATOEBA = SHARED / "data" / "tatoeba"
README = (
    (ROOT / "README.md").read_text(encoding="utf-8").split("## Your own text")[1].split("\n## ")[0]
)
COMMANDS = {
    words[1]: words
    for words in (
        shlex.split(line, comments=True)
        for line in re.findall("^    (rnnsearch .+)", README, re.MULTILINE)
    )
}


def run(folder, words):
    words = [sys.executable, "-m", "rnnsearch_tf", *map(str, words)]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=1200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def readme(command, *more):
    """The words of the README's command, without the program's name and redirections."""
    words = COMMANDS[command][1:]
    return [*itertools.takewhile(lambda word: word not in "<>", words), *more]


def test_the_commands_lead_to_a_model_that_fits_a_small_corpus(tmp_path):
    """37 million parameters, Adadelta and a summed loss, the defaults, had BLEU 0.00 after three
    minutes with 8,000 pairs.
    """
    from rnnsearch_tf.models import build_model

    for language, lines in zip(("en", "fr"), phrasebook(8000, "train")):
        (tmp_path / f"train.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = run(tmp_path, readme("init")).stderr
    assert (
        "rnnsearch doctor --config mine/config.yaml" in said
        and "rnnsearch train --config mine/config.yaml" in said
    )
    run(tmp_path, readme("doctor"))
    config = load_config(tmp_path / "mine" / "config.yaml")
    assert f"--minutes {config.training.maximum_minutes:g} " in README
    assert build_model(config, 4000, 4000).count_params() < 6e6
    assert (config.training.optimizer, config.training.loss_reduction) == ("adam", "token_mean")


@pytest.mark.slow
def test_eight_thousand_pairs_learn_in_three_minutes(tmp_path):
    """Held-out BLEU above 10, where the advice of before had 0.00."""
    if not TATOEBA.exists():
        pytest.skip(f"{TATOEBA} is not here")
    for language in ("en", "fr"):
        with gzip.open(TATOEBA / f"train.{language}.gz", "rt", encoding="utf-8") as lines:
            (tmp_path / f"train.{language}").write_text(
                "".join(itertools.islice(lines, 8000)), encoding="utf-8"
            )
    run(tmp_path, [*readme("init"), "--minutes", "3"])
    run(tmp_path, readme("train"))
    sides = ("--source", TATOEBA / "val.en.gz", "--reference", TATOEBA / "val.fr.gz")
    done = run(tmp_path, ["evaluate", "--model", "mine/run", *sides, "--json"])
    scores = json.loads(done.stdout)
    assert scores["bleu"]["score"] > 10, scores
