"""A phrase-based system (Koehn et al. 2003) built on sil-thot, for the tables of Cho et al. 2014a
and Sutskever et al. 2014, and for a row of Bahdanau et al.'s.

    ê = argmax over derivations d of  w · h(d)

A derivation splits the source into phrases and translates each of them. Words are aligned by
fast_align in both directions. The language model uses trigrams. The search may leave out SKIPPED
words and translate them later; how far it jumps has a weight, but not which words do (Moses's
lexicalized reordering). Text is captions as lower-cased Moses tokens. The weights are tuned by
minimum error rate training (tuning.py) on the development captions, in about fifteen minutes of one
core. DIR/phrase-based/ has its files in Moses's formats:

    texts/, model/, weights.json, nbest.development, nbest.test, phrase-table.gz
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import importlib.util
import json
import pathlib
import random
import shutil
import typing
from collections.abc import Iterator

import numpy as np

from papers.common import CAPTIONS, LANGUAGES, tokens, write_lines
from papers.tuning import Candidates, tune
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import new_folder, write_file
from rnnsearch_tf.files.reading import read_lines

FEATURES = (
    "WordPenalty",
    "LM",
    "TargetPhraseLength",
    "Distortion",
    "SourcePhraseLength",
    "SourceGivenTarget",
    "TargetGivenSource",
    "SentenceLength",
)
"""thot's features, in its order."""
UNITS = np.array([1.0, 1, 1, 1 / np.log(1000), 1, 1, 1, 1])
"""Factors for thot's features: its log-score of a jump over n words is n · log 0.001; so Distortion
is the number of words jumped over, below zero, as Moses's.
"""
INITIAL_WEIGHTS = (1.0,) * 7 + (0.0,)
SKIPPED = 2
NBEST = 100
ROUNDS = 3
"""Rounds of tuning: each translates the development text, then finds the best weights for all lists
so far.
"""
SMALLEST = 1e-6
"""Smallest score in the phrase table; Moses takes its logarithm."""
PAIRS_AT_ONCE = 20_000
"""Phrase pairs whose words are aligned in one batch."""

PARTS = "development", "test"
DEVELOPMENT_PAIRS = 2000
"""Phrase pairs on which the phrase scorer is evaluated while it trains."""
SEED = 1

NAME = "phrase-based"
WEAKER = (
    f"A phrase-based system here is weaker than the papers': its search leaves out at most"
    f" {SKIPPED} words to translate them later, at a cost that does not depend on the phrases, its"
    " language model is of trigrams, and both were learned from captions alone."
)
MISSING = (
    'The phrase-based system is missing, since it was not made; it needs pip install ".[smt]".'
)
"""Sentences of pages: about the row of the system, and in place of it."""


def is_available(work) -> bool:
    """Whether the system is made, or the package that makes it is installed."""
    made = (work.folder / NAME / "phrase-table.gz").exists()
    return made or importlib.util.find_spec("thot") is not None


def system(work, every: int = 1) -> pathlib.Path:
    """The folder of a system, made if it is missing.

    Args:
        every: n learns phrases from every n-th caption; the language model is that of all.
    """
    folder = work.folder / (NAME if every == 1 else f"{NAME}-every-{every}")
    if (folder / "phrase-table.gz").exists():
        return folder
    if importlib.util.find_spec("thot") is None:
        raise UserError(
            "a phrase-based system: expected the package sil-machine[thot], got none; pip install"
            ' ".[smt]" in an environment of its own'
        )
    if not (folder / "texts").exists():
        with new_folder(folder / "texts") as partial:
            for part in CAPTIONS:
                step = every if part == "train" else 1
                for language in LANGUAGES:
                    lines = work.lines("captions", part, language)[::step]
                    write_lines(partial / f"{part}.{language}", tokens(lines, language))
    if not (folder / "model").exists():
        with new_folder(folder / "model") as partial:
            train(partial, *(folder / "texts" / f"train.{language}" for language in LANGUAGES))
            if every > 1:
                shutil.rmtree(partial / "language")
                shutil.copytree(system(work) / "model" / "language", partial / "language")
    made = PhraseBased(folder)
    lists = {"development": made.tune(*(text(folder, "development", e) for e in LANGUAGES))}
    lists["test"] = made.nbest(text(folder, "test", "en"))
    for part in PARTS:
        lines = [
            each.nbest_line(sentence, made.weights)
            for sentence, entries in enumerate(lists[part])
            for each in entries
        ]
        write_file(folder / f"nbest.{part}", "".join(lines))
    content = "".join(made.table()).encode()
    write_file(folder / "phrase-table.gz", gzip.compress(content, mtime=0))
    return folder


def text(folder, part, language) -> list[str]:
    """Lines of ``train``, ``development`` or ``test`` as tokens separated by spaces."""
    return list(read_lines(folder / "texts" / f"{part}.{language}"))


