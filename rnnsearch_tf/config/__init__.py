"""Configurations: declared options, YAML files, shipped recipes."""

from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.config.loading import (
    check_value,
    load_config,
    load_section,
    option_fields,
    save_config,
    shipped_configs,
)
from rnnsearch_tf.config.option import option
from rnnsearch_tf.config.options import (
    ATTENDING,
    END_ID,
    PAD_ID,
    SPECIAL_TOKENS,
    UNKNOWN_ID,
    Config,
    ModelConfig,
    SearchConfig,
    TextConfig,
    TrainingConfig,
)
