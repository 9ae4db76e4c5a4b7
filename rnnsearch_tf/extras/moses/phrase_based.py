"""A phrase-based system (Koehn et al. 2003) built on sil-thot: train it, tune it, translate, and
write files in the formats of Moses.

    ê = argmax over derivations d of  w · h(d)

A derivation splits the source into phrases and translates each of them. Words are aligned by
fast_align in both directions. The language model uses trigrams. The search may leave out SKIPPED
words and translate them later; how far it jumps has a weight, but not which words do (Moses's
lexicalized reordering). Text has one sentence a line, with tokens separated by spaces.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.runtime.optional import THOT, require
from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.files.atomic import NamedFile, make_folder, write_file
from rnnsearch_tf.files.reading import check_counts, read_lines
from rnnsearch_tf.extras.moses.tuning import Candidates, Weights, tune

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

SKIPPED = 2
"""Words that the search may leave out and translate later."""

NBEST = 100
ROUNDS = 3
"""Rounds of tuning: each translates the development text, then finds the best weights for all lists
so far.
"""

INITIAL_WEIGHTS = (1.0,) * 7 + (0.0,)
WEIGHTS = "weights.json"
PARTS = "language", "translation"
"""Folders of a system. A folder without the last one has no system."""

SMALLEST = 1e-6
"""Smallest score in the phrase table; Moses takes its logarithm."""

PAIRS_AT_ONCE = 20_000
"""Phrase pairs whose words are aligned in one batch."""


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

    def nbest_line(self, sentence: int, weights: Weights) -> str:
        """The line of a Moses n-best list, with the phrases after the score, ``0-1=0-1 2=2``, as
        with Moses's option for the segmentation.
        """
        features = " ".join(f"{name}= {value:.6g}" for name, value in zip(FEATURES, self.features))
        spans = " ".join(
            "=".join(f"{first}-{last}" if first != last else str(first) for first, last in pair)
            for pair in self.phrases
        )
        text = self.text.replace("|||", "| | |")  # the separator may not occur in a field
        return (
            f"{sentence} ||| {text} ||| {features} |||"
            f" {float(np.dot(self.features, weights)):.6f} ||| {spans}\n"
        )


class PhraseBased:
    """A trained system in a folder.

    Args:
        folder: path of the folder that :meth:`train` wrote.

    Attributes:
        weights: float64 [8], weights of FEATURES; their absolute values sum to 1.

    Raises:
        UserError: the file of the weights is damaged.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = pathlib.Path(folder)
        self._weights_file = self.folder / WEIGHTS
        self.weights = _scaled(
            _read_weights(self._weights_file) if self.is_tuned else INITIAL_WEIGHTS
        )

    @property
    def is_tuned(self) -> bool:
        """Whether :meth:`tune` has set the weights."""
        return self._weights_file.exists()

    @classmethod
    def train(
        cls,
        folder: str | os.PathLike[str],
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
    ) -> PhraseBased:
        """Train a system, except for the weights, which are set by :meth:`tune`.

        Args:
            folder: created if missing. A system in it is replaced when the new one is complete.
            source, target: text files, plain or compressed, aligned by line.

        Raises:
            UserError: sil-machine is not installed; the files have unequal numbers of lines; a line
                is not UTF-8, or a token is the separator of phrase tables.
        """
        require("a phrase-based system", *THOT)
        folder = pathlib.Path(folder)
        with tempfile.TemporaryDirectory(dir=make_folder(folder)) as temporary:
            new = cls(temporary)
            copies = [new.folder / side for side in ("source", "target")]
            counts = [_write_tokens(*files) for files in zip((source, target), copies)]
            check_counts((source, target), counts)
            new._train(*copies)
            (folder / WEIGHTS).unlink(missing_ok=True)  # of an earlier system
            for part in reversed(PARTS):
                if (folder / part).exists():
                    shutil.rmtree(folder / part)
            for part in PARTS:
                os.rename(new.folder / part, folder / part)
        return cls(folder)

    def _train(self, source: pathlib.Path, target: pathlib.Path) -> None:
        """Train on the files that _write_tokens wrote."""
        from machine.corpora import TextFileTextCorpus
        from machine.tokenization import WHITESPACE_TOKENIZER
        from machine.translation.thot import ThotSmtModelTrainer

        class Trainer(ThotSmtModelTrainer):
            """Trainer without thot's tuning, which takes most of an hour; the weights are tuned on
            the development text instead.

            A tenth of the training pairs, at most 1000, is held out to weight the orders of the
            language model.

            sil-machine has no option for it, and both methods are private; tried with 1.9.2, and
            tested by tests/house/test_library_internals.py.
            """

            def _tune_translation_model(self, *_):
                pass

            def _train_tune_corpus(self, *_):
                pass

        corpus = (
            TextFileTextCorpus(str(source))
            .align_rows(TextFileTextCorpus(str(target)))
            .tokenize(WHITESPACE_TOKENIZER)
        )
        for part in PARTS:
            make_folder(self.folder / part)
        with Trainer("fast_align", corpus, self._parameters()) as trainer:
            trainer.train()
            trainer.save()

    def tune(
        self,
        sources: Sequence[str],
        references: Sequence[str],
        size: int = NBEST,
        rounds: int = ROUNDS,
    ) -> list[list[Derivation]]:
        """Tune the weights for BLEU, and save them.

        Args:
            sources, references: the development text.
            size: hypotheses of an n-best list.
            rounds: see ROUNDS.

        Returns:
            the development text's n-best lists with the tuned weights.

        Raises:
            UserError: there are no sentences, or not as many references; as for :meth:`nbest`.
        """
        if not sources or len(sources) != len(references):
            raise UserError(
                "tune: expected one reference for each source sentence, and at least one sentence,"
                f" got {len(sources)} sources and {len(references)} references"
            )
        known: list[dict[tuple[str, tuple[float, ...]], None]] = [{} for _ in sources]
        best: tuple[float, Any, Any] = (-1.0, None, None)
        weights = self.weights
        for round_ in range(rounds + 1):
            lists = self._nbest(sources, size, weights)
            score = Candidates.from_lists(
                [[(each.text, each.features) for each in entries] for entries in lists], references
            ).bleu(weights)
            best = max(best, (score, weights, lists), key=lambda each: each[0])
            if round_ == rounds:
                break
            for mine, entries in zip(known, lists):
                mine.update(dict.fromkeys((each.text, each.features) for each in entries))
            candidates = Candidates.from_lists([list(mine) for mine in known], references)
            weights = _scaled(tune(candidates, weights)[0])
        _, weights, lists = best
        write_file(
            self._weights_file,
            json.dumps(dict(zip(FEATURES, weights.tolist())), indent=1) + "\n",
        )
        self.weights = weights
        return lists

    def nbest(self, sources: Sequence[str], size: int = NBEST) -> list[list[Derivation]]:
        """Find the most likely derivations of each sentence.

        Args:
            sources: sentences.
            size: derivations of a sentence, at most; several may have the same text.

        Returns:
            the derivations of each sentence, best first; a sentence without words or without a
            translation has one empty derivation.

        Raises:
            UserError: the folder has no trained system, or sil-machine is not installed.
        """
        return self._nbest(sources, size, self.weights)

    def _nbest(self, sources, size, weights):
        self._model.weights = (weights * UNITS).tolist()
        from machine.translation.thot.thot_utils import load_smt_decoder

        decoder = load_smt_decoder(self._model, self._parameters())
        return [_derivations(decoder, source, size) for source in sources]

    def table(self) -> Iterator[str]:
        """Yield the lines of a Moses phrase table: ``source ||| target ||| p(s|t) lex(s|t)
        p(t|s) lex(t|s) ||| alignment ||| counts``.

        Probabilities are relative frequencies; the counts are those of target, source and pair.
        lex(t|s) is the product over the target words of the mean p(word | source word) over the
        source words aligned to it (Koehn et al. 2003, §3.4). Its probabilities and links, which
        are symmetrized, are fast_align's.
        """
        lexicon = _Lexicon(self._model)
        rows = list(_read_thot_table(self._phrases))
        source_counts: dict[str, float] = {}
        for source, _, _, joint in rows:
            source_counts[source] = source_counts.get(source, 0.0) + joint
        for start in range(0, len(rows), PAIRS_AT_ONCE):
            block = rows[start : start + PAIRS_AT_ONCE]
            for (source, target, count, joint), links in zip(block, lexicon.links(block)):
                backward, forward = lexicon.weights(source.split(), target.split(), links)
                scores = " ".join(
                    f"{max(value, SMALLEST):.6g}"
                    for value in (joint / count, backward, joint / source_counts[source], forward)
                )
                points = " ".join(f"{j}-{i}" for j, i in links)
                yield (
                    f"{source} ||| {target} ||| {scores} ||| {points} ||| {count:g}"
                    f" {source_counts[source]:g} {joint:g}\n"
                )

    @property
    def _phrases(self) -> pathlib.Path:
        """thot's table of phrase pairs."""
        return self.folder / "translation" / "system.ttable"

    def _parameters(self):
        from machine.translation.thot import ThotSmtParameters

        parameters = ThotSmtParameters()
        parameters.translation_model_filename_prefix = str(self.folder / "translation" / "system")
        parameters.language_model_filename_prefix = str(self.folder / "language" / "system")
        parameters.model_non_monotonicity = SKIPPED
        return parameters

    @functools.cached_property
    def _model(self):
        """thot's model; reading a table of a million pairs takes 15 seconds."""
        if not self._phrases.exists():
            raise UserError(
                f"{self.folder}: expected a folder that PhraseBased.train wrote, got none with"
                " translation/system.ttable; check the path, or train the system first"
            )
        require("a phrase-based system", *THOT)
        from machine.translation.thot import ThotWordAlignmentModelType
        from machine.translation.thot.thot_utils import load_smt_model

        return load_smt_model(ThotWordAlignmentModelType.FAST_ALIGN, self._parameters())


