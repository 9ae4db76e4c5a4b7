"""Tables of flags, written by hand: what each changes on its way to the engine, and nothing else.

A verb is run as users run it, with and without a flag. Engines are watched in place of computing:
what reaches them and what is written are the facts that a table compares.
"""

import dataclasses
import os
import shutil
import types

import numpy as np

from rnnsearch_tf.cli import main
from rnnsearch_tf.config import SearchConfig, load_config
from rnnsearch_tf.translation.results import Hypothesis, Sample, ScoredPair, Translation

COMMON = {"--help", "-h", "--quiet", "--verbose", "--log-file"}
"""Flags of all verbs; test_help.py and test_progress.py have them."""

REPEATED = {"--model", "--set", "--mix"}
"""Flags whose value is added to those of the base command."""

GONE = object()
"""In a row: the fact that the base command has is not there."""

SOURCE = ["x y", "z y"]
TARGET = ["A b", "c d"]
"""Every sentence has two words."""

FILES = {
    "s": SOURCE,
    "t": TARGET,
    "u": ["u v"],
    "b": ["A b", "d"],
    "f": ["x A"],
    "phrases": ["A\tb", ""],
    "marked": ['<term translation="A">x</term> y', "z y"],
    "nbest": ["0 ||| A b ||| L= 1 ||| -1", "0 ||| c ||| L= 2 ||| -2"],
    "table": ["x ||| A ||| 0.5"],
    "ss": ["x y"] * 2,
    "tt": ["A b"] * 2,
    "gold": ["0-0 1p1"],
    "found": ["0-0 2-2"],
}

MATRIX = np.array([[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.0, 1.0]], np.float32)

SEARCH = {
    "--beam-size": (["--beam-size", "5"], {"beam_size": 5}),
    "--length-penalty": (["--length-penalty", "0.5"], {"length_penalty": 0.5}),
    "--coverage-penalty": (["--coverage-penalty", "0.2"], {"coverage_penalty": 0.2}),
    "--no-repeat-ngram": (["--no-repeat-ngram", "4"], {"no_repeat_ngram": 4}),
    "--lexicon": (["--lexicon", "f"], {"lexicon": "f"}),
    "--shortlist-frequent": (["--shortlist-frequent", "9"], {"shortlist_frequent": 9}),
    "--shortlist-translations": (["--shortlist-translations", "9"], {"shortlist_translations": 9}),
    "--no-unknown": (["--no-unknown"], {"allow_unknown": False}),
    "--replace-unknown": (["--replace-unknown"], {"replace_unknown": True}),
    "--shortlist": (["--shortlist", "f"], {"shortlist": "f"}),
    "--batch-size": (["--batch-size", "9"], {"batch_size": 9}),
}
"""Flags of the search, and the options that reach the engine."""

MODELS = {
    "--model": (["--model", "other"], {"models": [["other", "run"]]}),
    "--combine": (
        ["--model", "other"],
        ["--model", "other", "--combine", "log_probabilities"],
        {"combine": "log_probabilities"},
    ),
}


def translated(**search):
    return [(SOURCE, None, search)]


def searches():
    """Rows of SEARCH for verbs that translate SOURCE."""
    return {
        flag: (words, {"translated": translated(**changes)})
        for flag, (words, changes) in SEARCH.items()
    }


