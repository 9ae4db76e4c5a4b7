"""Translate the source and compare with the reference: BLEU, chrF and TER by sacreBLEU.

Every score comes with its sacreBLEU signature. The first row of scores is of all sentences. If some
have unknown words, a second row is of the pairs whose source and reference have none (No UNK in
Table 1 of Bahdanau et al. 2015). Translations are detokenized and compared with
the untokenized reference, in the form that the model writes (target.unicode_form,
target.remove_invisible); a line of the report says so if that changes the reference. --reference
may be given again to add another reference of the same sentences; the signature then says nrefs:2.
A line on standard error says what the BLEU means.

--tokenized adds BLEU as in the papers: on the tokens that the model wrote, with the reference
tokenized by the model's own rules (Moses rules on both if the model uses SentencePiece, which needs
a language with spaces between words). A lower-cased model's tokens are lower-cased; the signature
then says case:lc.

--lc-norm-tok adds BLEU as in the literature on Multi30k: both sides lower-cased, with normalized
punctuation and escaped Moses tokens. Detokenized references then give the published lc.norm.tok
files exactly.

--bootstrap adds 95 % confidence intervals. --baseline compares with the translations of another
system (--translations of its evaluation) by a paired test. The p-value is the chance of such a
difference if the systems are equally good.

--by-length, --by-frequency and --by-unknown add tables for groups of sentences. --search-errors
counts, for several beam sizes, the sentences whose reference the model scores higher than its own
search result.

Without --source and --reference it evaluates on the development text, by which training chose the
best weights.

--calibrate fits the confidence, between 0 and 1, to the quality of these translations: that of a
sentence to its chrF, that of a word to whether it is in the reference. --confidence reports how
well that works on other text.

With --shortlist everything is translated a second time without it, to report what it costs in BLEU.
"""

from __future__ import annotations

import json
import logging
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.evaluate_table import table
from rnnsearch_tf.cli.shared import load_translator, pair_of_columns, search_changes
from rnnsearch_tf.config import saved_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.pairs import SIDES
from rnnsearch_tf.data.shards import files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.files.reading import check_counts, check_standard_input, read_all
from rnnsearch_tf.files.tables import LOOKED_AT, check_sentences
from rnnsearch_tf.files.writing import (
    STANDARD_OUTPUT,
    Output,
    check_output,
    check_outputs,
    check_own_file,
)
from rnnsearch_tf.runtime.progress import progress, say
from rnnsearch_tf.runs.folder import Run, digest_of

if TYPE_CHECKING:
    from rnnsearch_tf.translation import Translator
    from rnnsearch_tf.translation.results import Translation

log = logging.getLogger("rnnsearch_tf")


BATCHES_AT_ONCE = 8
"""Number of batches that are sorted by length together."""

LONG_TEXT = 20_000
"""Words of translations (characters in a language without spaces) that take so long to score, a
minute or more, that a message says so.
"""

MOST_RESAMPLED = 50_000_000
"""Sentences times resamples: sacreBLEU holds 80 bytes for each."""


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    parser.add_argument(
        "--source",
        metavar="F",
        help=(
            "source sentences, plain or .gz (default, with --reference: the model's development"
            " text)"
        ),
    )
    parser.add_argument(
        "--reference",
        action="append",
        metavar="F",
        help=(
            "reference translations, as many lines; may be given again for further references of"
            " the same sentences"
        ),
    )
    flags.add_pairs(parser, "--source and --reference")
    flags.add_switch(parser, "--by-length", "add a table by source length (Figure 2)")
    flags.add_switch(
        parser,
        "--by-frequency",
        "add a table by the average frequency rank of the source words (Sutskever et al.,"
        " Figure 3)",
    )
    flags.add_switch(parser, "--by-unknown", "add a table by the number of unknown words")
    parser.add_argument(
        "--search-errors",
        type=_beam_sizes,
        metavar="BEAMS",
        help="add a table of search errors for beam sizes such as 1,2,12; translates once for each",
    )
    flags.add_whole_number(
        parser,
        "--bootstrap",
        "add confidence intervals from N resamples of the sentences, such as 1000 (--baseline"
        " takes 1,000, or 10,000 with --test randomization)",
        minimum=2,
    )
    parser.add_argument(
        "--baseline",
        metavar="F",
        help="translations of another system; test whether the difference is significant",
    )
    parser.add_argument(
        "--test",
        choices=("bootstrap", "randomization"),
        help="paired test of --baseline (default: bootstrap)",
    )
    flags.add_switch(parser, "--tokenized", "add BLEU of tokens (tokenize=none)")
    flags.add_switch(
        parser, "--lc-norm-tok", "add BLEU as in the Multi30k literature (needs sacremoses)"
    )
    flags.add_switch(parser, "--lowercase", "ignore case; the signature says so")
    flags.add_switch(parser, "--json", "write one JSON object in place of the table")
    flags.add_switch(
        parser,
        "--calibrate",
        "fit the confidence to these sentences, which should be the development text, and"
        " write RUN/confidence.json",
    )
    flags.add_switch(
        parser,
        "--confidence",
        "report how well the model's confidence correlates with sentence chrF",
    )
    parser.add_argument(
        "--translations", metavar="F", help="also write the translations to this file"
    )
    flags.add_output(parser)
    flags.add_search(parser)