class _Lexicon:
    """Word translation probabilities and links in both directions."""

    def __init__(self, model: Any) -> None:
        from thot.alignment import SymmetrizationHeuristic, SymmetrizedAligner

        self._forward = model.direct_word_alignment_model
        self._backward = model.inverse_word_alignment_model
        self._aligner = SymmetrizedAligner(self._forward, self._backward)
        self._aligner.heuristic = SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
        self._known: dict[tuple[bool, str | None, str], float] = {}

    def links(self, rows: Sequence[tuple[Any, ...]]) -> Iterator[list[tuple[int, int]]]:
        """Yield the links of each pair: (source position, target position)."""
        found = self._aligner.get_best_alignments(
            [row[0].split() for row in rows], [row[1].split() for row in rows]
        )
        for _, matrix in found:
            yield [(int(j), int(i)) for j, i in zip(*np.nonzero(matrix.to_numpy()))]

    def weights(
        self, source: list[str], target: list[str], links: list[tuple[int, int]]
    ) -> tuple[float, float]:
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


def _derivations(decoder, source, size) -> list:
    tokens = " ".join(source.split())  # as _write_tokens separates those of the training text
    found = decoder.translate_n(tokens, size) if tokens else []
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


def _write_tokens(file, path) -> int:
    """Write the tokens of each line to a new file, separated by single spaces; return the number of
    lines. sil-machine would take what is before a tab for the key of a row.

    Raises:
        UserError: a line is not UTF-8, or has the token ``|||``, which separates the fields of
            thot's tables and of Moses's; the file cannot be read.
    """
    number = 0
    with NamedFile(path) as copy:
        for number, line in enumerate(read_lines(file), start=1):
            tokens = line.split()
            if "|||" in tokens:
                raise UserError(
                    f"{file}:{number}: expected tokens, got |||, which separates the fields of a"
                    " phrase table; write it as | | |"
                )
            copy.write(f"{' '.join(tokens)}\n".encode())
    return number


def _read_weights(path) -> list[float]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [float(found[name]) for name in FEATURES]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: expected the {len(FEATURES)} weights that tune wrote, got a damaged file"
            f" ({one_line(error)}); delete it and tune again"
        ) from None


def _read_thot_table(path):
    """Yield (source, target, count of the target, count of the pair) of each line, ``target |||
    source ||| counts``.

    Phrases for no words have a count of 0, and are skipped.
    """
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            target, source, counts = line.rstrip("\n").split(" ||| ")
            count, joint = map(float, counts.split())
            if count > 0:
                yield source.strip(), target.strip(), count, joint


def _scaled(weights) -> np.ndarray:
    weights = np.asarray(weights, np.float64)
    return weights / np.abs(weights).sum()
