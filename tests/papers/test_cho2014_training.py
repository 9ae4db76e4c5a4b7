"""The page of the training of both networks of Cho et al. 2014a."""

import json

import numpy as np
import pytest

from papers import cho2014_training
from papers import phrase_based
from papers.items import CHO
from papers.workspace import Workspace

LOSSES = {1234: (3.0, 2.0, 2.5), 1235: (3.0, 2.2, 2.1, 2.4)}


def test_the_lowest_loss_and_the_perplexity(tmp_path):
    work = Workspace(tmp_path, tmp_path, seeds=list(LOSSES))
    likelihoods = {"development": [[-2.0, 3], [-4.0, 1]], "test": [[-1.0, 1]]}
    for seed, losses in LOSSES.items():
        for name in CHO:
            records = [
                {"kind": "development", "batches": 100 * number, "loss": loss}
                for number, loss in enumerate(losses, start=1)
            ]
            # the last is of the average of weights
            records += [{"kind": "training"}, records[-1] | {"loss": 1.0}]
            path = work.run(name, seed).metrics
            path.parent.mkdir(parents=True)
            path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
        work.output(f"likelihoods-cslm-{seed}", lambda: likelihoods)
    page = cho2014_training.page(work, CHO)
    scorer, language_model = page.ours
    assert scorer == {
        "model": "phrase-scorer",
        "updates to the lowest loss": [200, 300],
        "updates": [300, 400],
        "lowest loss": [2.0, 2.1],
        "loss of averaged weights": [1.0, 1.0],
        "development perplexity": None,
        "test perplexity": None,
    }
    assert language_model == scorer | {
        "model": "cslm",
        "development perplexity": [pytest.approx(np.exp(6 / 4))] * 2,
        "test perplexity": [pytest.approx(np.e)] * 2,
    }
    first, second = (
        list(container.lines[0].get_ydata())
        for container in page.pictures["curves"].axes[0].containers
    )
    assert [tuple(first), tuple(second)] == list(LOSSES.values())


def test_likelihoods_are_of_words_and_the_end_symbol(tmp_path, monkeypatch):
    """The scores are those of the tokens as the phrase-based system has them."""
    texts = {"development": ["a b", "c"], "test": ["d e f"]}
    asked = []

    class Translator:
        def score(self, sources, targets, tokenized):
            asked.append((sources, targets, tokenized))
            return [-1.0 - number for number in range(len(targets))]

    monkeypatch.setattr(Workspace, "phrase_based", lambda work: None)
    monkeypatch.setattr(Workspace, "translator", lambda work, name, seed: Translator())
    monkeypatch.setattr(phrase_based, "text", lambda folder, part, language: texts[part])
    work = Workspace(tmp_path, None, seeds=[7])
    [found] = cho2014_training.measured_perplexities(work, "cslm")
    assert asked == [(lines, lines, True) for lines in texts.values()]
    assert found == {
        "development": pytest.approx(np.exp(3 / 5)),
        "test": pytest.approx(np.exp(1 / 4)),
    }
