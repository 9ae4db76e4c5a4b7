"""The built-in corpus: what a user of `phrasebook` may rely on, and its gold alignments."""

import collections
import os
import subprocess
import sys

import pytest

from rnnsearch_tf.data.phrasebook import grammar, lexicon, sentences
from rnnsearch_tf.data.phrasebook import PARTS, phrasebook, phrasebook_alignments, phrasebook_tokens
from rnnsearch_tf.errors import UsageError


def words(side):
    return collections.Counter(token.lower() for tokens in side for token in tokens)


def test_the_parts_share_no_sentence_whatever_their_seeds():
    parts = [
        set(phrasebook(700, seed, part)[0])
        for seed, part in ((1, "train"), (2, "development"), (3, "test"), (2, "test"))
    ]
    train, development, test, other_test = parts
    assert not train & (development | test | other_test)
    assert not development & (test | other_test)


def test_sentences_differ_and_a_larger_corpus_begins_with_the_smaller():
    source, target = phrasebook(4000, 1, "train")
    assert len(source) == len(target) == len(set(source)) == 4000
    assert phrasebook(300, 1, "train") == (source[:300], target[:300])
    assert phrasebook(300, 2, "train")[0] != source[:300]


def test_one_english_sentence_has_one_french_sentence():
    translations = {}
    for seed, part, size in ((1, "train", 4000), (2, "train", 4000), (1, "test", 500)):
        for source, target in zip(*phrasebook(size, seed, part)):
            assert translations.setdefault(source, target) == target
    assert len(translations) > 7_500


def test_over_twenty_thousand_sentences_can_be_made():
    assert len(set(phrasebook(20_001, 5, "train")[0])) == 20_001


def test_the_same_in_every_process():
    program = (
        "from rnnsearch_tf.data.phrasebook import *; print([phrasebook(60, 9, part) for part in"
        " PARTS])"
    )
    seen = set()
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
        seen.add(
            subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, check=True
            ).stdout
        )
    assert len(seen) == 1


@pytest.mark.parametrize("part", ["development", "test"])
def test_held_out_sentences_combine_seen_words_in_unseen_ways(part):
    training = phrasebook_tokens(2000, 1, "train")
    held_out = phrasebook_tokens(1000, 1, part)
    for train_side, held_out_side in zip(training, held_out):
        seen = words(train_side)
        assert all(seen[word] >= 2 for word in words(held_out_side))
    described = {adjective.english for adjective in lexicon.ADJECTIVES}
    nouns = {noun.singular for noun in lexicon.NOUNS}

    def combinations(tokens):
        return {
            pair for pair in zip(tokens, tokens[1:]) if pair[0] in described and pair[1] in nouns
        }

    seen = set().union(*map(combinations, training[0]))
    fresh = [tokens for tokens in held_out[0] if combinations(tokens) - seen]
    assert len(fresh) > 100


def test_size_of_sentences_and_vocabularies():
    for side in phrasebook_tokens(4000, 1, "train"):
        assert {3, 12} <= {len(tokens) for tokens in side} <= set(range(3, 13))
        counts = words(side)
        assert 150 <= len(counts) <= 400
        assert min(counts.values()) >= 2
    assert (
        sum(
            not tokens[0][0].isupper()
            for side in phrasebook_tokens(500, 1, "test")
            for tokens in side
        )
        == 0
    )


def test_moses_finds_the_tokens_the_alignments_count():
    sacremoses = pytest.importorskip("sacremoses")
    for language, texts, tokens in zip(
        ("en", "fr"), phrasebook(1500, 3, "train"), phrasebook_tokens(1500, 3, "train")
    ):
        tokenizer = sacremoses.MosesTokenizer(language)
        detokenizer = sacremoses.MosesDetokenizer(language)
        for text, expected in zip(texts, tokens):
            assert tokenizer.tokenize(text, escape=False) == list(expected)
            assert detokenizer.detokenize(list(expected), unescape=False) == text