def run(arguments: Namespace) -> None:
    changes = search_changes(arguments) | {"nbest": 1}
    if len(arguments.model) > 1 and (arguments.calibrate or arguments.confidence):
        raise UsageError(
            "--calibrate, --confidence: expected one --model, as a calibration belongs to one,"
            f" got {len(arguments.model)}"
        )
    beams = arguments.search_errors
    if arguments.test and not arguments.baseline:
        raise UsageError(
            "--test: expected --baseline F with it, got none; name the other system's translations"
        )
    if len(arguments.reference or ()) > 1 and (beams or arguments.calibrate):
        flag = "--search-errors" if beams else "--calibrate"
        raise UsageError(
            f"{flag}: expected one --reference, got {len(arguments.reference)}; name one"
        )
    if pair := pair_of_columns(arguments):
        _name_sides(arguments, pair)
    name, sources, references = (
        _files(arguments)
        if arguments.source or arguments.reference
        else _development_text(arguments)
    )
    baseline = _baseline(arguments, len(sources))
    _check_resamples(arguments, len(sources))
    _check_outputs(arguments)
    weights = _digest_of_weights(arguments) if arguments.calibrate else None
    translator = load_translator(arguments)
    if arguments.tokenized:
        _check_words(translator.config.target)
    references, baseline, forms = _in_target_form(
        references, baseline, translator.config.target, arguments
    )
    if translator.config.target.lowercase and not arguments.lowercase:
        log.warning(
            "warning: the model writes lower case and the scores are cased; --lowercase ignores"
            " case"
        )
    if beams:
        from rnnsearch_tf.evaluation.search_errors import check_scores, search_errors

        check_scores(translator.search_config(**changes))
    calibration = _calibration(arguments, sources, name)
    translations = _translated(translator, sources, changes)
    texts = [translation.text for translation in translations]
    if arguments.translations:
        with Output(arguments.translations) as output:
            output.write(texts)
    _say_that_scoring_takes_time(texts, translator.config.target)
    report = evaluation_report(translator, sources, translations, references, arguments) | forms
    report |= _significance(texts, baseline, references, translator.config.target, arguments)
    if beams:
        report["search_errors"] = search_errors(
            translator, sources, references[0], beams, arguments.lowercase, **changes
        )
    if arguments.calibrate or arguments.confidence:
        report["confidence"] = _confidence(
            translator, sources, texts, references, arguments, calibration, name, weights
        )
    if translator.search_config(**changes).shortlist:
        without = {key: value for key, value in changes.items() if not key.startswith("shortlist")}
        full_search = _translated(translator, sources, without | {"shortlist": None})
        report["without_shortlist"] = _scores(
            translator, full_search, references, range(len(sources)), arguments
        )
    with Output(arguments.output) as output:
        output.write([json.dumps(report, ensure_ascii=False)] if arguments.json else table(report))
    _explain(report["all"]["bleu"]["score"], references, translator.config.target)


