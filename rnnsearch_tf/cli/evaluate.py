"""Translate the source and compare with the reference: BLEU and chrF by sacreBLEU.

Every score comes with its sacreBLEU signature. The detokenized translations are compared with the
reference as it is given, so that the program sacrebleu finds the same scores on the file of
--output. --reference may be given again to add another reference of the same sentences; the
signature then says nrefs:2.

--tokenized adds BLEU as in the papers: on the tokens that the model wrote, with the reference
tokenized by the model's own rules (Moses rules on both if the model uses SentencePiece; they need a
language with spaces between words). A lower-cased model's tokens are lower-cased; the signature
then says case:lc.

--by-length adds a table for groups of sentences (Figure 2).
"""

from __future__ import annotations

import json
import logging
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import batches, check_inputs, read_rows
from rnnsearch_tf.files.writing import open_output
from rnnsearch_tf.runtime.progress import progress

if TYPE_CHECKING:
    from rnnsearch_tf.translation import Translator
    from rnnsearch_tf.translation.results import Translation

log = logging.getLogger("rnnsearch_tf")

LABELS = {"bleu": "BLEU", "chrf": "chrF2", "tokenized_bleu": "BLEU, tokenized"}


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(parser)
    parser.add_argument(
        "--source", required=True, metavar="F", help="source sentences, plain or gzip"
    )
    parser.add_argument(
        "--reference",
        required=True,
        action="append",
        metavar="F",
        help=(
            "reference translations, as many lines; may be given again for further references of"
            " the same sentences"
        ),
    )
    shared.add_switch(parser, "--by-length", "add a table by source length (Figure 2)")
    shared.add_switch(parser, "--tokenized", "add BLEU of tokens (tokenize=none)")
    shared.add_switch(parser, "--json", "write one JSON object in place of the table")
    parser.add_argument(
        "--output", metavar="TRANSLATIONS", help="also write the translations to this file"
    )
    shared.add_beam_size(parser)


def run(arguments: Namespace) -> None:
    check_inputs([arguments.source, *arguments.reference], arguments.output)
    rows = list(read_rows(arguments.source, *arguments.reference))
    if not rows:
        raise UserError(f"{arguments.source}: expected sentences to evaluate, got an empty file")
    sources, *references = map(list, zip(*rows))
    with open_output(arguments.output or os.devnull) as write:  # before the model is loaded
        translator = shared.load_translator(arguments)
        from rnnsearch_tf.evaluation.bleu import tokenizer_for

        if arguments.tokenized:
            target = translator.target_text.config  # an export has none, and says so
            if target.tokenization != "space" and tokenizer_for(target.language) != "13a":
                raise UsageError(
                    "--tokenized: expected a target with spaces between its words, got"
                    f" {target.language!r}; leave it out, the other BLEU is of characters"
                )
        if translator.config.target.lowercase:
            log.warning(
                "warning: the model writes lower case and the scores are cased; without case:"
                " `sacrebleu REFERENCE -i TRANSLATIONS -lc`"
            )
        changes = {"beam_size": arguments.beam_size} if arguments.beam_size else {}
        at_once = shared.lines_at_once(translator)
        read = batches(progress(sources, doing="translating"), at_once)
        translations = []
        for texts in read:
            found = translator.translate(texts, **changes)
            write(translation.text for translation in found)
            translations += found
    report = _report(translator, translations, references, arguments)
    with open_output() as write:
        write([json.dumps(report, ensure_ascii=False)] if arguments.json else _table(report))


def _report(
    translator: Translator,
    translations: Sequence[Translation],
    references: Sequence[list[str]],
    arguments: Namespace,
) -> dict[str, Any]:
    """The requested scores, ready for JSON."""
    from rnnsearch_tf.evaluation.bleu import bleu, by_length, chrf, tokenizer_for
    from rnnsearch_tf.evaluation.words import tokenized, written_tokens

    target = translator.config.target
    texts = [translation.text for translation in translations]
    tokenize = tokenizer_for(target.language)
    report: dict[str, Any] = {
        "sentences": len(texts),
        "bleu": vars(bleu(texts, references, tokenize)),
        "chrf": vars(chrf(texts, references)),
    }
    if arguments.tokenized:
        tokens = written_tokens(translator.target_text, translations)
        gold = [tokenized(translator.target_text, lines) for lines in references]
        report["tokenized_bleu"] = vars(bleu(tokens, gold, "none", target.lowercase))
    if arguments.by_length:
        lengths = [len(translation.source_tokens or []) for translation in translations]
        report["by_length"] = by_length(texts, references, lengths, tokenize=tokenize)
    return report


def _table(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a report for people."""
    yield f"sentences: {report['sentences']}"
    for key, label in LABELS.items():
        if key in report:
            yield f"  {label:<18}{report[key]['score']:6.2f}  {report[key]['signature']}"
    if "by_length" in report:
        yield "source tokens  sentences    BLEU   chrF2"
        for group in report["by_length"]:
            span = f"{group['shortest']}-{group['longest']}"
            yield (
                f"{span:>13}  {group['sentences']:>9}  {group['bleu']:6.2f}  {group['chrf']:6.2f}"
            )
