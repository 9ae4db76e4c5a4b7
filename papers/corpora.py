"""The texts of the small scale: Multi30k with its short sentences joined to long ones.

The papers train and test on sentences of up to 50 words and more; Multi30k's have 12 on average.
Captions that follow each other are joined, which gives lengths up to 60 words with their
translations. All models of one comparison read the same files.
"""

from __future__ import annotations

import itertools
import logging
import math
import pathlib
import random
from collections.abc import Iterator

from rnnsearch_tf.config import SPECIAL_TOKENS, TextConfig, load_config, shipped_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import new_folder, write_file
from rnnsearch_tf.files.reading import read_all

log = logging.getLogger("rnnsearch_tf")

LANGUAGES = "en", "fr"
FILES = {"train": "train", "development": "val", "test": "test_2016_flickr"}
DOCUMENTS = "python-docs"
"""Folder of paragraphs of Python's documentation."""

TATOEBA = "tatoeba"
"""Folder of everyday sentences."""

DEVELOPMENT_PAIRS = 500
"""Pairs of Tatoeba's val that are the development text; the others are the test text."""

LINKS = "train.links"
MOST_JOINED = 5
SEED = 1


class JoinedTexts:
    """The texts of the models of the small scale; joined texts are written when first needed.

    Args:
        folder: DIR of the experiment.
        data: DATA, folder of the corpora.
    """

    test_name = "the joined test captions"

    def __init__(self, folder, data):
        self.folder = pathlib.Path(folder) / "texts"
        self.data = data

    def corpora(self) -> dict:
        """{name: path} of the files of the corpora."""
        captions = [path for part in FILES for path in _multi30k_files(self.data, part)]
        others = [
            path
            for corpus in (DOCUMENTS, TATOEBA)
            for part in ("train", "val")
            for path in _corpus_files(self.data, corpus, part)
        ]
        return {path.name: path for path in captions} | {
            f"{path.parent.name}/{path.name}": path for path in others
        }

    @property
    def single_sentences(self) -> int:
        """Number of sentences of the test text that are one caption; they come first."""
        return len(read_multi30k(self.data, "test")[0])

    @property
    def units(self) -> list:
        """The unit of each sentence of the test text that is resampled as a whole: a block of
        captions, so many that no sentence joins captions of two blocks.
        """
        block = math.lcm(*range(1, MOST_JOINED + 1))
        captions = self.single_sentences
        return [
            start // block
            for size in range(1, MOST_JOINED + 1)
            for start in range(0, captions - size + 1, size)
        ]

    def settings(self, recipe, prepared: bool) -> list:
        """Settings that name a model's texts, as ``section.key=value``; `prepared` is ignored."""
        if recipe.corpus == "captions":
            return [f"data.folder={pathlib.Path(self.data).resolve() / 'multi30k'}"]
        if recipe.corpus == "phrasebook":
            return []
        if recipe.corpus == "phrases":
            return [f"data.folder={self.phrases.resolve()}"]
        if recipe.corpus == "documents":
            folder = self.documents
        elif recipe.corpus == "tatoeba":
            folder = self.tatoeba(recipe.pairs)
        else:
            folder = self._up_to(recipe.longest)
        parts = ("train", "development")
        sides = zip(("source", "target"), LANGUAGES)
        files = [
            f"data.{part}_{side}={part}.{language}" for side, language in sides for part in parts
        ]
        return [f"data.folder={folder.resolve()}", *files]

    def guided_settings(self, recipe) -> list:
        """Settings of guided alignment; writes the links of joined texts if they are missing."""
        settings = [f"training.guided_alignment_weight={recipe.guided}"]
        if recipe.corpus == "phrasebook":
            return settings
        folder = self._up_to(recipe.longest)
        if not (folder / LINKS).exists():
            log.warning("aligning the words of %s with fast_align; this takes minutes", folder)
            config = load_config(shipped_config(recipe.configuration), overrides=recipe.changes)
            write_links(folder, config.source, config.target)
        return [*settings, f"data.train_alignments={LINKS}"]

    def test(self) -> tuple:
        """(file of the sources, file of the references)."""
        return tuple(self._up_to(50) / f"test.{language}" for language in LANGUAGES)

    def steps_left(self, configs) -> list:
        """An empty list: no file of this scale is made in steps."""
        return []

    @property
    def documents(self) -> pathlib.Path:
        """The folder of the paragraphs, written if missing: see documents.write_paragraphs."""
        from papers.documents import write_paragraphs

        folder = self.folder / "documents"
        if not folder.exists():
            with new_folder(folder) as partial:
                write_paragraphs(self.data, partial)
        return folder

    def tatoeba(self, pairs: int) -> pathlib.Path:
        """The folder of a sample of Tatoeba, written if missing: see write_sample."""
        folder = self.folder / f"tatoeba-{pairs}"
        if not folder.exists():
            with new_folder(folder) as partial:
                write_sample(self.data, partial, pairs)
        return folder

    @property
    def phrases(self) -> pathlib.Path:
        """The folder of the phrase scorer's text, see phrase_based.write_phrases."""
        return self.folder / "phrases"

    def _up_to(self, longest) -> pathlib.Path:
        """The folder of the joined texts, written if missing; only training text is limited in
        length.
        """
        folder = self.folder / f"up-to-{longest}"
        if not folder.exists():
            with new_folder(folder) as partial:
                write_joined(self.data, partial, longest)
        return folder


