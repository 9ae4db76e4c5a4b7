"""The folder that reproducing works in: texts, models and measurements are each made once, and kept.

::

    DIR/texts/up-to-50/train.en …    the corpora, see corpora.py; train.links for guided alignment
    DIR/models/NAME-SEED/            a RUN for each model and seed
    DIR/measured/ITEM-….json         what was measured of them
    DIR/settings.json                what differs from the recipes in all of this
    DIR/ITEM.md, ITEM.json, ITEM-….png    the pages
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import logging
import pathlib
from collections.abc import Callable

from rnnsearch_tf.config import load_config, shipped_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import new_folder, write_file
from rnnsearch_tf.reproduce.corpora import LANGUAGES, LINKS, write_joined, write_links
from rnnsearch_tf.reproduce.recipes import MEMBER_SEEDS, RECIPES
from rnnsearch_tf.run import Run

log = logging.getLogger("rnnsearch_tf")


class Workspace:
    """What is there of an experiment, and how the rest is made.

    Args:
        folder: DIR, made if it is not there.
        data: folder of the corpora.
        seeds: list[int], of the models.
        overrides: list of ``section.key=value`` for every training, to try things out; the pages say so.
    """

    def __init__(self, folder, data, seeds=(1234,), overrides=()):
        self.folder, self.data = pathlib.Path(folder), data
        self.seeds, self.overrides = list(seeds), list(overrides)
        self._loaded = None, None

    def begin(self) -> None:
        """Write down the settings that differ from the recipes.

        Raises:
            UsageError: what is there was made with others, and would be shown as if it had been made with these.
        """
        path = self.folder / "settings.json"
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else self.overrides
        if before != self.overrides:
            shown = ["".join(f" --set {each}" for each in settings) or " no --set" for settings in (before, self.overrides)]
            raise UsageError(f"{self.folder}: expected{shown[0]}, with which it was begun, got{shown[1]}; choose another --output")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(self.overrides) + "\n")

    def config(self, name: str, seed: int, guided: bool = True):
        """The configuration of a model; without guided alignment no links are made for it."""
        recipe = RECIPES[name]
        changes = [*recipe.changes, *self._files(recipe), f"training.seed={seed + MEMBER_SEEDS * recipe.member}", *self.overrides]
        if recipe.guided and guided:
            changes += self._links(recipe)
        return load_config(shipped_config(recipe.configuration), overrides=changes)

    def _links(self, recipe):
        """The settings of guided alignment; the links of joined texts are written now if they are not there."""
        settings = [f"training.guided_alignment_weight={recipe.guided}"]
        if recipe.corpus == "phrasebook":
            return settings
        folder = self.texts(recipe.longest)
        if not (folder / LINKS).exists():
            log.warning("aligning the words of %s by fast_align: some minutes", folder)
            config = load_config(shipped_config(recipe.configuration), overrides=recipe.changes)
            write_links(folder, config.source, config.target)
        return [*settings, f"data.train_alignments={LINKS}"]

    def _files(self, recipe):
        """The settings that name a model's texts."""
        if recipe.corpus == "captions":
            return [f"data.folder={pathlib.Path(self.data).resolve() / 'multi30k'}"]
        if recipe.corpus == "phrasebook":
            return []
        parts, sides = ("train", "development"), zip(("source", "target"), LANGUAGES)
        files = [f"data.{part}_{side}={part}.{language}" for side, language in sides for part in parts]
        return [f"data.folder={self.texts(recipe.longest).resolve()}", *files]

    def texts(self, longest: int = 50) -> pathlib.Path:
        """The folder of the joined texts, written now if it is not there; only the training part has a longest sentence."""
        folder = self.folder / "texts" / f"up-to-{longest}"
        if not folder.exists():
            with new_folder(folder) as partial:
                write_joined(self.data, partial, longest)
        return folder

    def run(self, name: str, seed: int) -> Run:
        return Run(self.folder / "models" / f"{name}-{seed}")

    def is_trained(self, name: str, seed: int) -> bool:
        return self.run(name, seed).model_card.exists()  # the last thing that a training writes

    def untrained(self, names) -> list:
        """(name, seed) of the models that are to be trained or trained on, each once."""
        return [(name, seed) for name in dict.fromkeys(names) for seed in self._seeds_of(name) if not self.is_trained(name, seed)]

    def _seeds_of(self, name):
        return self.seeds[:1] if RECIPES[name].member else self.seeds

    @staticmethod
    def minutes(models) -> int:
        """Minutes of one core that the trainings of these (name, seed) take."""
        return sum(RECIPES[name].minutes for name, _ in models)

    def train(self, names) -> None:
        """Train what is not trained yet; a training that was stopped goes on."""
        from rnnsearch_tf.training.run import train

        for name, seed in self.untrained(names):
            run = self.run(name, seed)
            log.warning("%s, seed %d: about %d minutes of one core", name, seed, RECIPES[name].minutes)
            train(self.config(name, seed), run, resume=run.state.exists())

    def translator(self, name: str, seed: int):
        """The Translator of a model; the last one is kept."""
        from rnnsearch_tf.translation import Translator

        if self._loaded[0] != (name, seed):
            self._loaded = (name, seed), Translator.load(self.run(name, seed))
        return self._loaded[1]

    def measured(self, key: str, measure: Callable[[], object]):
        """What was measured under this name, measured now if it was not."""
        path = self.folder / "measured" / f"{key}.json"
        if not path.exists():
            found = measure()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        return json.loads(path.read_text(encoding="utf-8"))

    def made(self, item) -> dict:
        """How the pages say that they were made."""
        settings = "".join(f" --set {each}" for each in self.overrides)
        seeds = f" --seed {self.seeds[0]} --seeds {len(self.seeds)}"
        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("tensorflow", "keras", "sacrebleu"))
        return {"command": f"`rnnsearch reproduce {item} --data DATA{seeds}{settings}`", "versions": versions}

    def of_each_seed(self, key: str, name: str, measure: Callable) -> list:
        """[what ``measure(name, seed)`` gives] for every seed."""
        return [self.measured(f"{key}-{name}-{seed}", functools.partial(measure, name, seed)) for seed in self.seeds]
