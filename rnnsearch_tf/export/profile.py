"""The export profile: the options of ``export/*.yaml``, checked as in a configuration."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence

from rnnsearch_tf.config import SearchConfig, load_section, option
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import AnyPath

SIGNATURES = ("translate", "nbest", "score", "sample")
"""Signatures of an exported model. ``translate`` is also ``serving_default``."""

PROFILE_FILE = "profile.yaml"
"""Name of the profile in an exported model's folder."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Export options; ``search`` starts from the run's search section."""

    signatures: tuple[str, ...] = option(
        ("translate", "nbest", "score"),
        "signatures to export; translate is required",
        choices=SIGNATURES,
    )
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)
    nbest: int = option(
        5, "translations in a list of nbest; a smaller beam shortens the list", minimum=1
    )
    maximum_length: int = option(
        200,
        "longer texts are cut, and the answer reports it; the longest row delays its whole batch",
        unit="tokens",
        minimum=1,
    )
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
        choices=("float32", "float16", "bfloat16", "int8"),
    )
    warmup_requests: int = option(
        2,
        "warm-up requests for each signature, run when a server loads the model",
        minimum=0,
        maximum=100,
    )

    def __post_init__(self) -> None:
        if "translate" not in self.signatures:
            got = ", ".join(self.signatures) or "none"
            raise UsageError(
                f"signatures: expected translate among them, got {got}; add translate, which is"
                " also serving_default"
            )


def load_profile(
    search: SearchConfig, path: AnyPath | None = None, overrides: Sequence[str] = ()
) -> Profile:
    """Read an export profile: the defaults and the run's search section, replaced by a YAML file,
    replaced by ``key=value`` or ``search.key=value``.

    Example:
        >>> profile = load_profile(SearchConfig(), overrides=["search.beam_size=4", "weights=int8"])
        >>> profile.nbest
        4
    """
    if path is not None and not pathlib.Path(path).is_file():
        raise UsageError(f"{path}: expected the path of a profile, got none; export/ has examples")
    profile = load_section(Profile(search=search), path, overrides)
    return dataclasses.replace(profile, nbest=min(profile.nbest, profile.search.beam_size))


def read_profile(folder: AnyPath) -> Profile:
    """Read the profile of an exported model."""
    return load_section(Profile(), pathlib.Path(folder) / PROFILE_FILE)