class FakeTranslator:
    """Notes what it is asked for; its answers are always the same."""

    def __init__(self, facts, runs, combine, texts, settings):
        self.name = [os.path.basename(str(run)) for run in runs]
        if self.name == ["other"]:  # a model of the other direction
            texts = texts[::-1]
        if settings:
            texts = [
                types.SimpleNamespace(
                    config=dataclasses.replace(text.config, **settings), vocabulary=text.vocabulary
                )
                for text in texts
            ]
        self.facts = facts
        self.source_text, self.target_text = texts
        self.config = load_config(overrides=["search.batch_size=4", "model.hidden_size=7"])
        self.model = types.SimpleNamespace(has_attention=True)
        facts.setdefault("models", []).append(self.name)
        facts["combine"] = combine

    def search_config(self, **changes):
        return dataclasses.replace(SearchConfig(batch_size=4), **changes)

    def require_attention(self, purpose):
        self.facts.setdefault("needs attention", []).append(purpose)

    def translate(self, texts, constraints=None, **search):
        if isinstance(texts, str):
            return self.translate([texts], constraints, **search)[0]
        if texts:
            asked = (list(texts), constraints, search)
            self.facts.setdefault("translated", []).append(asked)
        nbest = [
            Hypothesis("A b", -1.0, -3.0, ["A", "b"], MATRIX),
            Hypothesis("c d", -2.0, -4.0, ["c", "d"], MATRIX),
        ][: search.get("nbest", 1)]
        return [
            Translation(**vars(nbest[0]), source_tokens=text.split()[:2], nbest=nbest)
            for text in texts
        ]

    def score_targets(self, sources, targets, batch_size=None, tokenized=False):
        asked = (list(sources), list(targets), batch_size, tokenized)
        self.facts.setdefault("scored", []).append(asked)
        alignment = MATRIX[:, [1, 0, 2]] if self.name == ["other"] else MATRIX
        return [
            ScoredPair(
                -3.0,
                np.full(len(target.split()) + 1, -1.0),
                source.split(),
                target.split(),
                alignment,
                1,
            )
            for source, target in zip(sources, targets)
        ]

    def score(self, sources, targets, batch_size=None, tokenized=False):
        pairs = self.score_targets(sources, targets, batch_size, tokenized)
        return [pair.log_probability for pair in pairs]

    def sample(self, texts, number, temperature=1.0, seed=1):
        asked = (list(texts), number, temperature, seed)
        self.facts.setdefault("sampled", []).append(asked)
        draws = [Sample("A", -2.0, ["A"]), Sample("b", -1.0, ["b"]), Sample("A", -2.0, ["A"])]
        return [draws for _ in texts]


class Observer:
    """Runs a command in a folder with FILES and two models, ``run`` and ``other``.

    Attributes:
        facts: dict that watched engines write to; emptied before each command.
        settings: dict of text options of both sides of the models.
    """

    def __init__(self, folder, run_folder, texts, capsys):
        self.folder = folder
        self.facts = {}
        self.settings = {}
        self._texts = texts
        self._capsys = capsys
        for name in ("run", "other"):
            os.symlink(run_folder, folder / name)
        for name, lines in FILES.items():
            (folder / name).write_text("".join(f"{line}\n" for line in lines))

    def load(self, runs, precision=None, combine="probabilities"):
        """In place of Translator.load."""
        runs = runs if isinstance(runs, list) else [runs]
        return FakeTranslator(self.facts, runs, combine, self._texts, self.settings)

    def note(self, *names, answer=None):
        """A function that notes what it is called with, as facts of these names."""

        def watched(*values, **named):
            self.facts.update(zip(names, values, strict=True))
            self.facts.update(named)
            return answer

        return watched

    def __call__(self, *words):
        """What was noted, ``output``, and the lines of every file that was written, by its path."""
        self.facts.clear()
        before = set(os.listdir(self.folder))
        code = main.run(list(words))
        said = self._capsys.readouterr()
        assert code == 0, said.err
        self.facts["output"] = said.out.splitlines()
        for name in set(os.listdir(self.folder)) - before:
            self._take(self.folder / name)
        return dict(self.facts)

    def _take(self, path):
        """Note the files that a command wrote, and remove them."""
        found = [path, *path.rglob("*")] if path.is_dir() else [path]
        for file in found:
            if file.is_file():
                name = str(file.relative_to(self.folder))
                self.facts[name] = file.read_text().splitlines()
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def complete(verb, *rows):
    """The rows, tables or sets of flags, have every flag of the verb and no other."""
    assert set().union(*rows) == main.parser_of(verb).option_names - COMMON


def without_flags_of(words, base):
    """The base command without flags, and their values, that the words give.

    All of its flags take one value.
    """
    given = {word for word in words if word.startswith("--")} - REPEATED
    kept = []
    skip = False
    for word in base:
        if not skip and word not in given:
            kept.append(word)
        skip = not skip and word in given
    return kept


def compare(observe, verb, base, table):
    """Each flag changes what its row says, and nothing else.

    Args:
        base: words that every command has.
        table: flag → (words, changed facts), or with words that it needs before these.

    Returns:
        The facts of the base command.
    """
    plain = observe(verb, *base)
    for flag, row in table.items():
        *company, words, changes = row
        assert flag in words, flag
        before = observe(verb, *company[0], *base) if company else plain
        found = observe(verb, *words, *without_flags_of(words, base))
        expected = before | changes
        assert found == {name: fact for name, fact in expected.items() if fact is not GONE}, flag
    return plain


def check(observe, verb, base, table, *elsewhere):
    """`compare`, and the table, with the flags `elsewhere`, is `complete`."""
    complete(verb, table, elsewhere)
    return compare(observe, verb, base, table)