def joined(pairs, sizes: Iterator[int]) -> Iterator[tuple[str, str]]:
    """Join neighbouring pairs to longer ones; an incomplete group at the end is left out.

    Args:
        pairs: list of (source, target).
        sizes: number of pairs in each joined pair.

    Example:
        >>> list(joined([("a", "x"), ("b", "y"), ("c", "z")], iter([2, 1, 1])))
        [('a b', 'x y'), ('c', 'z')]
    """
    start = 0
    for size in sizes:
        group = pairs[start : start + size]
        if len(group) < size:
            return
        yield tuple(" ".join(side) for side in zip(*group))
        start += size


def write_joined(data, folder, longest: int) -> None:
    """Write the joined texts: train (twice, each time in groups of one to four pairs of random
    size), development, test.

    Args:
        data: folder with ``multi30k/train.en.gz``, ``train.fr.gz``, ``val`` and
            ``test_2016_flickr`` of both languages.
        folder: folder to write ``train.en`` and so on to.
        longest: maximum number of words on a side of a training pair.

    Raises:
        UserError: a file of the corpus is missing.
    """
    sizes = {
        "train": [_random_sizes(SEED), _random_sizes(SEED + 1)],
        "development": [_random_sizes(SEED)],
        # the whole text in ones, then in twos, up to fives, so that it has all lengths
        "test": map(itertools.repeat, range(1, MOST_JOINED + 1)),
    }
    for part, readings in sizes.items():
        pairs = list(zip(*read_multi30k(data, part)))
        made = [pair for each in readings for pair in joined(pairs, each)]
        if part == "train":
            made = [pair for pair in made if max(len(side.split()) for side in pair) <= longest]
        for language, lines in zip(LANGUAGES, zip(*made)):
            write_file(
                pathlib.Path(folder) / f"{part}.{language}", "".join(f"{line}\n" for line in lines)
            )


def write_sample(data, folder, pairs: int) -> None:
    """Write a sample of Tatoeba: so many pairs of train, and val as development and test.

    Raises:
        UserError: a file of the corpus is missing, or has too few pairs.
    """
    train, val = (list(zip(*read_corpus(data, TATOEBA, part))) for part in ("train", "val"))
    if len(train) < pairs:
        raise UserError(
            f"expected {pairs:,} pairs in {pathlib.Path(data) / TATOEBA}/train, got"
            f" {len(train):,}; name the folder of the whole corpus with --data"
        )
    texts = {
        "train": random.Random(SEED).sample(train, pairs),
        "development": val[:DEVELOPMENT_PAIRS],
        "test": val[DEVELOPMENT_PAIRS:],
    }
    for part, chosen in texts.items():
        for language, lines in zip(LANGUAGES, zip(*chosen)):
            write_file(
                pathlib.Path(folder) / f"{part}.{language}", "".join(f"{line}\n" for line in lines)
            )


def write_links(folder, source: TextConfig, target: TextConfig) -> None:
    """Write train.links: fast_align's links of the training text's words, tokenized as configured.

    Args:
        folder: has ``train.en`` and ``train.fr``; the links are written to it.
        source, target: options of the sides.

    Raises:
        UserError: the package of the aligners is missing.
    """
    from rnnsearch_tf.alignment.pharaoh import as_pharaoh
    from rnnsearch_tf.evaluation.words import tokenized
    from rnnsearch_tf.alignment.aligners import align
    from rnnsearch_tf.text.pipeline import Text
    from rnnsearch_tf.text.vocabulary import Vocabulary

    sides = []
    for language, config in zip(LANGUAGES, (source, target)):
        lines = read_all(pathlib.Path(folder) / f"train.{language}")
        sides.append(tokenized(Text(config, Vocabulary([*SPECIAL_TOKENS, "any"])), lines))
    links = align("fast_align", sides, sides)
    write_file(pathlib.Path(folder) / LINKS, "".join(f"{as_pharaoh(each)}\n" for each in links))


def read_multi30k(data, part: str) -> tuple:
    """(English lines, French lines) of ``train``, ``development`` or ``test``, a list[str] each."""
    paths = _multi30k_files(data, part)
    if missing := [str(path) for path in paths if not path.exists()]:
        raise UserError(
            f"expected Multi30k under {data}, got no {' and no '.join(missing)}; name the folder"
            " that has multi30k/ with --data"
        )
    return tuple(map(read_all, paths))


def read_corpus(data, corpus: str, part: str) -> tuple:
    """(English lines, French lines) of ``train`` or ``val`` of DOCUMENTS or TATOEBA, a list[str]
    each.
    """
    paths = _corpus_files(data, corpus, part)
    if missing := [str(path) for path in paths if not path.exists()]:
        raise UserError(
            f"expected the corpus {corpus} under {data}, got no {' and no '.join(missing)};"
            f" name the folder that has {corpus}/ with --data"
        )
    return tuple(map(read_all, paths))


def _corpus_files(data, corpus, part):
    return [pathlib.Path(data) / corpus / f"{part}.{language}.gz" for language in LANGUAGES]


def _multi30k_files(data, part):
    return [
        pathlib.Path(data) / "multi30k" / f"{FILES[part]}.{language}.gz" for language in LANGUAGES
    ]


def _random_sizes(seed):
    """An endless iterator of random sizes, one to four."""
    generator = random.Random(seed)
    return iter(lambda: generator.randint(1, MOST_JOINED - 1), None)
