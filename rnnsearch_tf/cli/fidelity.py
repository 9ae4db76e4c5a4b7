"""Compare the effective settings with those of the paper and of the authors' program.

The paper is Bahdanau et al. 2015; for preset `groundhog_phrases` and system `encoder_decoder` it is
Cho et al. 2014a. Systems of other papers are compared with RNNsearch, and a first line says so. The
last column says which source a setting follows: both, paper, authors, or
neither (a departure). `-` means that a source does not say.
"""

import dataclasses
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.config import PRESETS, Config, as_dictionary, load_config
from rnnsearch_tf.config.effects import names_without_effect, sections_of

UNSTATED = object()
"""The value of an option that a source does not state."""


@dataclasses.dataclass(frozen=True)
class Sources:
    """What a paper and the authors' program say.

    Attributes:
        options: {option: (value in the paper, value in the program)}; a tuple lists the values that
            follow it.
        always: differences that no option changes.
    """

    options: dict
    always: tuple


SILENT = {
    "data.shuffle_batches",
    "training.loss_reduction",
    "training.non_finite_gradient",
    "search.shrinking_beam",
    "search.length_penalty",
    "search.minimum_length_ratio",
    "search.maximum_length_ratio",
}
"""Options that preset `paper` takes from the authors' program, as neither paper states them."""

ALSO_SILENT_2014 = {
    "data.batches_read_ahead",
    "model.decoder_order",
    "training.global_clipnorm",
}
"""Options that Bahdanau et al. 2015 state and Cho et al. 2014a do not."""

ALWAYS = (
    (
        "order: the corpus is shuffled in each epoch (data.shuffle_buffer); the authors shuffled"
        " it once, offline"
    ),
    "checkpoints: the optimizer's state is saved; the authors' program lost it on resuming",
    (
        "unfinished search: where the authors' program gives up (a beam of 500), the best"
        " unfinished translation is returned"
    ),
)
"""Differences from both papers."""


def _joined(paper: dict, authors: dict, silent: set) -> dict:
    """{option: (value in the paper, value in the program)} of two presets."""
    found = {}
    for section in authors:
        for key in authors[section] | paper.get(section, {}):
            name = f"{section}.{key}"
            stated = UNSTATED if name in silent else paper.get(section, {}).get(key, UNSTATED)
            found[name] = (stated, authors[section].get(key, UNSTATED))
    return found


BAHDANAU_2015 = Sources(
    {
        # what belongs to a corpus, or has several right values: no preset has it
        "source.tokenization": ("moses", "moses"),
        "target.tokenization": ("moses", "moses"),
        "source.lowercase": (False, False),
        "target.lowercase": (False, False),
        "source.vocabulary_size": (UNSTATED, 30_001),
        "target.vocabulary_size": (UNSTATED, 30_001),
        "data.maximum_source_length": ((50, 30), (50, 30)),
        "data.maximum_target_length": ((50, 30), (50, 30)),
        "search.normalize_after": (UNSTATED, (False, True)),
        **_joined(PRESETS["paper"], PRESETS["groundhog"], SILENT),
    },
    (
        (
            "vocabulary: the paper keeps the 30,000 most frequent words and maps the rest to [UNK];"
            " the authors' 30,001 symbols count UNK, a reserved one and the end symbol"
        ),
        *ALWAYS,
    ),
)

RNNENCDEC = dataclasses.replace(
    BAHDANAU_2015, options=BAHDANAU_2015.options | {"data.batches_read_ahead": (20, 10)}
)
"""prototype_encdec_state sorts 10 batches; the paper says 20 for all models."""

_PAPER_2014 = {
    "data": dict(PRESETS["paper"]["data"], batching="unsorted", batch_size=64),
    "model": dict(
        PRESETS["paper"]["model"], system="encoder_decoder", embedding_size=100, output_rank=100
    ),
    "training": PRESETS["paper"]["training"],
    "search": PRESETS["paper"]["search"],
}
"""§4.1.1 and Appendix A of Cho et al. 2014a."""

CHO_2014 = Sources(
    {
        "source.tokenization": ("space", "space"),
        "target.tokenization": ("space", "space"),
        "source.lowercase": (False, False),
        "target.lowercase": (False, False),
        "data.corpus": ("phrase_table", "phrase_table"),
        "data.maximum_source_length": (UNSTATED, 30),
        "data.maximum_target_length": (UNSTATED, 30),
        "search.normalize_after": (UNSTATED, (False, True)),
        **_joined(_PAPER_2014, PRESETS["groundhog_phrases"], SILENT | ALSO_SILENT_2014),
        # the appendix omits them "to make the equations uncluttered"
        "model.biases": (("groundhog", "all"), "groundhog"),
    },
    (
        (
            "vocabulary: the paper keeps the 15,000 most frequent words and maps the rest to [UNK];"
            " the authors' 15,001 symbols count UNK, a reserved one and the end symbol"
        ),
        (
            "recurrent matrices: the paper multiplies orthogonal ones by 0.01, as"
            " encoder_decoder does; the authors' program does not, nor does rnnencdec"
        ),
        *ALWAYS,
    ),
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config", required=True, metavar="F.yaml", help="the configuration to compare"
    )
    flags.add_settings(parser, "change one setting first")


def run(arguments: Namespace) -> None:
    config = load_config(arguments.config, overrides=arguments.set)
    system = config.model.system
    if sources(config) is BAHDANAU_2015 and system != "rnnsearch":
        print(f"compared with RNNsearch of Bahdanau et al. 2015; {system} is of another paper\n")
    rows = [("option", "here", "paper", "authors", "follows"), *comparison(config)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip())
    departures = sum(row[4] == "neither" for row in rows)
    print(
        f"\n{departures} of {len(rows) - 1} settings follow neither the paper nor the authors'"
        " program"
    )
    print("whatever the settings:", *(f"- {note}" for note in sources(config).always), sep="\n")


def sources(config: Config) -> Sources:
    """Those of the paper whose model a configuration has."""
    if config.preset == "groundhog_phrases" or config.model.system == "encoder_decoder":
        return CHO_2014
    return RNNENCDEC if config.model.system == "rnnencdec" else BAHDANAU_2015


def comparison(config: Config) -> list[tuple[str, ...]]:
    """(option, here, paper, authors, which source it follows) as text, for every option that a
    source fixes and that has an effect here.
    """
    here = as_dictionary(config)
    idle = names_without_effect(sections_of(config))
    rows: list[tuple[str, ...]] = []
    for name, (paper, authors) in sources(config).options.items():
        if name in idle:
            continue
        section, key = name.split(".")
        value = here[section][key]
        follows = {
            (True, True): "both",
            (True, False): "paper",
            (False, True): "authors",
            (False, False): "neither",
        }[_agrees(value, paper), _agrees(value, authors)]
        rows.append((name, _words(value), _words(paper), _words(authors), follows))
    return rows


def _agrees(value, source) -> bool:
    return value in source if isinstance(source, tuple) else value == source


def _words(value) -> str:
    if value is UNSTATED:
        return "-"
    if isinstance(value, tuple):
        return " or ".join(map(_words, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