def _say_that_scoring_takes_time(texts, config):
    """TER of long translations takes minutes, in which there is no progress to show."""
    from rnnsearch_tf.evaluation.bleu import tokenizer_for

    words = tokenizer_for(config) == "13a"
    size = sum(len(text.split() if words else text) for text in texts)
    if size > LONG_TEXT:
        unit = "words" if words else "characters"
        say(f"scoring {len(texts):,} translations, {size:,} {unit}; TER takes a few minutes")


def _explain(score, references, config):
    """Say what the BLEU score means; the scale holds for one reference and BLEU of words."""
    from rnnsearch_tf.evaluation.bleu import meaning, tokenizer_for

    if len(references) == 1 and tokenizer_for(config) == "13a":
        print(
            f"BLEU {score:.2f}: {meaning(score)} (a rule of thumb: ordinary text is usable"
            " from 30 on)",
            file=sys.stderr,
        )


def _check_outputs(arguments):
    """Fail early if a package is missing, or an output cannot be written or is an input."""
    if arguments.lc_norm_tok:
        require("BLEU of lc.norm.tok", "sacremoses")
    read = [arguments.source, *(arguments.reference or ()), arguments.baseline]
    read += [arguments.lexicon, arguments.shortlist]
    if not (arguments.source or arguments.reference):  # as in _development_text
        data = saved_config(Run.open(arguments.model[0]).config).data
        texts = (
            getattr(data, f"{part}_{side}") for part in ("development", "train") for side in SIDES
        )
        read += [file for text in texts if text for file in files_of(data, text)]
    if arguments.output in STANDARD_OUTPUT:
        check_own_file("--translations", arguments.translations, "the scores")
    check_outputs({"--translations": arguments.translations, "--output": arguments.output}, read)
    if arguments.calibrate:
        check_output(Run.open(arguments.model[0]).confidence, whole=True)


def _check_words(config):
    """Refuse tokens of SentencePiece text that Moses's rules do not cut into words."""
    from rnnsearch_tf.evaluation.bleu import tokenizer_for

    if config.tokenization == "sentencepiece" and tokenizer_for(config) != "13a":
        raise UsageError(
            "--tokenized: expected a target with spaces between its words, got"
            f" {config.language!r} with SentencePiece; leave it out, the other BLEU is of"
            " characters"
        )


def _name_sides(arguments, pair):
    """Name the columns of --pairs as --source and --reference."""
    for flag, value in (("--source", arguments.source), ("--reference", arguments.reference)):
        if value is not None:
            raise UsageError(
                f"--pairs: expected no {flag} beside it, got both; --pairs has both sides"
            )
    arguments.source, reference = pair
    arguments.reference = [reference]


def _files(arguments):
    """(name of the source, source sentences, references of each file) of the named files."""
    for flag, value, other in (
        ("--source", arguments.source, "--reference"),
        ("--reference", arguments.reference, "--source"),
    ):
        if value is None:
            raise UsageError(
                f"{flag}: expected a file, as {other} is given, got none; name both, or neither for"
                " the model's development text"
            )
    baseline = [arguments.baseline] if arguments.baseline else []
    check_standard_input([arguments.source, *arguments.reference, *baseline])
    sources = read_all(arguments.source)
    check_sentences(arguments.source, [line.encode() for line in sources[:LOOKED_AT]])
    references = [read_all(path) for path in arguments.reference]
    for path, lines in zip(arguments.reference, references):
        check_counts((arguments.source, path), (len(sources), len(lines)))
    if not sources:
        raise UserError(f"{arguments.source}: expected sentences to evaluate, got an empty file")
    return arguments.source, sources, references


def _development_text(arguments):
    """(its name, source sentences, list of one list of references) of the development text of the
    first model's training.
    """
    run = Run.open(arguments.model[0])
    try:
        pairs = open_corpus(saved_config(run.config), "development")
        sources, references = ([], []) if pairs is None else map(list, zip(*pairs))
    except UserError as error:
        raise UserError(
            f"{run}: expected the development text of its training, got: {error}; or name --source"
            " F --reference F"
        ) from None
    if pairs is None:
        raise UsageError(
            f"{run}: expected --source F --reference F, as the model was trained without a"
            " development text; name them"
        )
    log.warning(
        "%s: %d pairs of the development text, by which the weights were chosen: expect lower"
        " scores on other text",
        run,
        len(sources),
    )
    return "the development text", sources, [references]


