"""The texts of the paper's scale: WMT'14 English–French, from the downloads to ids.

::

    DATA/wmt14/training-….tgz                     the five corpora from statmt.org
    DATA/wmt14/newstest2012.en, .fr, …            the test sets of 2012, 2013 and 2014
    DATA/wmt14/newstest2012-2013.en.gz, .fr.gz    the development text
    DATA/wmt14/all.en.gz, all.fr.gz               the five corpora joined
    DATA/wmt14/train.en.gz, train.fr.gz           training text: the part most similar to news
    DIR/ids/up-to-30, up-to-50                    vocabularies and ids, as ``rnnsearch prepare``
                                                  writes them

Sizes and checksums of the archives are from TensorFlow Datasets, numbers of lines from Lingvo.
"""

from __future__ import annotations

import functools
import pathlib

from rnnsearch_tf.errors import UserError
from papers.corpora import LANGUAGES
from papers.downloads import Archive, NotDownloaded, TestSet, join_archives, join_test_sets
from papers.steps import Step, steps_left


def _both(name):
    return tuple(f"{name}.{language}" for language in LANGUAGES)


ARCHIVES = [
    Archive(
        "http://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz",
        657_632_379,
        "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
        _both("training/europarl-v7.fr-en"),
        2_007_723,
    ),
    Archive(
        "http://www.statmt.org/wmt14/training-parallel-nc-v9.tgz",
        80_418_416,
        "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
        _both("training/news-commentary-v9.fr-en"),
        183_251,
    ),
    Archive(
        "http://www.statmt.org/wmt13/training-parallel-un.tgz",
        2_365_634_246,
        "29141b5c1eba149a94f7a59d3b1a834b2e47fe0f8758d68dcd77a3d3f497ee47",
        _both("un/undoc.2000.fr-en"),
        12_886_831,
    ),
    Archive(
        "http://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz",
        918_311_367,
        "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
        _both("commoncrawl.fr-en"),
        3_244_152,
    ),
    Archive(
        "http://www.statmt.org/wmt10/training-giga-fren.tar",
        2_595_102_720,
        "3ff8319f6919393520559bfbc7ad6a747ec81b3abc7be9993b338d4b017b4d9a",
        tuple(f"giga-fren.release2.fixed.{language}.gz" for language in LANGUAGES),
        22_520_376,
    ),
]
"""Section 4.1: Europarl, news commentary, UN, and two crawled corpora. Of the last one, 10^9, the
paper used 272.5 million French words that others had selected before; here the selection uses all
of it.
"""

DEVELOPMENT = [TestSet("newstest2012", "wmt12", 3003), TestSet("newstest2013", "wmt13", 3000)]
TEST = TestSet("newstest2014", "wmt14", 3003)

TARGET_WORDS = 348_000_000
"""Section 4.1: number of French words to select, as Moses tokens."""

SELECTION_ORDER = 4
"""Order of the n-gram models: Axelrod et al. (2011) used 4."""

SELECTED_PAIRS = 12_000_000
"""Approximate number; from Sutskever et al. (2014), Section 3.1, for the same selection."""

TEXT_BYTES = 125
ID_BYTES = 130
"""Approximate size of a pair on disk: both sides as .gz, and as ids."""

DOWNLOADED = 10e6
JOINED = 25_000
SELECTED = 850
PREPARED = 8_500
"""Approximate rates a second, for estimates of time: bytes of a download; pairs that one core
joins, selects from, prepares.
"""


