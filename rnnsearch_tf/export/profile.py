"""The export profile: the options of ``export/*.yaml``, checked as in a configuration."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Sequence

from rnnsearch_tf.config import SearchConfig, load_section, option
from rnnsearch_tf.errors import UsageError

SIGNATURES = (
    "translate",
    "translate_nbest",
    "translate_aligned",
    "score",
    "sample",
    "tokenize",
)
"""Signatures of an exported model. ``translate`` is also ``serving_default``."""

WEIGHTS = ("float32", "float16", "bfloat16", "int8")

FILE = "profile.yaml"
"""Name of the profile in an exported model's folder."""

ROWS_AT_ONCE = 64
"""Rows of a request that are computed in one batch, which limits the memory of a request beside its
answer.
"""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Export options; ``search`` starts from the RUN's search section."""

    signatures: tuple[str, ...] = option(
        SIGNATURES,
        "signatures to export; translate is required",
        choices=SIGNATURES,
    )
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)
    nbest: int = option(
        5, "translations of translate_nbest; a smaller beam shortens the list", minimum=1
    )
    maximum_source_length: int = option(
        200,
        "longer sources are cut, and the answer reports it; the longest row delays its whole batch",
        unit="tokens",
        minimum=1,
    )
    maximum_target_length: int = option(
        200, "the same for the targets of score", unit="tokens", minimum=1
    )
    temperature: float = option(1.0, "divisor of the logits for sample", above=0.0)
    precision: str = option(
        "float32",
        "number type of the computation; mixed_bfloat16 is faster on processors that support it,"
        " but the third digit of a score then depends on the rest of the batch",
        choices=("float32", "mixed_bfloat16"),
    )
    weights: str = option(
        "float32",
        "number type of the stored weights; types smaller than float32 may cost BLEU, and are"
        " converted once a request",
        choices=WEIGHTS,
    )
    warmup_requests: int = option(
        2,
        "warm-up requests for each signature, run when a server loads the model",
        minimum=0,
        maximum=100,
    )

    def __post_init__(self) -> None:
        if "translate" not in self.signatures:
            raise UsageError(
                f"signatures: expected translate among them, got {', '.join(self.signatures)}; add"
                " translate, which is also serving_default"
            )


def load_profile(
    search: SearchConfig, path: str | os.PathLike[str] | None = None, overrides: Sequence[str] = ()
) -> Profile:
    """Read an export profile.

    Args:
        search: the RUN's search section; the profile overrides its options.
        path: YAML file; None takes the defaults.
        overrides: strings ``key=value`` or ``search.key=value``.

    Raises:
        UsageError: as :func:`~rnnsearch_tf.config.load_config`.

    Example:
        >>> profile = load_profile(SearchConfig(), overrides=["search.beam_size=4", "weights=int8"])
        >>> profile.nbest
        4
    """
    profile = load_section(Profile(search=search), path, overrides)
    return dataclasses.replace(profile, nbest=min(profile.nbest, profile.search.beam_size))


def read_profile(folder: str | os.PathLike[str]) -> Profile:
    """Read the profile of an exported model."""
    return load_section(Profile(), pathlib.Path(folder) / FILE)
