"""What the README tells a newcomer to do with two text files: the model fits them, and it learns."""

import gzip
import itertools
import json
import pathlib
import re
import subprocess
import sys

import pytest
from rnnsearch_tf.config import load_config

ROOT = pathlib.Path(__file__).parents[2]
TATOEBA = ROOT.parent / "shared" / "data" / "tatoeba"
README = (ROOT / "README.md").read_text(encoding="utf-8").split("## Train on your own text")[1].split("\n## ")[0]


@pytest.fixture
def mine():
    """The configuration that the README has the newcomer copy."""
    [path] = re.findall(r"^    cp (\S+) mine\.yaml", README, re.MULTILINE)
    return ROOT / path


def test_it_fits_a_small_corpus(mine):
    """37 million parameters, Adadelta and a summed loss had BLEU 0.00 after three minutes with 8,000 pairs."""
    from rnnsearch_tf.models import build_model

    config = load_config(mine)
    assert build_model(config, 4000, 4000).count_params() < 6e6
    assert (config.training.optimizer, config.training.loss_reduction) == ("adam", "token_mean")
    assert config.data.held_out and not config.data.development_source  # two files are enough


def test_the_readme_names_what_is_to_be_edited(mine):
    [names] = re.findall(r"# edit: (.+)", README)
    for name in names.split(", "):
        assert re.search(rf"\b{name}: ", mine.read_text(encoding="utf-8")), name


@pytest.mark.slow
def test_eight_thousand_pairs_learn_in_three_minutes(mine, tmp_path):
    """Held-out BLEU above 10, where the advice of before had 0.00."""
    if not TATOEBA.exists():
        pytest.skip(f"{TATOEBA} is not here")
    for language in ("en", "fr"):
        with gzip.open(TATOEBA / f"train.{language}.gz", "rt", encoding="utf-8") as lines:
            (tmp_path / f"train.{language}").write_text("".join(itertools.islice(lines, 8000)), encoding="utf-8")
    run(tmp_path, "train", "--config", mine, "--output", "mine", "--set", f"data.folder={tmp_path}",
        "--set", "training.maximum_updates=1500")
    sides = ("--source", TATOEBA / "val.en.gz", "--reference", TATOEBA / "val.fr.gz")
    scores = json.loads(run(tmp_path, "evaluate", "--model", "mine", *sides, "--json"))
    assert scores["all"]["bleu"]["score"] > 10, scores


def run(folder, *words):
    words = [sys.executable, "-m", "rnnsearch_tf", *map(str, words)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
