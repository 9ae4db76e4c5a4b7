"""All files of a corpus through Apache Beam: one element a file, translated by a model that a worker loads once.

Input, output and model are paths that every worker can read and write: a shared or mounted file system where there are several machines.
"""

from __future__ import annotations

import os
import re

from rnnsearch_tf.bulk.engine import load_engine
from rnnsearch_tf.bulk.shard import translate_shard
from rnnsearch_tf.errors import UsageError, UserError

try:
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
except ImportError:
    raise UsageError(
        "--: expected Apache Beam for the options behind it, found none; pip install 'rnnsearch-tf[beam]', "
        "or leave them out: --workers N needs nothing more"
    ) from None


class TranslateFile(beam.DoFn):
    """Translate the files that come as elements, arguments of :func:`~rnnsearch_tf.bulk.shard.translate_shard`; yields the path of each output.

    Args:
        settings: of :func:`~rnnsearch_tf.bulk.engine.settings_of`.
    """

    def __init__(self, settings):
        self.settings = settings

    def setup(self):
        for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(variable, "1")  # Beam starts a worker for each core
        self.engine = load_engine(self.settings)

    def process(self, shard):
        if not os.path.exists(shard["output"]):  # a second attempt at what is done
            translate_shard(self.engine, **shard)
        yield shard["output"]


def run_pipeline(settings, shards, options) -> None:
    """Translate files in a Beam pipeline.

    Args:
        settings: see :func:`~rnnsearch_tf.bulk.engine.settings_of`.
        shards: list of elements of :class:`TranslateFile`.
        options: list of str, Beam's own, such as ``--runner=FlinkRunner``.

    Raises:
        UserError: what a worker met, or Beam itself.
    """
    try:
        with beam.Pipeline(options=PipelineOptions(options)) as pipeline:
            elements = pipeline | "Files" >> beam.Create(shards) | beam.Reshuffle()
            elements | "Translate" >> beam.ParDo(TranslateFile(settings))
    except Exception as error:  # runners raise errors of their own, with the worker's inside
        met = re.search(r"(?:UserError|UsageError): (.*?)(?: \[while running|\n|$)", str(error))
        if met or isinstance(error, UserError):
            raise UserError(met[1] if met else re.sub(r" \[while running.*", "", str(error))) from None
        last = [line for line in str(error).splitlines() if line.strip()][-1:] or [type(error).__name__]
        raise UserError(f"Apache Beam: expected a pipeline that runs, got: {last[0].strip()[:300]}; check its options behind --") from None