DICTIONARY = {
    "car": "voiture",
    "cars": "voitures",
    "horse": "cheval",
    "horses": "chevaux",
    "eye": "œil",
    "egg": "œuf",
    "hotel": "hôtel",
    "garden": "jardin",
    "near": "près de d' du des",
    "under": "sous",
    "behind": "derrière",
    "red": "rouge rouges",
    "white": "blanc blanche blancs blanches",
    "old": "vieux vieil vieille vieilles",
    "he": "il",
    "she": "elle",
    "they": "",
    "often": "souvent",
    "never": "ne n' jamais",
    "not": "ne n' pas",
    "tomorrow": "demain",
    "today": "aujourd' hui",
    "every": "tous les",
    "day": "jours",
    "very": "très",
    "who": "qui",
    "where": "où",
    ".": ".",
    "?": "?",
    "him": "le l'",
    "'s": "de d' du",
    "three": "trois",
    "umbrella": "parapluie",
    "yesterday": "hier",
    "we": "nous",
    "you": "vous",
}


def test_alignments_link_words_to_their_translations():
    source, target = phrasebook_tokens(4000, 2, "train")
    met = set()
    for english, french, links in zip(
        source, target, phrasebook_alignments(4000, 2, "train"), strict=True
    ):
        assert list(links) == sorted(set(links))
        linked = collections.defaultdict(set)
        for j, i in links:
            linked[j].add(french[i].lower())
        for j, word in enumerate(english):
            expected = DICTIONARY.get(word.lower())
            if expected:
                met.add(word.lower())
                assert linked[j] and linked[j] <= set(expected.split()), (english, french, j)
        assert len({i for _, i in links}) >= len(french) - 2, (english, french)
    assert len(met) >= 30


def noun(english):
    return next(each for each in lexicon.NOUNS if each.singular == english)


def adjective(english):
    return next(each for each in lexicon.ADJECTIVES if each.english == english)


@pytest.mark.parametrize(
    "english, french, links, phrase",
    [
        (
            "The small red car",
            "La petite voiture rouge",
            "0-0 1-1 2-3 3-2",
            lambda: grammar.noun_phrase(
                noun("car"), "the", before=adjective("small"), after=adjective("red")
            ),
        ),
        (
            "An old hotel",
            "Un vieil hôtel",
            "0-0 1-1 2-2",
            lambda: grammar.noun_phrase(noun("hotel"), "a", before=adjective("old")),
        ),
        (
            "The white eggs",
            "Les œufs blancs",
            "0-0 1-2 2-1",
            lambda: grammar.noun_phrase(noun("egg"), "the", plural=True, after=adjective("white")),
        ),
        (
            "Some good water",
            "De la bonne eau",
            "0-0 0-1 1-2 2-3",
            lambda: grammar.noun_phrase(noun("water"), "some", before=adjective("good")),
        ),
        (
            "Some water",
            "De l' eau",
            "0-0 0-1 1-2",
            lambda: grammar.noun_phrase(noun("water"), "some"),
        ),
        ("Some bread", "Du pain", "0-0 1-1", lambda: grammar.noun_phrase(noun("bread"), "some")),
        ("My school", "Mon école", "0-0 1-1", lambda: grammar.noun_phrase(noun("school"), "my")),
        (
            "The man 's key",
            "La clé de l' homme",
            "0-3 1-4 2-2 3-1",
            lambda: grammar.possessive(
                grammar.noun_phrase(noun("key"), "the"), grammar.noun_phrase(noun("man"), "the")
            ),
        ),
        (
            "The doctor 's key",
            "La clé du médecin",
            "0-2 1-3 2-2 3-1",
            lambda: grammar.possessive(
                grammar.noun_phrase(noun("key"), "the"), grammar.noun_phrase(noun("doctor"), "the")
            ),
        ),
    ],
)
def test_phrases_by_hand(english, french, links, phrase):
    built = phrase()
    source, target, found = grammar.finish(built.english, built.french)
    assert (" ".join(source), " ".join(target)) == (english, french)
    assert " ".join(f"{j}-{i}" for j, i in found) == links


def test_an_unknown_part_is_named():
    with pytest.raises(
        UsageError, match="expected part train, development or test, got 'training'"
    ):
        phrasebook(5, 1, "training")


def test_a_size_beyond_the_grammar_is_named(monkeypatch):
    one = sentences.Sentence(("It", "works", "."), ("Ça", "marche", "."), (), "one", frozenset())
    monkeypatch.setattr(sentences, "PATTERNS", {"one": (1, lambda rng: one)})
    with pytest.raises(UsageError, match="got 3; the train part has about 1 pairs"):
        phrasebook(3, 99, "train")


def test_parts_are_three():
    assert PARTS == ("train", "development", "test")
