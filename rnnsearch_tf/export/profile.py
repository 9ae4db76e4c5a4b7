"""What to export: the options of ``export/*.yaml``, each declared once, checked as in a
configuration.
"""

from __future__ import annotations

import dataclasses
import pathlib

from rnnsearch_tf.config import SearchConfig, load_section, named_options
from rnnsearch_tf.config.effects import check_effects
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.config.option import option

SIGNATURES = (
    "translate",
    "translate_nbest",
    "translate_aligned",
    "translate_constrained",
    "score",
    "confidence",
    "sample",
    "tokenize",
)
"""What an export can answer; ``translate`` is ``serving_default`` too, ``confidence`` is there
where the RUN is calibrated.
"""

WEIGHTS = ("float32", "float16", "bfloat16", "int8")

FILE = "profile.yaml"
"""Its name in an exported model's folder."""

NBEST = 5
"""Translations of ``translate_nbest``, where neither the run nor the profile says how many."""

ROWS_AT_ONCE = 64
"""Rows that are computed together, one part of a request after the other: what a request takes
beside its answer does not grow beyond these. An answer has at most as many alignment weights as so
many of the longest texts.
"""


@dataclasses.dataclass(frozen=True)
class Profile:
    """An export's options; ``search`` starts from the run's own search section."""

    signatures: tuple[str, ...] = option(
        SIGNATURES,
        "what the model answers; translate is always there, confidence where the run is calibrated",
        choices=SIGNATURES,
    )
    search: SearchConfig = dataclasses.field(
        default_factory=lambda: SearchConfig(search_again=False)
    )
    maximum_source_length: int = option(
        200,
        "longer sources are cut, and the answer says so: the longest row holds up its whole batch",
        unit="tokens",
        minimum=1,
    )
    maximum_target_length: int = option(
        200, "the same for the targets of score", unit="tokens", minimum=1
    )
    temperature: float = option(1.0, "sample: the logits are divided by it", above=0.0)
    precision: str = option(
        "float32",
        "numbers computed with; mixed_bfloat16 is faster where the processor has it, but then"
        " scores depend in their third digit on what else is in the batch",
        choices=("float32", "mixed_bfloat16"),
    )
    weights: str = option(
        "float32",
        "how weights are stored; the others are smaller, cost BLEU (printed), and are widened once"
        " a request",
        choices=WEIGHTS,
    )
    warmup_requests: int = option(
        2, "requests of each signature that a server runs before it answers", minimum=0, maximum=100
    )

    def __post_init__(self):
        if "translate" not in self.signatures:
            raise UsageError(
                "signatures: expected translate among them, it is serving_default; got "
                + ", ".join(self.signatures)
            )
        if len(set(self.signatures)) != len(self.signatures):
            raise UsageError("signatures: expected each once, got " + ", ".join(self.signatures))
        if self.search.search_again:
            raise UsageError(
                "search.search_again: expected false, a served graph searches once; got true"
            )

    @property
    def search_options(self) -> dict:
        """Options with which a Translator searches as the served graph does: all but search_again,
        which is false there.
        """
        options = dataclasses.asdict(self.search)
        del options["search_again"]
        return options


def load_profile(search: SearchConfig, path=None, overrides=()) -> Profile:
    """Read an export profile.

    Args:
        search: the run's search section; the profile changes what it names.
        path: YAML file; None takes the defaults.
        overrides: strings ``key=value`` or ``search.key=value``.

    Raises:
        UsageError: as :func:`~rnnsearch_tf.config.load_config`.

    Example:
        >>> profile = load_profile(SearchConfig(), overrides=["search.beam_size=4", "weights=int8"])
        >>> profile.search.nbest
        4
    """
    default = Profile(search=dataclasses.replace(search, search_again=False))
    profile = load_section(default, path, overrides)
    named = named_options(path, overrides, default)
    own = dataclasses.asdict(default.search)
    changed = {
        name for name, value in dataclasses.asdict(profile.search).items() if value != own[name]
    }
    check_effects({"search": profile.search}, {f"search.{name}" for name in changed})
    if search.nbest > 1 or "search.nbest" in named:
        return profile
    return dataclasses.replace(
        profile,
        search=dataclasses.replace(profile.search, nbest=min(NBEST, profile.search.beam_size)),
    )


def read_profile(folder) -> Profile:
    """The profile an exported model was made with."""
    return load_section(Profile(), pathlib.Path(folder) / FILE)
