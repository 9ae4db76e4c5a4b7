"""Tiny models of every system: the table that tests of all systems run through.

Each has an independent reference in tests/reference/, of the same name or the one given.
Sizes as in tiny_rnnsearch.py; the options of a row are what makes the system itself.
"""

import dataclasses

from rnnsearch_tf.config import Config, ModelConfig
from rnnsearch_tf.models import build_model
from tiny_rnnsearch import SIZES, SOURCE_SIZE, TARGET_SIZE, randomize

SYSTEMS = {  # name of the row: options of the model section
    "rnnsearch": dict(system="rnnsearch", alignment_size=5, maxout_size=3, output_rank=None),
}


def system_config(name, **options):
    """ModelConfig of a row, with other options on top."""
    sizes = {key: SIZES[key] for key in ("embedding_size", "hidden_size")}
    return ModelConfig(**{**sizes, **SYSTEMS[name], **options})


def fresh_system(name, dtype="float64", **options):
    """The model as ``train`` would begin with it."""
    config = Config(model=system_config(name, **options))
    config = dataclasses.replace(config, training=dataclasses.replace(config.training, precision=dtype, seed=0))
    return build_model(config, SOURCE_SIZE, TARGET_SIZE)


def tiny_system(name, dtype="float64", seed=0, scale=0.6, **options):
    """A model whose every weight, biases included, is drawn from N(0, scale²)."""
    return randomize(fresh_system(name, dtype, **options), seed, scale)
