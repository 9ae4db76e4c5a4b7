"""How sure a score is, and whether two systems differ: sacreBLEU resamples the sentences."""

from __future__ import annotations

import logging

from sacrebleu.significance import PairedTest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.bleu import check_references, metrics

log = logging.getLogger("rnnsearch_tf")

TESTS = {"bootstrap": ("bs", 1000), "randomization": ("ar", 10_000)}
"""{test: (sacreBLEU's name of it, its number of resamples)}; Koehn 2004, and Riezler and Maxwell
2005.
"""


def confidence_intervals(
    hypotheses, references, samples: int, lowercase=False, tokenize="13a"
) -> dict:
    """95 % confidence intervals by bootstrap resampling.

    Args:
        hypotheses: list[str].
        references: as for `bleu`.
        samples: resamples, at least 2.
        lowercase: compare without case.
        tokenize: sacreBLEU's tokenizer for BLEU.

    Returns:
        {metric: {"mean": of the resamples, "half_width": of the interval around it, "signature"}},
        in percent. A metric is left out, and a warning says so, where a resample has no words, as
        it comes with a handful of sentences some of which are empty.
    """
    found = {}
    lists = check_references(hypotheses, references)
    for name, metric in metrics(lowercase, tokenize).items():
        try:
            score = metric.corpus_score(hypotheses, lists, n_bootstrap=samples)
        except TypeError:
            # sacreBLEU gives such a resample a score of another type than the rest, and cannot
            # average them
            log.warning(
                "warning: no confidence interval of %s: some resamples of these %d sentences have"
                " no words; take more sentences",
                name,
                len(hypotheses),
            )
            continue
        found[name] = {
            "mean": float(score._mean),
            "half_width": float(score._ci),
            "signature": str(metric.get_signature()),
        }
    return found


def compared(
    hypotheses,
    baseline,
    references,
    test="bootstrap",
    samples=None,
    lowercase=False,
    tokenize="13a",
) -> dict:
    """Whether two systems differ, by a paired test.

    Args:
        hypotheses, baseline: list[str], translations of the same sentences by the two systems.
        references: as for `bleu`.
        test: a key of TESTS.
        samples: resamples; None: as many as sacreBLEU takes.
        lowercase: compare without case.
        tokenize: sacreBLEU's tokenizer for BLEU.

    Returns:
        {metric: {"score", "baseline": score of the other system, "p_value": chance of such a
        difference where there is none, "signature"}}.

    Raises:
        UserError: the lists differ in length.

    Example:
        >>> same = ["a b c d e", "f g h i j"]
        >>> compared(same, same, same)["bleu"]["p_value"]
        1.0
    """
    lists = check_references(hypotheses, references)
    if len(baseline) != len(hypotheses):
        raise UserError(
            f"expected as many translations of the baseline as references, got {len(baseline)} and"
            f" {len(hypotheses)}; the baseline has to be of the same sentences"
        )
    kind, usual = TESTS[test]
    tested = metrics(lowercase, tokenize)
    systems = [("baseline", baseline), ("system", hypotheses)]
    signatures, results = PairedTest(systems, tested, lists, kind, samples or usual)()
    # sacreBLEU's name of each: chrF2
    names = dict(zip((name for name in results if name in signatures), tested))
    return {name: _pair(*results[title], signatures[title]) for title, name in names.items()}


def _pair(baseline, system, signature) -> dict:
    # No difference is what chance gives always; sacreBLEU, which counts the resamples above it,
    # would give it the smallest p-value.
    p = float(system.p_value) if system.score != baseline.score else 1.0
    return {
        "score": system.score,
        "baseline": baseline.score,
        "p_value": p,
        "signature": str(signature),
    }