def _beam_sizes(text):
    return [flags.whole_number(1)(size) for size in text.split(",")]


def _baseline(arguments, sentences):
    """Translations of the other system, or None."""
    if not arguments.baseline:
        return None
    lines = read_all(arguments.baseline)
    if len(lines) != sentences:
        raise UserError(
            f"{arguments.baseline}: expected {sentences} translations, one for each source"
            f" sentence, got {len(lines)} lines"
        )
    return lines


def _check_resamples(arguments, sentences):
    """Refuse more resamples than memory has room for, before anything is translated."""
    from rnnsearch_tf.evaluation.significance import TESTS

    numbers = {"--bootstrap": arguments.bootstrap or 0}
    if arguments.baseline:
        numbers["--baseline"] = TESTS[arguments.test or "bootstrap"][1]
    for flag, number in numbers.items():
        if sentences * number > MOST_RESAMPLED:
            raise UsageError(
                f"{flag}: expected at most {MOST_RESAMPLED:,} sentences × resamples, which take"
                f" 4 GB of memory, got {sentences:,} × {number:,}; evaluate fewer sentences, or"
                " with fewer resamples"
            )


def _in_target_form(references, baseline, config, arguments):
    """(references, baseline, fields of the report); the texts are in the form that the model
    writes.

    Args:
        config: TextConfig of the target.
    """
    from rnnsearch_tf.evaluation.bleu import in_target_form

    names = [*(arguments.reference or ["the development text"]), arguments.baseline]
    formed = [in_target_form(lines, config) for lines in [*references, baseline or []]]
    changed = [{"file": name, "lines": count} for name, (_, count) in zip(names, formed) if count]
    found = {"unicode_form": {"form": config.unicode_form, "changed": changed}} if changed else {}
    *references, other = [lines for lines, _ in formed]
    return references, other if baseline is not None else None, found


def _significance(translations, baseline, references, config, arguments) -> dict:
    """Confidence intervals and the comparison with the baseline, as far as asked for."""
    from rnnsearch_tf.evaluation.bleu import tokenizer_for
    from rnnsearch_tf.evaluation.significance import TESTS, confidence_intervals, paired_test

    found = {}
    samples = arguments.bootstrap
    rules = dict(lowercase=arguments.lowercase, tokenize=tokenizer_for(config))
    if samples:
        found["bootstrap"] = confidence_intervals(translations, references, samples, **rules)
    if baseline is not None:
        test = arguments.test or next(iter(TESTS))
        found["baseline"] = {"test": test, "file": arguments.baseline} | paired_test(
            translations, baseline, references, test, None, **rules
        )
    return found


def _translated(translator, sources, changes):
    """Translate all sources, many batches at a time: that shows progress, and batches sentences of
    similar length.
    """
    at_once = BATCHES_AT_ONCE * translator.search_config(**changes).batch_size
    translations = []
    with progress(doing="translating", total=len(sources)) as bar:
        for start in range(0, len(sources), at_once):
            translations += translator.translate(sources[start : start + at_once], **changes)
            bar.update(len(translations) - bar.n)
    return translations


def evaluation_report(
    translator: Translator,
    sources: list[str],
    translations: list[Translation],
    references: list[list[str]],
    arguments: Namespace,
) -> dict[str, Any]:
    """Compute the requested scores, ready for JSON.

    Args:
        references: one list for each set of references, each with one reference for each sentence.
    """
    from rnnsearch_tf.evaluation.bleu import tokenizer_for
    from rnnsearch_tf.evaluation.groups import (
        average_ranks,
        by_frequency_rank,
        by_length,
        by_unknown_words,
    )
    from rnnsearch_tf.evaluation.words import unknown_words

    rules = dict(lowercase=arguments.lowercase, tokenize=tokenizer_for(translator.config.target))
    every_sentence = range(len(sources))
    unknown = unknown_words(translator.source_text, translator.target_text, sources, *references)
    known = [number for number in every_sentence if not unknown[number]]
    scores = _scores(translator, translations, references, every_sentence, arguments)
    report: dict[str, Any] = {
        "all": scores,
        "without_unknown_words": scores
        if len(known) == len(sources)
        else _scores(translator, translations, references, known, arguments),
    }
    texts = [translation.text for translation in translations]
    if arguments.by_length:
        lengths = [len(translation.source_tokens or []) for translation in translations]
        report["by_length"] = by_length(texts, references, lengths, **rules)
    if arguments.by_frequency:
        ranks = average_ranks(translator.source_text, sources)
        report["by_frequency_rank"] = by_frequency_rank(texts, references, ranks, **rules)
    if arguments.by_unknown:
        report["by_unknown_words"] = by_unknown_words(texts, references, unknown, **rules)
    return report


