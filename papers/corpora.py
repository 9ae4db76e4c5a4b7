"""The texts of the small scale: Multi30k with its short sentences joined to long ones.

The papers train and test on sentences of up to 50 words and more; Multi30k's have 12. Captions that
follow each other are joined, so that lengths up to 60 words are there, with all of their
translations at hand. Every model of one comparison reads the same files.
"""

from __future__ import annotations

import itertools
import logging
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
LINKS = "train.links"
MOST_JOINED = 5
SEED = 1


class JoinedTexts:
    """The texts of the models of the small scale; those that are joined are written when they are
    first asked for.

    Args:
        folder: DIR of the experiment.
        data: DATA, folder of the corpora.
    """

    test_name = "the joined test captions"

    def __init__(self, folder, data):
        self.folder = pathlib.Path(folder) / "texts"
        self.data = data

    def corpora(self) -> list:
        """The files that everything here is made of."""
        return [path for part in FILES for path in _multi30k_files(self.data, part)]

    @property
    def single_sentences(self) -> int:
        """How many sentences of the test text are one caption; they stand first."""
        return len(read_multi30k(self.data, "test")[0])

    def settings(self, recipe, prepared: bool) -> list:
        """The settings that name a model's texts, as ``section.key=value``; there are no prepared
        ones.
        """
        if recipe.corpus == "captions":
            return [f"data.folder={pathlib.Path(self.data).resolve() / 'multi30k'}"]
        if recipe.corpus == "phrasebook":
            return []
        if recipe.corpus == "phrases":
            return [f"data.folder={(self.folder.parent / 'phrase-based').resolve()}"]
        parts = ("train", "development")
        sides = zip(("source", "target"), LANGUAGES)
        files = [
            f"data.{part}_{side}={part}.{language}" for side, language in sides for part in parts
        ]
        return [f"data.folder={self._up_to(recipe.longest).resolve()}", *files]

    def guided_settings(self, recipe) -> list:
        """The settings of guided alignment; the links of joined texts are written now if they are
        not there.
        """
        settings = [f"training.guided_alignment_weight={recipe.guided}"]
        if recipe.corpus == "phrasebook":
            return settings
        folder = self._up_to(recipe.longest)
        if not (folder / LINKS).exists():
            log.warning("aligning the words of %s by fast_align: some minutes", folder)
            config = load_config(shipped_config(recipe.configuration), overrides=recipe.changes)
            write_links(folder, config.source, config.target)
        return [*settings, f"data.train_alignments={LINKS}"]

    def test(self) -> tuple:
        """(file of the sources, file of the references)."""
        return tuple(self._up_to(50) / f"test.{language}" for language in LANGUAGES)

    def steps_left(self, configs) -> list:
        """No file is made by steps."""
        return []

    def _up_to(self, longest) -> pathlib.Path:
        """The folder of the joined texts, written now if missing; only the training part
        has a longest sentence.
        """
        folder = self.folder / f"up-to-{longest}"
        if not folder.exists():
            with new_folder(folder) as partial:
                write_joined(self.data, partial, longest)
        return folder


def joined(pairs, sizes: Iterator[int]) -> Iterator[tuple[str, str]]:
    """Pairs made of so many pairs that follow each other; what is left over at the end is left out.

    Args:
        pairs: list of (source, target).
        sizes: how many pairs each new one is made of.

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
    """Write the joined texts: train (once in groups of one to four, in random order of sizes, twice
    over), development, test.

    Args:
        data: folder with ``multi30k/train.en.gz``, ``train.fr.gz``, ``val`` and
            ``test_2016_flickr`` of both languages.
        folder: where ``train.en`` and so on are written.
        longest: words a side of a training pair may have.

    Raises:
        UserError: a file of the corpus is missing.
    """
    sizes = {
        "train": [_random_sizes(SEED), _random_sizes(SEED + 1)],
        "development": [_random_sizes(SEED)],
        "test": map(
            itertools.repeat, range(1, MOST_JOINED + 1)
        ),  # the whole text in ones, then in twos, up to fives: it has every length
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


def write_links(folder, source: TextConfig, target: TextConfig) -> None:
    """Write train.links: fast_align's links of the training text's words, as both sides cut them.

    Args:
        folder: with ``train.en`` and ``train.fr``; the links are written there.
        source, target: options of the sides.

    Raises:
        UserError: the package of the aligners is missing.
    """
    from rnnsearch_tf.alignment.links import as_pharaoh
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


def _multi30k_files(data, part):
    return [
        pathlib.Path(data) / "multi30k" / f"{FILES[part]}.{language}.gz" for language in LANGUAGES
    ]


def _random_sizes(seed):
    """One to four pairs together, without end."""
    generator = random.Random(seed)
    return iter(lambda: generator.randint(1, MOST_JOINED - 1), None)
