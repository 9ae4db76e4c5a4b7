"""How much of what `rnnsearch select` keeps is of the domain, where the corpus is text of the
domain and of others mixed.

    python benchmarks/selection.py [--orders 1 2 4] [--rounds 1 2]

The domain is Multi30k: its val files are known to `select`, its training text is in the corpus,
beside Tatoeba, the documentation of Python, or both (English-French, in ../shared/data or under
$RNNSEARCH_SHARED). As many pairs are kept as are of the domain, so that precision is recall, and
half as many. The seconds are those of everything, TensorFlow's start not among them.
"""

import os
import pathlib
import tempfile
import time

import measuring

DATA = (
    pathlib.Path(os.environ.get("RNNSEARCH_SHARED", measuring.HERE.parents[1] / "shared")) / "data"
)
LANGUAGES = "en", "fr"
DOMAIN = "multi30k"


def mixed(names, folder, most=None):
    """(pairs of the domain, [source file, target file]) of the corpora one after the other, the
    domain first; `most` lines of each.
    """
    from rnnsearch_tf.files.reading import read_all

    files = [folder / f"{'-'.join(names)}.{language}" for language in LANGUAGES]
    for language, file in zip(LANGUAGES, files):
        texts = [read_all(DATA / name / f"train.{language}.gz")[:most] for name in names]
        file.write_text("".join(line + "\n" for text in texts for line in text), encoding="utf-8")
    return len(texts[0]), files


def main():
    parser = measuring.parser(__doc__, repeats=False)
    parser.add_argument(
        "--orders",
        type=int,
        nargs="+",
        default=[1, 2, 4],
        help="words of the longest n-grams (1 2 4)",
    )
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 2], help="(1 2)")
    arguments = measuring.parse(parser)
    import numpy as np

    from rnnsearch_tf.config import TextConfig
    from rnnsearch_tf.data.inspection.selection import select

    configs = [TextConfig(language=language, lowercase=True) for language in LANGUAGES]
    known = [DATA / DOMAIN / f"val.{language}.gz" for language in LANGUAGES]
    head = [
        "beside it",
        "pairs",
        "order",
        "rounds",
        "kept",
        "of the domain, %",
        "of the better half, %",
        "seconds",
    ]
    with tempfile.TemporaryDirectory() as folder, measuring.printed(head) as rows:
        for others in (["tatoeba"], ["python-docs"], ["tatoeba", "python-docs"]):
            domain, files = mixed(
                [DOMAIN, *others], pathlib.Path(folder), 500 if arguments.quick else None
            )
            for order in arguments.orders:
                for rounds in arguments.rounds:
                    start = time.perf_counter()
                    selection = select(
                        known, files, _share(domain, files), configs, order, rounds=rounds
                    )
                    seconds = time.perf_counter() - start
                    best = np.argsort(selection.scores, kind="stable")[:domain]
                    shares = [
                        100 * np.mean(chosen < domain) for chosen in (best, best[: domain // 2])
                    ]
                    rows.append(
                        [
                            " and ".join(others),
                            len(selection.scores),
                            order,
                            rounds,
                            int(selection.kept.sum()),
                            *shares,
                            seconds,
                        ]
                    )


def _share(domain, files):
    from rnnsearch_tf.files.reading import count_lines

    return domain / count_lines(files[:1])


if __name__ == "__main__":
    main()