def translated_test(work) -> list[str]:
    """The joined test captions of Bahdanau et al.'s items, translated to tokens."""

    def translate():
        sources = tokens(work.lines("up-to-50", "test", "en"), "en")
        lists = PhraseBased(system(work)).nbest(sources, 1)
        return [entries[0].text for entries in lists]

    return work.output(f"up-to-50-{NAME}", translate)


class Row(typing.NamedTuple):
    """A phrase pair of the table: p(target | source) is a relative frequency, the count is that of
    the source phrase.
    """

    source: str
    target: str
    probability: float
    count: float


def rows(folder) -> Iterator[Row]:
    """Yield a Row for each line of the phrase table."""
    for line in read_lines(folder / "phrase-table.gz"):
        source, target, scores, _, counts = line.split(" ||| ")
        yield Row(source, target, float(scores.split()[2]), float(counts.split()[1]))


def write_phrases(work) -> None:
    """Write DIR/texts/phrases: the phrase pairs of the table in random order, DEVELOPMENT_PAIRS of
    them as development text. Each pair is used equally often, whatever its count.
    """
    folder = work.folder / "texts" / "phrases"
    if folder.exists():
        return
    pairs = [(row.source, row.target) for row in rows(system(work))]
    random.Random(SEED).shuffle(pairs)
    held_out = min(DEVELOPMENT_PAIRS, len(pairs) // 10)
    with new_folder(folder) as partial:
        for part, chosen in (("development", pairs[:held_out]), ("train", pairs[held_out:])):
            for language, lines in zip(LANGUAGES, zip(*chosen)):
                write_lines(partial / f"{part}.{language}", lines)


@dataclasses.dataclass(frozen=True)
class Derivation:
    """One hypothesis.

    Attributes:
        text: tokens separated by spaces.
        features: values of FEATURES.
        phrases: (source span, target span) of each phrase; a span is (first, last), from 0.
    """

    text: str
    features: tuple[float, ...]
    phrases: tuple[tuple[tuple[int, int], tuple[int, int]], ...]

    def nbest_line(self, sentence: int, weights) -> str:
        """The line of a Moses n-best list, with the phrases after the score, ``0-1=0-1 2=2``."""
        features = " ".join(f"{name}= {value:.6g}" for name, value in zip(FEATURES, self.features))
        spans = " ".join(
            "=".join(f"{first}-{last}" if first != last else str(first) for first, last in pair)
            for pair in self.phrases
        )
        score = float(np.dot(self.features, weights))
        return f"{sentence} ||| {self.text} ||| {features} ||| {score:.6f} ||| {spans}\n"


def train(folder, source, target) -> None:
    """Train a system on two files of tokens, except for its weights."""
    from machine.corpora import TextFileTextCorpus
    from machine.tokenization import WHITESPACE_TOKENIZER
    from machine.translation.thot import ThotSmtModelTrainer

    class Trainer(ThotSmtModelTrainer):
        """Without thot's tuning, which takes most of an hour. sil-machine has no option for it, and
        both methods are private; tried with 1.9.2.
        """

        def _tune_translation_model(self, *_):
            pass

        def _train_tune_corpus(self, *_):
            pass

    corpus = TextFileTextCorpus(str(source)).align_rows(TextFileTextCorpus(str(target)))
    for part in ("language", "translation"):
        (folder / part).mkdir()
    parameters = thot_parameters(folder)
    with Trainer("fast_align", corpus.tokenize(WHITESPACE_TOKENIZER), parameters) as trainer:
        trainer.train()
        trainer.save()


def thot_parameters(folder):
    from machine.translation.thot import ThotSmtParameters

    parameters = ThotSmtParameters()
    parameters.translation_model_filename_prefix = str(folder / "translation" / "system")
    parameters.language_model_filename_prefix = str(folder / "language" / "system")
    parameters.model_non_monotonicity = SKIPPED
    return parameters


class PhraseBased:
    """A trained system in a folder; its weights are float64 [8], their absolute values sum to 1."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        path = folder / "weights.json"
        tuned = json.loads(path.read_text()).values() if path.exists() else INITIAL_WEIGHTS
        self.weights = scaled(list(tuned))

    def tune(self, sources, references) -> list[list[Derivation]]:
        """Tune the weights for BLEU and save them; returns the n-best lists with them."""
        known: list[dict] = [{} for _ in sources]
        best: tuple = (-1.0, None, None)
        for round_ in range(ROUNDS + 1):
            lists = self.nbest(sources)
            entries = [[(each.text, each.features) for each in one] for one in lists]
            score = Candidates.from_lists(entries, references).bleu(self.weights)
            best = max(best, (score, self.weights, lists), key=lambda each: each[0])
            if round_ == ROUNDS:
                break
            for mine, one in zip(known, entries):
                mine.update(dict.fromkeys(one))
            candidates = Candidates.from_lists([list(mine) for mine in known], references)
            self.weights = scaled(tune(candidates, self.weights)[0])
        _, self.weights, lists = best
        found = dict(zip(FEATURES, self.weights.tolist()))
        write_file(self.folder / "weights.json", json.dumps(found, indent=1) + "\n")
        return lists

    def nbest(self, sources, size: int = NBEST) -> list[list[Derivation]]:
        """The most likely derivations of each sentence, best first; a sentence without words or
        without a translation has one empty derivation.
        """
        from machine.translation.thot.thot_utils import load_smt_decoder

        self._model.weights = (self.weights * UNITS).tolist()
        decoder = load_smt_decoder(self._model, thot_parameters(self.folder / "model"))
        return [derivations(decoder, source, size) for source in sources]

    def table(self) -> Iterator[str]:
        """Yield the lines of a Moses phrase table: ``source ||| target ||| p(s|t) lex(s|t)
        p(t|s) lex(t|s) ||| alignment ||| counts``.

        Probabilities are relative frequencies; the counts are those of target, source and pair.
        lex(t|s) is the product over the target words of the mean p(word | source word) over the
        source words aligned to it (Koehn et al. 2003, §4.4). Its probabilities and links, which
        are symmetrized, are fast_align's.
        """
        lexicon = Lexicon(self._model)
        found = list(thot_table(self.folder / "model" / "translation" / "system.ttable"))
        source_counts: dict[str, float] = {}
        for source, _, _, joint in found:
            source_counts[source] = source_counts.get(source, 0.0) + joint
        for start in range(0, len(found), PAIRS_AT_ONCE):
            block = found[start : start + PAIRS_AT_ONCE]
            for (source, target, count, joint), links in zip(block, lexicon.links(block)):
                backward, forward = lexicon.weights(source.split(), target.split(), links)
                values = joint / count, backward, joint / source_counts[source], forward
                scores = " ".join(f"{max(value, SMALLEST):.6g}" for value in values)
                points = " ".join(f"{j}-{i}" for j, i in links)
                counts = f"{count:g} {source_counts[source]:g} {joint:g}"
                yield f"{source} ||| {target} ||| {scores} ||| {points} ||| {counts}\n"

    @functools.cached_property
    def _model(self):
        """thot's model; reading a table of a million pairs takes 15 seconds."""
        from machine.translation.thot import ThotWordAlignmentModelType
        from machine.translation.thot.thot_utils import load_smt_model

        parameters = thot_parameters(self.folder / "model")
        return load_smt_model(ThotWordAlignmentModelType.FAST_ALIGN, parameters)


class Lexicon:
    """Word translation probabilities and links in both directions."""

    def __init__(self, model) -> None:
        from thot.alignment import SymmetrizationHeuristic, SymmetrizedAligner

        self._forward = model.direct_word_alignment_model
        self._backward = model.inverse_word_alignment_model
        self._aligner = SymmetrizedAligner(self._forward, self._backward)
        self._aligner.heuristic = SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
        self._known: dict = {}

    def links(self, rows) -> Iterator[list[tuple[int, int]]]:
        """Yield the links of each pair: (source position, target position)."""
        found = self._aligner.get_best_alignments(
            [row[0].split() for row in rows], [row[1].split() for row in rows]
        )
        for _, matrix in found:
            yield [(int(j), int(i)) for j, i in zip(*np.nonzero(matrix.to_numpy()))]

    def weights(self, source, target, links) -> tuple[float, float]:
        """(lex(source | target), lex(target | source))."""
        swapped = [(i, j) for j, i in links]
        return (
            self._weight(self._backward, target, source, swapped),
            self._weight(self._forward, source, target, links),
        )

    def _weight(self, model, given, words, links):
        product = 1.0
        for place, word in enumerate(words):
            linked = [given[g] for g, w in links if w == place] or [None]
            product *= sum(self._probability(model, other, word) for other in linked) / len(linked)
        return product

    def _probability(self, model, given, word):
        key = model is self._forward, given, word
        if key not in self._known:
            first = 0 if given is None else model.get_src_word_index(given)  # 0: the empty word
            self._known[key] = model.translation_prob(first, model.get_trg_word_index(word))
        return self._known[key]


def derivations(decoder, source, size) -> list[Derivation]:
    found = decoder.translate_n(source, size) if source else []
    return list(map(_derivation, found)) or [Derivation("", (0.0,) * len(FEATURES), ())]


def _derivation(data) -> Derivation:
    ends = list(data.target_segment_cuts)
    targets = [(first, last - 1) for first, last in zip([0, *ends], ends)]
    sources = [(first - 1, last - 1) for first, last in data.source_segmentation]
    return Derivation(
        " ".join(data.target),
        tuple((np.asarray(data.score_components) * UNITS).tolist()),
        tuple(zip(sources, targets)),
    )


def thot_table(path) -> Iterator[tuple[str, str, float, float]]:
    """Yield (source, target, count of the target, count of the pair) of each line, ``target |||
    source ||| counts``. Phrases for no words have a count of 0, and are skipped.
    """
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            target, source, counts = line.rstrip("\n").split(" ||| ")
            count, joint = map(float, counts.split())
            if count > 0:
                yield source.strip(), target.strip(), count, joint


def scaled(weights) -> np.ndarray:
    weights = np.asarray(weights, np.float64)
    return weights / np.abs(weights).sum()
