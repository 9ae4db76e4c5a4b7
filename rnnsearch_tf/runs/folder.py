"""The RUN folder, which training writes and everything else reads.

::

    RUN/config.yaml              the effective configuration
    RUN/vocabulary.source.txt    one token a line, line number = id
    RUN/vocabulary.target.txt
    RUN/source.spm.model         the SentencePiece model of a side with subwords
    RUN/ids/                     the training text as ids
    RUN/development.jsonl        the sentences that evaluations use
    RUN/best/                    the weights with the best score on the development set; of a model
                                 that comes with the package, in eight bits
    RUN/evaluated/               the weights of the last evaluations, with training.average
    RUN/checkpoints/last.keras   for --resume: the model, its optimizer and the counters
    RUN/metrics.jsonl            one object every 100 batches, epoch or evaluation
    RUN/model_card.md            description and scores of the model
"""

from __future__ import annotations

import contextlib
import hashlib
import pathlib
import shlex
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rnnsearch_tf.errors import UsageError, UserError, did_you_mean, one_line
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import PARTIAL, make_folder, replacing

if TYPE_CHECKING:
    import keras

UNREADABLE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What reading a damaged file of weights raises; RuntimeError: that of h5py, too."""


def pretrained_models() -> dict[str, pathlib.Path]:
    """{name: RUN folder} of the trained models that come with the package, which
    ``benchmarks/pack_model.py`` made.
    """
    folders = pathlib.Path(__file__).parent.glob("shipped/*/config.yaml")
    return {path.parent.name: path.parent for path in sorted(folders)}


class Run:
    """A RUN folder: the paths of its files, reading and writing of weights.

    Args:
        path: the folder, which need not exist yet; or a Run.

    Its attributes are the paths of the files and folders above, which may not exist; `examples`,
    written by people, has sentences to try, one a line, which an export shows on the server's page.

    Example:
        >>> Run("runs/demo").vocabulary("source").as_posix()
        'runs/demo/vocabulary.source.txt'
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = pathlib.Path(path)
        self.config = self.path / "config.yaml"
        self.ids = self.path / "ids"
        self.development = self.path / "development.jsonl"
        self.best_weights = self.path / "best" / "model.weights.h5"
        self.eight_bit_weights = self.path / "best" / "model.weights.int8.npz"
        self.evaluated = self.path / "evaluated"
        self.checkpoints = self.path / "checkpoints"
        self.checkpoint = self.checkpoints / "last.keras"
        self.metrics = self.path / "metrics.jsonl"
        self.model_card = self.path / "model_card.md"
        self.examples = self.path / "examples.txt"

    @classmethod
    def open(cls, path: AnyPath) -> Run:
        """Open a complete RUN, or a model that comes with the package, by its name.

        Raises:
            UserError: the folder or a part that the model needs is missing; the message names it.
            UsageError: the name is nearly that of such a model.
        """
        run = cls(path)
        models = pretrained_models()
        if not run.path.is_dir() and str(path) in models:
            return cls(models[str(path)])
        expected = f"{run}: expected a folder with a model that `rnnsearch train` wrote, got"
        if not run.path.is_dir():
            close = did_you_mean(str(path), models)
            raise (UsageError if close else UserError)(
                f"{expected} {'a file' if run.path.exists() else 'nothing there'}; check the path,"
                f" or name a model that comes with the program: {', '.join(models)}"
                f"{close}"
            )
        texts = [run.vocabulary(side) for side in ("source", "target")]
        needed = [run.config, *texts, run.best_weights.parent]
        if missing := [path.name for path in needed if not path.exists()]:
            never = missing == ["best"]
            hint = "training has not evaluated the model yet" if never else "check the path"
            if run.checkpoint.exists():
                hint += f"; resume with: {run.resume_command}"
            raise UserError(f"{expected} one without {', '.join(missing)}; {hint}")
        return run

    def refuse_training(self) -> None:
        """Raise UsageError if a new training would overwrite a saved training, a model, or files
        that no training wrote.
        """
        paths = [self.checkpoint, self.best_weights, self.eight_bit_weights]
        if not self._saved_nothing():
            paths += [self.checkpoints, self.config, *self.text_files()]
            paths += [self.ids, self.development, self.evaluated, self.metrics]
        if path := next(filter(pathlib.Path.exists, paths), None):
            hint = "add --resume, or " if path == self.checkpoint else ""
            raise UsageError(
                f"{self}: expected a folder without a training, found"
                f" {path.relative_to(self.path)}; {hint}choose another --output"
            )

    def refuse_resuming(self) -> None:
        """Raise UserError if there is no checkpoint from which to resume."""
        if not self.checkpoint.exists():
            raise UserError(
                f"{self.checkpoint}: expected a saved training to resume, found none; leave out"
                " --resume to start one; --from RUN starts it from the weights of another model"
            )

    def clear(self) -> None:
        """Remove the files of a training that saved nothing: its vocabularies may come from other
        settings or another text. The empty folder of checkpoints marks the folder of a training.
        """
        make_folder(self.checkpoints)
        paths = [*self.checkpoints.iterdir(), *self.text_files(), self.development, self.metrics]
        for path in paths:
            path.unlink(missing_ok=True)
        for folder in (self.ids, self.evaluated):
            shutil.rmtree(folder, ignore_errors=True)

    def _saved_nothing(self) -> bool:
        """Whether a training began here and was stopped before its first checkpoint: the folder of
        checkpoints has at most a partial one.
        """
        folder = self.checkpoints
        return folder.is_dir() and all(path.name.startswith(PARTIAL) for path in folder.iterdir())

    def __fspath__(self) -> str:
        return str(self.path)

    __str__ = __fspath__

    @property
    def resume_command(self) -> str:
        """The command that resumes its training."""
        return f"rnnsearch train --output {shlex.quote(str(self))} --resume"

    def vocabulary(self, side: str) -> pathlib.Path:
        """The vocabulary file of a side, "source" or "target"."""
        return self.path / f"vocabulary.{side}.txt"

    def subword_model(self, side: str) -> pathlib.Path:
        """The SentencePiece model of a side with subwords."""
        return self.path / f"{side}.spm.model"

    def text_files(self) -> list[pathlib.Path]:
        """Paths of the existing vocabularies and SentencePiece models."""
        kinds = (self.vocabulary, self.subword_model)
        paths = [kind(side) for side in ("source", "target") for kind in kinds]
        return [path for path in paths if path.exists()]

    def evaluated_weights(self) -> list[pathlib.Path]:
        """Paths of the weights of the last evaluations, oldest first."""
        return sorted(self.evaluated.glob("batch-*.weights.h5"))

    def weights_after(self, batches: int) -> pathlib.Path:
        """The file for the weights of the evaluation after this number of batches."""
        return self.evaluated / f"batch-{batches:08}.weights.h5"

    def read_weights(self, model: keras.Model, path: pathlib.Path | None = None) -> None:
        """Load the best weights into a model, or those of another file of the RUN.

        Raises:
            UserError: the file is missing, damaged, or belongs to another architecture.
        """
        packed = path is None and not self.best_weights.exists() and self.eight_bit_weights.exists()
        path = self.eight_bit_weights if packed else path or self.best_weights
        try:
            if packed:
                from rnnsearch_tf.runs.eight_bit import load_weights  # imports NumPy, which is slow

                load_weights(path, model.trainable_variables)
            else:
                import h5py

                with _without_optimizer(model):
                    model.load_weights(path)
                with h5py.File(path) as file:
                    if file.attrs.get(CHECKSUM) not in (None, _digest(model)):
                        raise ValueError("their checksum does not match")
        except (ValueError, KeyError, TypeError, *UNREADABLE) as error:
            raise UserError(
                f"{path}: expected the weights of the model that the RUN's config.yaml describes,"
                f" got others or a damaged file ({one_line(error)})"
            ) from None

    def write_weights(self, model: keras.Model, path: pathlib.Path | None = None) -> None:
        """Write a model's weights atomically, with their checksum, as the best or to another file
        of the RUN.
        """
        import h5py

        path = path or self.best_weights
        make_folder(path.parent)
        with replacing(path) as partial, _without_optimizer(model):
            model.save_weights(partial)
            with h5py.File(partial, "a") as file:
                file.attrs[CHECKSUM] = _digest(model)


CHECKSUM = "sha256"
"""Attribute of a file of weights: the checksum of the numbers in it."""


def _digest(model: keras.Model) -> str:
    """The SHA-256 of a model's weights as float32, in hexadecimal: of every precision the same."""
    digest = hashlib.sha256()
    for variable in model.weights:
        digest.update(variable.numpy().astype("float32", copy=False).tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _without_optimizer(model: keras.Model) -> Iterator[None]:
    """Hide the optimizer inside the block, so that Keras does not save or load its state."""
    optimizer = getattr(model, "optimizer", None)
    model.optimizer = None
    try:
        yield
    finally:
        model.optimizer = optimizer
