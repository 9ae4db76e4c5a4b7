"""Confidence intervals of scores, and significance tests between two systems, by resampling."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from sacrebleu.significance import PairedTest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.bleu import References, check_references, metrics

log = logging.getLogger("rnnsearch_tf")

TESTS = {"bootstrap": ("bs", 1000), "randomization": ("ar", 10_000)}
"""{test: (sacreBLEU's name, default number of resamples)}; Koehn 2004, and Riezler and Maxwell
2005.
"""

Results = dict[str, dict[str, Any]]
"""{metric: {name of a value: value}}"""


def confidence_intervals(
    hypotheses: Sequence[str],
    references: References,
    samples: int,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Results:
    """95 % confidence intervals by bootstrap resampling.

    Args:
        hypotheses, references, lowercase, tokenize: as for `bleu`.
        samples: number of resamples, at least 2.

    Returns:
        {metric: {"mean": of the resamples, "half_width": of the interval around it, "signature"}},
        in percent. A metric is left out with a warning if a resample has no words; this happens
        with a handful of sentences some of which are empty.
    """
    found = {}
    lists = check_references(hypotheses, references)
    for name, metric in metrics(lowercase, tokenize).items():
        try:
            score = metric.corpus_score(hypotheses, lists, n_bootstrap=samples)
        except TypeError:
            # sacreBLEU's score of a resample without words has another type, and cannot be averaged
            log.warning(
                "warning: no confidence interval of %s: some resamples of these %d sentences have"
                " no words; take more sentences",
                name,
                len(hypotheses),
            )
            continue
        # Its public text is rounded. Tried with sacreBLEU 2.6.0, and tested by
        # tests/house/test_library_internals.py.
        found[name] = {
            "mean": float(score._mean),
            "half_width": float(score._ci),
            "signature": str(metric.get_signature()),
        }
    return found


def paired_test(
    hypotheses: Sequence[str],
    baseline: Sequence[str],
    references: References,
    test: str = "bootstrap",
    samples: int | None = None,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Results:
    """A paired significance test between two systems.

    Args:
        hypotheses, baseline: translations of the same sentences by the two systems.
        references, lowercase, tokenize: as for `bleu`.
        test: a key of TESTS.
        samples: number of resamples; None: the default of TESTS.

    Returns:
        {metric: {"score", "baseline": score of the baseline, "p_value": probability of a difference
        this large if the systems are equally good, "signature"}}.

    Raises:
        UserError: the lists differ in length.

    Example:
        >>> same = ["a b c d e", "f g h i j"]
        >>> paired_test(same, same, same)["bleu"]["p_value"]
        1.0
    """
    lists = check_references(hypotheses, references)
    if len(baseline) != len(hypotheses):
        raise UserError(
            f"expected as many translations of the baseline as references, got {len(baseline)} and"
            f" {len(hypotheses)}; translate the same sentences with the baseline"
        )
    kind, default_samples = TESTS[test]
    tested = metrics(lowercase, tokenize)
    systems = [("baseline", baseline), ("system", hypotheses)]
    signatures, results = PairedTest(systems, tested, lists, kind, samples or default_samples)()
    # {sacreBLEU's name, such as chrF2: our name}
    names = dict(zip((name for name in results if name in signatures), tested))
    found = {}
    for title, name in names.items():
        of_baseline, of_system = results[title]
        found[name] = {
            "score": of_system.score,
            "baseline": of_baseline.score,
            # Equal scores have p = 1. sacreBLEU counts the resamples above the difference, and
            # would give the smallest p-value.
            "p_value": 1.0 if of_system.score == of_baseline.score else float(of_system.p_value),
            "signature": str(signatures[title]),
        }
    return found
