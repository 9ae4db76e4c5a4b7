"""The effective settings beside the paper's and the authors' program's.

The last column says whom a setting follows: both, the paper, the authors, or
neither: that is a departure. `-` where a source does not say.
"""

from rnnsearch_tf.config import PRESETS, as_dictionary, load_config

UNSAID = object()
"""In place of a value where a source does not say."""

BESIDE_THE_PRESETS = {
    # option: (the paper, the authors' program); a tuple lists the values that follow it
    "source.tokenization": ("moses", "moses"),
    "target.tokenization": ("moses", "moses"),
    "source.lowercase": (False, False),
    "target.lowercase": (False, False),
    "source.vocabulary_size": (UNSAID, 30_001),
    "target.vocabulary_size": (UNSAID, 30_001),
    "data.maximum_source_length": ((50, 30), (50, 30)),
    "data.maximum_target_length": ((50, 30), (50, 30)),
    "search.normalize_after": (UNSAID, (False, True)),
}
"""What the sources fix but no preset does: they belong to a corpus, or have several right values.
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
"""Options of preset `paper` that it takes from the authors' program, the paper not saying."""

ALWAYS = (
    (
        "vocabulary: the paper keeps the 30,000 most frequent words and maps the rest to [UNK]; the"
        " authors' 30,001 symbols count UNK, a reserved one and the end symbol"
    ),
    (
        "order: the corpus is shuffled anew each epoch (data.shuffle_buffer); the authors shuffled"
        " it once, offline"
    ),
    "checkpoints: the optimizer's state is kept; the authors' program lost it on resuming",
    (
        "unfinished search: where the authors' program gives up (a beam of 500), the best"
        " unfinished translation is given"
    ),
)
"""Differences that no option touches."""


def arguments(parser):
    parser.add_argument(
        "--config", required=True, metavar="F.yaml", help="the configuration to look at"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="section.key=value",
        help="change one setting first",
    )


def run(arguments):
    config = load_config(arguments.config, overrides=arguments.set)
    rows = [("option", "here", "paper", "authors", "follows")] + comparison(config)
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip())
    departures = sum(row[4] == "neither" for row in rows)
    print(
        f"\n{departures} of {len(rows) - 1} settings follow neither the paper nor the authors'"
        " program"
    )
    print("whatever the settings:", *(f"- {note}" for note in ALWAYS), sep="\n")


def comparison(config) -> list:
    """(option, here, paper, authors, whom it follows), all text, for every option that a source
    fixes.
    """
    here = as_dictionary(config)
    rows = []
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
    """option → (the paper's value, the authors' program's)."""
    sources = dict(BESIDE_THE_PRESETS)
    for section in ("data", "model", "training", "search"):
        paper = PRESETS["paper"].get(section, {})
        authors = PRESETS["groundhog"].get(section, {})
        for key in authors | paper:
            name = f"{section}.{key}"
            silent = name in PAPER_IS_SILENT or key not in paper
            sources[name] = (UNSAID if silent else paper[key], authors.get(key, UNSAID))
    return sources


def _agrees(value, source) -> bool:
    return value in source if isinstance(source, tuple) else value == source


def _words(value) -> str:
    if value is UNSAID:
        return "-"
    if isinstance(value, tuple):
        return " or ".join(map(_words, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
