"""Apache Beam: a model for a pipeline of one's own, and all files of a corpus, one element a file.

Input, output and model are paths that every worker can read and write: a shared or mounted file
system where there are several machines.
"""

from __future__ import annotations

import os
import re

from rnnsearch_tf.extras.bulk.engine import load_engine, settings_of
from rnnsearch_tf.extras.bulk.shard import translate_shard
from rnnsearch_tf.errors import UsageError, UserError

try:
    import apache_beam as beam
    from apache_beam.ml.inference.base import ModelHandler, PredictionResult, RunInference
    from apache_beam.options.pipeline_options import PipelineOptions
except ImportError:
    raise UsageError(
        "Apache Beam: expected the package apache-beam, found none; pip install"
        " 'rnnsearch-tf[beam]', or leave out the options behind --: rnnsearch translate-corpus"
        " --workers N needs nothing more"
    ) from None


class TranslationHandler(ModelHandler):
    """A model for Beam's ``RunInference``.

    An element is a text, str. What comes out is its PredictionResult: ``example`` is the text,
    ``inference`` its translation, str; None where the text has more tokens than the model takes. A
    worker process loads the model once; TensorFlow has one thread there, unless the environment
    says otherwise, since Beam starts a process for each core.

    Args:
        models: list of paths, or a path: of an exported model, a RUN, or the members of an
            ensemble, which every worker can read.
        combine: how an ensemble's members are combined.
        search: dict of options of the search section that differ from the model's.
        batch_size: int, texts that Beam hands over at once, at most.

    Raises:
        UserError: there is no such model.

    Example::

        results = texts | RunInference(TranslationHandler("served/mine"))
        translations = results | beam.Map(lambda result: result.inference or "")
        translations | beam.io.WriteToText("translations")
    """

    def __init__(self, models, combine="probabilities", search=None, batch_size=512):
        super().__init__(min_batch_size=1, max_batch_size=batch_size)
        self.settings = settings_of(
            [models] if isinstance(models, str | os.PathLike) else models, combine, search
        )

    def load_model(self):
        for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
        return load_engine(self.settings)

    def run_inference(self, batch, model, inference_args=None):
        return [PredictionResult(*pair) for pair in zip(batch, model(list(batch)))]

    def get_metrics_namespace(self):
        return "rnnsearch_tf"


class FileHandler(TranslationHandler):
    """As TranslationHandler, for whole files: arguments of
    :func:`~rnnsearch_tf.extras.bulk.shard.translate_shard` to the path of the output.
    """

    def __init__(self, settings):
        super().__init__(**settings, batch_size=1)

    def run_inference(self, batch, model, inference_args=None):
        for shard in batch:
            if not os.path.exists(shard["output"]):  # a second attempt at what is done
                translate_shard(model, **shard)
        return [shard["output"] for shard in batch]


def run_pipeline(settings, shards, options) -> None:
    """Translate files in a Beam pipeline.

    Args:
        settings: see :func:`~rnnsearch_tf.extras.bulk.engine.settings_of`.
        shards: list of elements of :class:`FileHandler`.
        options: list of str, Beam's own, such as ``--runner=FlinkRunner``.

    Raises:
        UserError: what a worker met, or Beam itself.
    """
    try:
        with beam.Pipeline(options=PipelineOptions(options)) as pipeline:
            (
                pipeline
                | "Files" >> beam.Create(shards)
                | beam.Reshuffle()
                | "Translate" >> RunInference(FileHandler(settings))
            )
    except Exception as error:  # runners raise errors of their own, with the worker's inside
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
            " options behind --"
        ) from None
