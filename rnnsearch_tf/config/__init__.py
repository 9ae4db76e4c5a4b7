"""Configurations: declared options, presets, YAML files, shipped recipes.

May import errors and files.
"""

from rnnsearch_tf.config.loading import (
    load_config,
    saved_config,
    named_options,
    shipped_configs,
    shipped_config,
    load_section,
    check_value,
    check_field,
    as_dictionary,
    save_config,
    option_fields,
    default_of,
)
from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.config.model_options import ModelConfig
from rnnsearch_tf.config.options import (
    Config,
    SearchConfig,
    TextConfig,
    TrainingConfig,
    END_ID,
    PAD_ID,
    SPECIAL_TOKENS,
    UNKNOWN_ID,
)
from rnnsearch_tf.config.presets import PRESETS

__all__ = [
    "Config",
    "DataConfig",
    "END_ID",
    "ModelConfig",
    "PAD_ID",
    "PRESETS",
    "SPECIAL_TOKENS",
    "SearchConfig",
    "TextConfig",
    "TrainingConfig",
    "UNKNOWN_ID",
    "as_dictionary",
    "check_field",
    "check_value",
    "default_of",
    "load_config",
    "load_section",
    "named_options",
    "option_fields",
    "save_config",
    "saved_config",
    "shipped_config",
    "shipped_configs",
]
