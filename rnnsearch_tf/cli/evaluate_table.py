"""The report of `evaluate` as lines of text."""

from collections.abc import Iterator, Mapping
from typing import Any

LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF2",
    "ter": "TER",
    "tokenized_bleu": "BLEU, tokenized",
    "lc_norm_tok_bleu": "BLEU, lc.norm.tok",
}

TITLES = {
    "all": "all sentences",
    "without_unknown_words": "sentences without unknown words",
    "without_shortlist": "all sentences, searched among all words",
}


def table(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a report of `evaluate`."""
    for name, title in TITLES.items():
        if name not in report:
            continue
        scores = report[name]
        if name == "without_unknown_words" and scores == report["all"]:
            continue  # no sentence has unknown words
        yield f"{title}: {scores['sentences']}"
        for key, label in LABELS.items():
            if key in scores:
                yield f"  {label:<18}{scores[key]['score']:6.2f}  {scores[key]['signature']}"
    for text in report.get("unicode_form", {}).get("changed", ()):
        yield (
            f"{text['file']}: {text['lines']} line(s) compared in the form that the model writes"
            " (target.unicode_form, target.remove_invisible); sacreBLEU scores the original text"
            " differently"
        )
    if "confidence" in report:
        found = report["confidence"]
        yield (
            f"confidence: correlation with sentence chrF {found['correlation']:.3f} (by rank"
            f" {found['rank_correlation']:.3f}); mean {found['mean_confidence']:.3f}, mean chrF"
            f" {found['mean_chrf']:.3f}; calibrated on {found['calibrated on']}"
        )
    if "without_shortlist" in report:
        with_it, without = (report[name]["bleu"]["score"] for name in ("all", "without_shortlist"))
        yield f"cost of the shortlist: {without - with_it:.2f} BLEU"
    yield from _resampled(report)
    for key, title, span in (
        ("by_length", "source tokens", lambda group: f"{group['shortest']}-{group['longest']}"),
        (
            "by_frequency_rank",
            "average rank",
            lambda group: f"{group['lowest']:.0f}-{group['highest']:.0f}",
        ),
        (
            "by_unknown_words",
            "unknown words",
            lambda group: f"{group['fewest']}" + ("+" if group["most"] is None else ""),
        ),
    ):
        if key in report:
            yield f"{title:>13}  sentences    BLEU   chrF2"
            for group in report[key]:
                yield (
                    f"{span(group):>13}  {group['sentences']:>9}  {group['bleu']:6.2f} "
                    f" {group['chrf']:6.2f}"
                )
    if "search_errors" in report:
        found = report["search_errors"]
        yield (
            f"search errors among {found['sentences']} sentences whose reference the search may"
            " write"
        )
        yield "    beam size     errors   share    BLEU"
        for beam in found["beams"]:
            yield (
                f"{beam['beam_size']:>13}  {beam['search_errors']:>9}  {100 * beam['share']:5.1f}% "
                f" {beam['bleu']:6.2f}"
            )


def _resampled(report):
    for key, found in report.get("bootstrap", {}).items():
        yield (
            f"{LABELS[key]}: {found['mean']:.2f} ± {found['half_width']:.2f} (95 %) "
            f" {found['signature']}"
        )
    if "baseline" in report:
        found = report["baseline"]
        yield f"compared with {found['file']}, paired {found['test']}:"
        for key in ("bleu", "chrf", "ter"):
            score = found[key]["score"]
            other = found[key]["baseline"]
            yield (
                f"  {LABELS[key]:<6}{score:6.2f} and {other:6.2f}, {score - other:+.2f}, p ="
                f" {found[key]['p_value']:.4f}  {found[key]['signature']}"
            )
