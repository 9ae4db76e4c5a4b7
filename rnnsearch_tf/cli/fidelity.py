"""Compare the effective settings with those of the paper and of the authors' program.

The last column says which source a setting follows: both, paper, authors, or neither (a departure).
`-` means that a source does not say.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.config import PRESETS, Config, as_dictionary, load_config

UNSTATED = object()
"""The value of an option that a source does not state."""

OUTSIDE_PRESETS = {
    # option: (the paper, the authors' program); a tuple lists the values that follow it
    "source.tokenization": ("moses", "moses"),
    "target.tokenization": ("moses", "moses"),
    "source.lowercase": (False, False),
    "target.lowercase": (False, False),
    "source.vocabulary_size": (UNSTATED, 30_001),
    "target.vocabulary_size": (UNSTATED, 30_001),
    "data.maximum_source_length": ((50, 30), (50, 30)),
    "data.maximum_target_length": ((50, 30), (50, 30)),
    "search.normalize_after": (UNSTATED, (False, True)),
}
"""Options that the sources fix but no preset does: they belong to a corpus or have several right
values.
"""

PAPER_IS_SILENT = {
    "data.shuffle_batches",
    "training.loss_reduction",
    "training.non_finite_gradient",
    "search.shrinking_beam",
    "search.length_penalty",
    "search.minimum_length_ratio",
    "search.maximum_length_ratio",
}
"""Options that preset `paper` takes from the authors' program, as the paper does not state them."""

ALWAYS = (
    (
        "vocabulary: the paper keeps the 30,000 most frequent words and maps the rest to [UNK]; the"
        " authors' 30,001 symbols count UNK, a reserved one and the end symbol"
    ),
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
"""Differences that no option changes."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config", required=True, metavar="F.yaml", help="the configuration to compare"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="section.key=value",
        help="change one setting first",
    )


def run(arguments: Namespace) -> None:
    config = load_config(arguments.config, overrides=arguments.set)
    rows = [("option", "here", "paper", "authors", "follows"), *comparison(config)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip())
    departures = sum(row[4] == "neither" for row in rows)
    print(
        f"\n{departures} of {len(rows) - 1} settings follow neither the paper nor the authors'"
        " program"
    )
    print("whatever the settings:", *(f"- {note}" for note in ALWAYS), sep="\n")


def comparison(config: Config) -> list[tuple[str, ...]]:
    """(option, here, paper, authors, which source it follows) as text, for every option that a
    source fixes.
    """
    here = as_dictionary(config)
    rows: list[tuple[str, ...]] = []
    for name, (paper, authors) in _sources().items():
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


def _sources() -> dict:
    """{option: (value in the paper, value in the authors' program)}."""
    sources = dict(OUTSIDE_PRESETS)
    for section in ("data", "model", "training", "search"):
        paper = PRESETS["paper"].get(section, {})
        authors = PRESETS["groundhog"].get(section, {})
        for key in authors | paper:
            name = f"{section}.{key}"
            unstated = name in PAPER_IS_SILENT or key not in paper
            sources[name] = (UNSTATED if unstated else paper[key], authors.get(key, UNSTATED))
    return sources


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