def _calibration(arguments, sources, name):
    """The model's calibration if --confidence alone asks for it; refuses too little text for
    --calibrate before anything is translated.
    """
    if not (arguments.calibrate or arguments.confidence):
        return None
    from rnnsearch_tf.evaluation.confidence import Calibration

    if not arguments.calibrate:
        return Calibration.load(Run.open(arguments.model[0]))
    Calibration.check_enough(sources, name)
    return None


def _digest_of_weights(arguments) -> str:
    """SHA-256 of the model's weights, which its calibration belongs to; empty without weights."""
    run = Run.open(arguments.model[0])
    found = [path for path in (run.best_weights, run.eight_bit_weights) if path.exists()]
    return digest_of(found[0]) if found else ""


def _confidence(
    translator, sources, translations, references, arguments, calibration, name, weights
) -> dict:
    """Correlation of confidence and sentence chrF; with --calibrate, fit the calibration first."""
    from rnnsearch_tf.evaluation.bleu import sentence_chrf
    from rnnsearch_tf.evaluation.confidence import Calibration, agreement

    lowercase = arguments.lowercase or translator.config.target.lowercase
    if arguments.calibrate:
        calibration = Calibration.fit(
            translator, sources, translations, references[0], name, lowercase
        )
        if _digest_of_weights(arguments) != weights:
            raise UserError(
                f"{arguments.model[0]}: expected the weights that were evaluated, got others, which"
                " a training has written meanwhile; calibrate when it has ended"
            )
        calibration.save(Run.open(arguments.model[0]))
    confidences = calibration(translator, sources, translations)
    texts = [translations, *references]
    if lowercase:
        texts = [[line.lower() for line in lines] for lines in texts]
    chrf = [sentence_chrf(*lines) / 100 for lines in zip(*texts)]
    return agreement([c.sentence for c in confidences], chrf) | {
        "calibrated on": f"{calibration.sentences} sentences of {calibration.source}"
    }


def _scores(translator, translations, references, chosen, arguments) -> dict:
    """Corpus scores over the chosen sentences."""
    from rnnsearch_tf.evaluation.bleu import bleu, chosen_references, chrf, ter, tokenizer_for
    from rnnsearch_tf.evaluation.words import lc_norm_tok, tokenized, written_tokens

    if not chosen:
        return {"sentences": 0}
    hypotheses = [translations[i] for i in chosen]
    texts = [h.text for h in hypotheses]
    references = chosen_references(references, chosen)
    tokenize = tokenizer_for(translator.config.target)
    scores = [
        bleu(texts, references, tokenize, arguments.lowercase),
        chrf(texts, references, lowercase=arguments.lowercase),
        ter(texts, references, arguments.lowercase, tokenize),
    ]
    fields = {"sentences": len(chosen)} | dict(zip(("bleu", "chrf", "ter"), map(vars, scores)))
    if arguments.tokenized:
        lowercase = arguments.lowercase or translator.config.target.lowercase
        tokens = written_tokens(translator.target_text, hypotheses)
        gold = [tokenized(translator.target_text, lines) for lines in references]
        fields["tokenized_bleu"] = vars(bleu(tokens, gold, tokenize="none", lowercase=lowercase))
    if arguments.lc_norm_tok:
        language = translator.config.target.language
        tokens, how = lc_norm_tok(texts, language)
        gold = [lc_norm_tok(lines, language)[0] for lines in references]
        score = vars(bleu(tokens, gold, tokenize="none", lowercase=True))
        fields["lc_norm_tok_bleu"] = score | {"signature": f"{score['signature']}|{how}"}
    return fields
