"""Words outside the vocabulary, the weakness that Bahdanau et al. 2015 name, and remedies.

Luong et al. 2015b replace an unknown word by the aligned source word or its translation; here it is
the source word, and attention aligns. Guided alignment (Chen et al. 2016) improves these
alignments. With subwords (Sennrich et al.
2016) no word is unknown; subword regularization (Kudo 2018) samples the segmentation anew each
time.
"""

from __future__ import annotations

import functools

from papers.corpora import read_multi30k
from papers.page import Page

BEAM = 5


def table(work, models) -> Page:
    """BLEU of each method on all captions, and on those with a word that the first model does not
    know.

    Args:
        work: Workspace.
        models: with words, words and guided alignment, subwords.
    """
    words, guided, subwords = models
    ways = [
        ("left in", words, {}),
        ("forbidden", words, {"allow_unknown": False}),
        ("replaced by the source word attended to", words, {"replace_unknown": True}),
        ("guided alignment, left in", guided, {}),
        (
            "guided alignment, replaced by the source word attended to",
            guided,
            {"replace_unknown": True},
        ),
        ("SentencePiece", subwords, {}),
    ]
    rows = []
    for number, (way, name, search) in enumerate(ways, start=1):
        key = f"rare-words-{number}"
        [found] = work.of_each_seed(
            key, name, functools.partial(_measure, key=key, words=words, search=search)
        )
        rows.append({"unknown words": way, "model": name} | found)
    text = [
        f"BLEU of lower-cased Moses tokens on test_2016_flickr, beam {BEAM}. The second BLEU is of"
        f" sentences with a word, in themselves or their reference, that {words} does not know."
    ]
    return Page("Rare words", rows, [], text)


def _measure(work, name, seed, key, words, search):
    from rnnsearch_tf.config import SPECIAL_TOKENS, UNKNOWN_ID
    from rnnsearch_tf.evaluation.bleu import bleu
    from rnnsearch_tf.evaluation.words import tokenized

    rare = _sentences_with_unknown_words(work, words, seed)
    sources, references = read_multi30k(work.data, "test")
    translator = work.translator(name, seed)

    def lower_cased(lines):
        # Moses's rules cut a line otherwise where it has capitals
        return tokenized(translator.target_text, [line.lower() for line in lines])

    def translate():
        found = translator.translate(sources, beam_size=BEAM, **search)
        unknown = SPECIAL_TOKENS[UNKNOWN_ID]
        return {
            "tokens": lower_cased([each.text for each in found]),
            "unknown words left": sum(each.tokens.count(unknown) for each in found),
        }

    found = work.output(f"{key}-{name}-{seed}", translate)
    texts, gold = found["tokens"], lower_cased(references)

    def score(chosen):
        if not chosen:
            return None
        return bleu(
            [texts[i] for i in chosen], [gold[i] for i in chosen], tokenize="none", lowercase=True
        ).score

    return {
        "BLEU": score(range(len(texts))),
        "of sentences with unknown words": score(rare),
        "such sentences": len(rare),
        "unknown words left": found["unknown words left"],
    }


def _sentences_with_unknown_words(work, name, seed) -> list:
    """Positions of the captions that have a word that a model does not know, in themselves or in
    their reference.
    """
    from rnnsearch_tf.evaluation.words import unknown_words

    def find():
        translator = work.translator(name, seed)
        counts = unknown_words(
            translator.source_text, translator.target_text, *read_multi30k(work.data, "test")
        )
        return [number for number, count in enumerate(counts) if count]

    return work.measured(f"unknown-{name}-{seed}", find)
