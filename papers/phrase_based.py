"""The phrase-based systems of the small scale, trained once on Multi30k's captions as lower-cased
Moses tokens: on all of them, and on a tenth.

::

    DIR/phrase-based/texts/train.en …                train, development and test, English and French
    DIR/phrase-based/model/                          sil-thot's files, and weights.json
    DIR/phrase-based/nbest.development, nbest.test   in Moses's format, with the phrases after
                                                     the score
    DIR/phrase-based/phrase-table.gz                 in Moses's format
    DIR/phrase-based-every-10/                       the same of every tenth caption, but for the
                                                     language model, which is that of all
"""

from __future__ import annotations

import gzip
import logging
import pathlib
import random
import shutil
import typing

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.optional import THOT, require
from rnnsearch_tf.files.atomic import new_folder, write_file
from rnnsearch_tf.files.reading import read_all, read_raw
from rnnsearch_tf.files.writing import whole_file
from papers.corpora import FILES, LANGUAGES, read_multi30k
from papers.resampling import counts_of
from rnnsearch_tf.extras.moses.phrase_based import SKIPPED, PhraseBased
from rnnsearch_tf.runs.folder import digest_of

log = logging.getLogger("rnnsearch_tf")

TABLE = "phrase-table.gz"
MODEL = "model"
LANGUAGE_MODEL = "language"
PARTS = "development", "test"
MADE = TABLE, *(f"nbest.{part}" for part in PARTS)
"""The files that the items read; the system is complete if they exist."""

NAME = "phrase-based"
"""The system in tables, pictures and names of files."""

SEARCH = (
    f"its search leaves out at most {SKIPPED} words to translate them later, at a cost that does"
    " not depend on the phrases"
)
WEAKER = (
    f"A phrase-based system here is weaker than the papers': {SEARCH}, its language model is of"
    " trigrams, and both were learned from captions alone."
)
WEAKER_OF_ONE_TEXT = (
    f"The phrase-based system is weaker than the papers': {SEARCH}, and its language model is of"
    " trigrams of the same training text."
)
"""For the pages that show one."""

MISSING = (
    "The phrase-based system is missing, since it was not measured; it needs pip install"
    ' "rnnsearch-tf[smt]".'
)
"""For the pages that would show one."""

DEVELOPMENT_PAIRS = 2000
"""Phrase pairs that decide when the training of the phrase scorer stops."""

SEED = 1

MINUTES = 15
"""Approximate training time on one core."""


def made_in(folder, data, every: int = 1, whole=None) -> pathlib.Path:
    """Create the missing files of a system; returns its folder.

    Args:
        folder: as DIR/phrase-based.
        data: folder of the corpora.
        every: n trains on every n-th caption.
        whole: folder of the system whose language model it takes; None: its own.

    Raises:
        UserError: a file is missing, and sil-machine is not installed, or the corpus or that
            language model is missing.
    """
    folder, lacking = pathlib.Path(folder), missing(folder)
    if lacking:
        check(folder, data)
        if whole is not None:
            _check_language_model(whole / MODEL)
        log.warning("the phrase-based system: about %d minutes of one core", MINUTES)
        system = _trained(folder, lambda part: _captions(data, part, every), whole)
        for part in PARTS:
            if f"nbest.{part}" in lacking:
                _write_nbest(folder, part, system)
        if TABLE in lacking:
            with whole_file(folder / TABLE) as output:
                output.writelines(line.encode("utf-8") for line in system.table())
    return folder


def tuned(folder, read) -> PhraseBased:
    """The tuned system in a folder; trained and tuned if it is missing.

    Args:
        folder: as DIR/phrase-based, without n-best lists and phrase table.
        read: function of ``train``, ``development`` or ``test``; returns (source, target), two
            lists of lines.
    """
    folder = pathlib.Path(folder)
    system = _trained(folder, read)
    if not system.is_tuned:
        system.tune(*(text(folder, "development", language) for language in LANGUAGES))
    return system


def translated_test_text(folder, read) -> dict:
    """{"tokens", "counts": see resampling.counts_of} of the test text, translated by the tuned
    system; arguments as for :func:`tuned`.
    """
    tuned(folder, read)
    sources, references = (text(folder, "test", language) for language in LANGUAGES)
    tokens = translated(folder, sources)
    return {"tokens": tokens, "counts": counts_of(tokens, references)}


def missing(folder) -> list:
    """Names of the missing files."""
    return [name for name in MADE if not (pathlib.Path(folder) / name).exists()]


def digests(folder) -> dict:
    """{name: SHA-256} of the files that the items read; of a compressed file that of its content,
    since machines compress the same content to other bytes.
    """
    return {
        name: digest_of(pathlib.Path(folder) / name, gzip.open if name.endswith(".gz") else open)
        for name in MADE
    }


def check(folder, data) -> None:
    """Raise the errors of :func:`made_in` before the work."""
    if missing(folder):
        require("a phrase-based system", *THOT)
        for part in FILES:
            read_multi30k(data, part)


