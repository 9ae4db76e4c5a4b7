"""Apache Beam: a model for your own pipelines, and a pipeline that translates the files of a
corpus.

Every worker must be able to read and write the paths of input, output and model; with several
machines, use a shared file system.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rnnsearch_tf.extras.bulk.engine import Engine, load_engine, settings_of
from rnnsearch_tf.extras.bulk.shard import translate_shard
from rnnsearch_tf.errors import UsageError, UserError

try:
    import apache_beam as beam
    from apache_beam.ml.inference.base import ModelHandler, PredictionResult, RunInference
    from apache_beam.options.pipeline_options import PipelineOptions
except ImportError:
    raise UsageError(
        "Apache Beam: expected the package apache-beam, found none; pip install"
        " 'rnnsearch-tf[beam]', or leave out the options after --: rnnsearch translate-corpus"
        " --workers N does not need it"
    ) from None


class TranslationHandler(ModelHandler):
    """A model for Beam's ``RunInference``.

    An element is a text, str. The result is a PredictionResult: ``example`` is the text,
    ``inference`` its translation, or None for a text with more tokens than the model's maximum
    length. A worker process loads the model once. TensorFlow uses one thread there, unless the
    environment sets another number, because Beam starts a process for each core.

    Args:
        models: path of an exported model or a RUN, or the paths of an ensemble's members; every
            worker must be able to read them.
        combine: how an ensemble's members are combined.
        search: options of the search section that differ from the model's.
        batch_size: texts in a batch, at most.

    Raises:
        UserError: a model does not exist.

    Example::

        results = texts | RunInference(TranslationHandler("served/mine"))
        translations = results | beam.Map(lambda result: result.inference or "")
        translations | beam.io.WriteToText("translations")
    """

    def __init__(
        self,
        models: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        combine: str = "probabilities",
        search: Mapping[str, Any] | None = None,
        batch_size: int = 512,
    ) -> None:
        super().__init__(min_batch_size=1, max_batch_size=batch_size)
        self.settings = settings_of(
            [models] if isinstance(models, str | os.PathLike) else models, combine, search
        )

    def load_model(self) -> Engine:
        """Load the model in a worker process."""
        for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
        return load_engine(self.settings)

    def run_inference(
        self,
        batch: Sequence[Any],
        model: Engine,
        inference_args: dict[str, Any] | None = None,
    ) -> Iterable[Any]:
        """Translate a batch of texts."""
        return [PredictionResult(*pair) for pair in zip(batch, model(list(batch)))]

    def get_metrics_namespace(self) -> str:
        """The prefix of the names of Beam's metrics."""
        return "rnnsearch_tf"


class FileHandler(TranslationHandler):
    """A TranslationHandler for whole files. An element holds the arguments of
    :func:`~rnnsearch_tf.extras.bulk.shard.translate_shard`; the result is the path of the output.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings["models"], settings["combine"], settings["search"], batch_size=1)
        self.settings = settings

    def run_inference(
        self,
        batch: Sequence[Any],
        model: Engine,
        inference_args: dict[str, Any] | None = None,
    ) -> Iterable[Any]:
        """Translate files."""
        for shard in batch:
            if not os.path.exists(shard["output"]):  # else finished by an earlier attempt
                translate_shard(model, **shard)
        return [shard["output"] for shard in batch]


def run_pipeline(
    settings: dict[str, Any], shards: Sequence[Mapping[str, str]], options: list[str]
) -> None:
    """Translate files in a Beam pipeline.

    Args:
        settings: see :func:`~rnnsearch_tf.extras.bulk.engine.settings_of`.
        shards: elements of :class:`FileHandler`.
        options: options of Beam, such as ``--runner=FlinkRunner``.

    Raises:
        UserError: a worker or Beam failed.
    """
    try:
        with beam.Pipeline(options=PipelineOptions(options)) as pipeline:
            (
                pipeline
                | "Files" >> beam.Create(shards)
                | beam.Reshuffle()
                | "Translate" >> RunInference(FileHandler(settings))
            )
    except Exception as error:  # runners wrap the error of a worker in their own
        met = re.search(r"(?:UserError|UsageError): (.*?)(?: \[while running|\n|$)", str(error))
        if met or isinstance(error, UserError):
            raise UserError(
                met[1] if met else re.sub(r" \[while running.*", "", str(error))
            ) from None
        last = [line for line in str(error).splitlines() if line.strip()][-1:] or [
            type(error).__name__
        ]
        raise UserError(
            f"Apache Beam: expected a pipeline that runs, got: {last[0].strip()[:300]}; check its"
            " options after --"
        ) from None