class Wmt14Texts:
    """The texts of the models, and the steps that make them.

    Args:
        folder: DIR of the experiment.
        data: DATA, folder of the corpora.

    Attributes:
        all: paths of the joined archives, English and French.
        train: paths of the training text, which is a part of them.
        development: paths of the development text.
    """

    single_sentences = None
    units = None
    test_name = "newstest2014"
    joined, trained = "all", "train"

    def __init__(self, folder, data):
        self.ids, self.folder = pathlib.Path(folder) / "ids", pathlib.Path(data) / "wmt14"
        self.all, self.train, self.development = (
            tuple(self.folder / f"{name}.{language}.gz" for language in LANGUAGES)
            for name in (self.joined, self.trained, "newstest2012-2013")
        )

    @property
    def archives(self) -> list:
        """The Archives of the training text."""
        return ARCHIVES

    @property
    def pairs(self) -> int:
        """Number of pairs in the archives."""
        return sum(archive.pairs for archive in self.archives)

    @property
    def training_pairs(self) -> int:
        """Approximate number of pairs in the training text."""
        return SELECTED_PAIRS

    def corpora(self) -> dict:
        """Nothing: downloads have known checksums, and files made from them are in their
        folder.
        """
        return {}

    def settings(self, recipe, prepared: bool) -> list:
        """The settings that name a model's texts, as ``section.key=value``: the prepared ids, or
        the text that they are made from.
        """
        # the shipped configuration has the names of the development files
        settings = [f"data.folder={self.folder.resolve()}"]
        if not prepared:
            source, target = self.train
            return [
                *settings,
                f"data.train_source={source.name}",
                f"data.train_target={target.name}",
            ]
        return [
            *settings,
            f"data.prepared={self._ids(recipe.longest).resolve()}",
            "data.train_source=null",
            "data.train_target=null",
        ]

    def test(self) -> tuple:
        """(file of the sources, file of the references)."""
        return TEST.paths(self.folder)

    def steps_left(self, configs) -> list:
        """The remaining steps before models can be trained and measured.

        Args:
            configs: {longest: Config of the text to prepare}.

        Raises:
            UserError: a file placed by hand has the wrong size; raised before the work.
        """
        for archive in self.archives:
            if archive.paths(self.folder)[0].exists():
                archive.check(self.folder, sum_too=False)
        for test_set in (*DEVELOPMENT, TEST):
            if all(path.exists() for path in test_set.paths(self.folder)):
                test_set.check(self.folder)
        return steps_left(
            self._steps(configs),
            [*self.train, *self.development, *self.test(), *map(self._ids, configs)],
        )

    def _steps(self, configs) -> list:
        downloads = [
            self._download(archive, archive.size, f"{archive.name} from {archive.url}")
            for archive in self.archives
        ]
        downloads += [
            self._download(each, 2e6, f"{each.name}: {' '.join(each.command('src'))}")
            for each in (*DEVELOPMENT, TEST)
        ]
        archives = tuple(path for archive in self.archives for path in archive.paths(self.folder))
        known = tuple(path for each in DEVELOPMENT for path in each.paths(self.folder))
        return [
            *downloads,
            Step(
                "join the test sets of 2012 and 2013 to a development text",
                self.development,
                lambda: join_test_sets(DEVELOPMENT, self.folder, self.development),
                known,
            ),
            Step(
                f"check the archives and join their texts: {self.pairs:,} pairs",
                self.all,
                lambda: join_archives(self.archives, self.folder, self.all),
                archives,
                self.pairs * TEXT_BYTES / 1e9,
                self.pairs / JOINED / 60,
            ),
            *self._selection(),
            *(
                Step(
                    f"tokenize, count the words, write the ids of sentences up to {longest} words",
                    (self._ids(longest),),
                    functools.partial(self._prepare, config, longest),
                    self.train,
                    self.training_pairs * ID_BYTES / 1e9,
                    self.training_pairs / PREPARED / 60,
                )
                for longest, config in configs.items()
            ),
        ]

    def _selection(self) -> list:
        """The step that makes the training text of the joined archives."""
        return [
            Step(
                f"select {TARGET_WORDS:,} French words that look like news",
                self.train,
                self._select,
                (*self.all, *self.development),
                self.training_pairs * TEXT_BYTES / 1e9,
                self.pairs / SELECTED / 60,
            )
        ]

    def _ids(self, longest):
        return self.ids / f"up-to-{longest}"

    def _download(self, what, size, description) -> Step:
        paths = what.paths(self.folder)
        fetch = functools.partial(self._fetch, what)
        return Step(
            f"download {description}",
            paths,
            fetch,
            gigabytes=size / 1e9,
            minutes=size / DOWNLOADED / 60,
        )

    def _fetch(self, what):
        try:
            what.fetch(self.folder)
        except NotDownloaded as error:
            everything = [
                path
                for each in (*self.archives, *DEVELOPMENT, TEST)
                for path in each.paths(self.folder)
            ]
            missing = ", ".join(path.name for path in everything if not path.exists())
            raise UserError(
                f"{what.paths(self.folder)[0]}: expected a file that can be downloaded, got:"
                f" {error}. To continue, place the missing files in {self.folder} by hand and run"
                f" the command again: {missing}; docs/guides/reproduce.md has their addresses"
            ) from None

    def _select(self):
        from rnnsearch_tf.config import TextConfig
        from rnnsearch_tf.data.inspection.selection import select, write_kept

        configs = [
            TextConfig(language=language, tokenization="moses", lowercase=True)
            for language in LANGUAGES
        ]
        selection = select(
            self.development, self.all, 1.0, configs, SELECTION_ORDER, target_words=TARGET_WORDS
        )
        write_kept(self.all, selection.kept, self.train)

    def _prepare(self, config, longest):
        from rnnsearch_tf.data.prepared.writing import prepare

        prepare(config, self._ids(longest))