class Row(typing.NamedTuple):
    """A phrase pair of the table: both phrases, p(target | source) as a relative frequency, and the
    count of the source phrase.
    """

    source: str
    target: str
    probability: float
    count: float


def rows(folder):
    """Yield a Row for each line of the phrase table."""
    from rnnsearch_tf.data.phrase_table import SCORES, read_table
    from rnnsearch_tf.text.escapes import unescape_bytes

    for pair in read_table(pathlib.Path(folder) / TABLE):
        source, target = (
            unescape_bytes(phrase).decode("utf-8", "replace") for phrase in pair.phrases
        )
        yield Row(
            source,
            target,
            float(pair.fields[SCORES].split()[2]),
            float(pair.fields[SCORES + 2].split()[1]),
        )


def write_phrases(system, folder) -> None:
    """Write the phrase pairs of the table in random order, if missing: DEVELOPMENT_PAIRS of them to
    ``development.en`` and ``development.fr``, the others to a table.

    Both are of the same captions: a phrase of the development text may have other translations in
    the table, and share words with phrases around it.

    Args:
        system: folder of the system, see made_in.
        folder: folder to write to.
    """
    from rnnsearch_tf.data.phrase_table import parse_pair
    from rnnsearch_tf.text.escapes import unescape_bytes

    if folder.exists():
        return
    lines = list(read_raw(system / TABLE))
    random.Random(SEED).shuffle(lines)
    development = [parse_pair(line).phrases for line in lines[:DEVELOPMENT_PAIRS]]
    with new_folder(folder) as partial:
        for language, phrases in zip(LANGUAGES, zip(*development)):
            text = b"".join(unescape_bytes(phrase) + b"\n" for phrase in phrases)
            write_file(partial / f"development.{language}", text)
        with whole_file(partial / TABLE) as output:
            output.writelines(line + b"\n" for line in lines[DEVELOPMENT_PAIRS:])


def text(folder, part, language) -> list:
    """Lines of ``train``, ``development`` or ``test`` as tokens separated by spaces."""
    return read_all(pathlib.Path(folder) / "texts" / f"{part}.{language}")


def translated(folder, sources) -> list:
    """Translate text; sources and results are list[str] of tokens separated by spaces."""
    return [
        entries[0].text for entries in PhraseBased(pathlib.Path(folder) / MODEL).nbest(sources, 1)
    ]


def tokens(lines, language) -> list:
    """Lines as lower-cased Moses tokens separated by spaces; list[str]."""
    import tensorflow as tf

    from rnnsearch_tf.text.casing import lower
    from rnnsearch_tf.text.moses import tokenize
    from rnnsearch_tf.text.pipeline import clean, normalize

    rows = tokenize(clean(normalize(tf.constant(lines, tf.string))), language)
    joined = lower(tf.strings.reduce_join(rows, axis=1, separator=" "))
    return [line.decode("utf-8") for line in joined.numpy()]


def bleu(texts, references) -> float:
    """BLEU of tokens, in percent."""
    from rnnsearch_tf.evaluation.bleu import bleu as of_corpus

    return of_corpus(texts, references, tokenize="none").score


def _trained(folder, read, whole=None) -> PhraseBased:
    """Train the system if it is missing; it may still be untuned. Arguments as for tuned and
    made_in.
    """
    if not (folder / "texts").exists():
        with new_folder(folder / "texts") as partial:
            for part in FILES:
                for language, lines in zip(LANGUAGES, read(part)):
                    write_file(
                        partial / f"{part}.{language}",
                        "".join(f"{line}\n" for line in tokens(lines, language)),
                    )
    if not (folder / MODEL).exists():
        with new_folder(folder / MODEL) as partial:
            PhraseBased.train(
                partial, *(folder / "texts" / f"train.{language}" for language in LANGUAGES)
            )
            if whole is not None:
                shutil.rmtree(partial / LANGUAGE_MODEL)
                shutil.copytree(whole / MODEL / LANGUAGE_MODEL, partial / LANGUAGE_MODEL)
    return PhraseBased(folder / MODEL)


def _check_language_model(model):
    if not (model / LANGUAGE_MODEL).exists():
        raise UserError(
            f"{model / LANGUAGE_MODEL}: expected the language model of the phrase-based system of"
            f" all captions, got none; copy {model} from the machine that made that system, or"
            " choose another --output"
        )


def _captions(data, part, every):
    step = every if part == "train" else 1
    return [side[::step] for side in read_multi30k(data, part)]


def _write_nbest(folder, part, system):
    source, target = (text(folder, part, language) for language in LANGUAGES)
    lists = (
        system.tune(source, target)
        if part == "development" and not system.is_tuned
        else system.nbest(source)
    )
    lines = (
        each.nbest_line(sentence, system.weights)
        for sentence, entries in enumerate(lists)
        for each in entries
    )
    write_file(folder / f"nbest.{part}", "".join(lines))
