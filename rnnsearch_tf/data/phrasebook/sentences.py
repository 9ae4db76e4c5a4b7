"""The sentence patterns of the built-in corpus: statements, negations, questions, in three tenses.

Each pattern draws its words from a `random.Random` and returns a finished
:class:`Sentence`. :func:`sentence` draws a pattern and calls it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from random import Random

from rnnsearch_tf.alignment import Link
from rnnsearch_tf.data.phrasebook import grammar, lexicon
from rnnsearch_tf.data.phrasebook.grammar import LemmaPair, Phrase, Piece, Word, fixed
from rnnsearch_tf.data.phrasebook.lexicon import Adjective, Noun, Verb

TIMES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "present": (
        ("now", "maintenant", "0-0"),
        ("every day", "tous les jours", "0-0 0-1 1-2"),
        ("today", "aujourd' hui", "0-0 0-1"),
    ),
    "past": (("yesterday", "hier", "0-0"),),
    "future": (("tomorrow", "demain", "0-0"),),
}
FREQUENCIES = {"often": "souvent", "always": "toujours", "sometimes": "parfois"}
ANIMALS = {noun.singular for noun in lexicon.NOUNS if noun.kind == "animal"}
ASKED = ("he", "she", "we", "you")  # subjects of questions
NOWHERE = Phrase([], [])


@dataclasses.dataclass(frozen=True)
class Sentence:
    """One sentence pair: tokens of both sides, gold links, name of the pattern, and the pairs of
    lemmas that it combines.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[Link, ...]
    pattern: str
    combinations: frozenset[LemmaPair]


def sentence(rng: Random) -> Sentence:
    """Draw one sentence."""
    names = list(PATTERNS)
    name = rng.choices(names, [PATTERNS[each][0] for each in names])[0]
    return PATTERNS[name][1](rng)


def _sentence(
    pattern: str, phrase: Phrase, end: str = ".", extra: Iterable[LemmaPair] = ()
) -> Sentence:
    """The finished sentence; `extra` are combinations beyond those of the phrase."""
    said = phrase + fixed(end, end, "0-0")
    source, target, links = grammar.finish(said.english, said.french)
    combinations = said.combinations.union(extra)
    return Sentence(tuple(source), tuple(target), tuple(links), pattern, combinations)


# ---- drawing noun phrases ----


def _nouns(allowed: Collection[str]) -> list[Noun]:
    """The nouns of the allowed kinds, and the allowed single nouns."""
    return [noun for noun in lexicon.NOUNS if noun.kind in allowed or noun.singular in allowed]


@functools.cache
def _adjectives(noun: Noun, before: bool) -> list[Adjective]:
    """The adjectives before or after a French noun."""
    names = {noun.kind, noun.singular}
    return [
        adjective
        for adjective in lexicon.ADJECTIVES
        if adjective.before == before and names & adjective.nouns
    ]


def draw_adjectives(
    rng: Random, noun: Noun, share: float
) -> tuple[Adjective | None, Adjective | None]:
    """(adjective before the French noun, adjective after it); either can be None. There are two
    only if the second is a colour.
    """
    if rng.random() >= share:
        return None, None
    kind = rng.random()
    before = rng.choice([*_adjectives(noun, True)] or [None]) if kind < 0.55 else None
    after = rng.choice([*_adjectives(noun, False)] or [None]) if kind > 0.45 else None
    if before and after and after.english not in lexicon.COLOURS:
        return rng.choice(((before, None), (None, after)))
    return before, after


def draw_noun_phrase(
    rng: Random,
    allowed: Collection[str],
    articles: str = "the a",
    negated: bool = False,
    adjectives: float = 0.5,
) -> Phrase:
    """A noun phrase.

    Args:
        rng: the random generator.
        allowed: kinds of nouns, and single nouns.
        articles: articles to use beside possessives and demonstratives.
        negated: whether the phrase is the object of a negated verb.
        adjectives: probability of adjectives.
    """
    noun = rng.choice(_nouns(allowed))
    uncounted = noun.kind in lexicon.UNCOUNTED
    plural = not uncounted and noun.kind != "place" and rng.random() < 0.35
    if noun.kind == "kin":
        choices = [*lexicon.POSSESSIVES]
    else:
        choices = ["the"] * 6
        if "a" in articles.split():
            choices += ["any" if negated else "some"] * 4 if plural or uncounted else ["a"] * 4
        if plural and not negated and "a" in articles.split():
            choices += lexicon.NUMBERS
        if not uncounted:
            choices += ["these" if plural else "this"]
        unowned = ("person", "place", *lexicon.UNCOUNTED)
        if noun.kind not in unowned or noun.singular in ("house", "garden", "teacher"):
            choices += rng.sample(sorted(lexicon.POSSESSIVES), 2)
    before, after = draw_adjectives(rng, noun, adjectives)
    determiner = rng.choice(choices)
    phrase = grammar.noun_phrase(noun, determiner, plural, before, after, negated)
    if determiner == "the" and noun.kind in ("thing", "clothes") and rng.random() < 0.2:
        owners = {"kin", "teacher", "doctor", "man", "woman"}
        owner = draw_noun_phrase(rng, owners, "the", adjectives=0)
        if not owner.plural:
            phrase = grammar.possessive(phrase, owner)
    return phrase


def draw_subject(
    rng: Random, allowed: Collection[str], pronouns: Sequence[str] = tuple(lexicon.SUBJECTS)
) -> Phrase:
    """A pronoun, with probability 0.5, or a noun phrase."""
    if rng.random() < 0.5:
        return grammar.pronoun(rng.choice(pronouns))
    return draw_noun_phrase(rng, allowed, "the", adjectives=0.25)


def draw_place(rng: Random, furniture: bool = False) -> Phrase:
    """`in the garden`, `near the old station`; with `furniture`, also `under the table`."""
    kind = rng.choice(
        ("inside", "inside", "near", "front", "behind") + ("furniture",) * 3 * furniture
    )
    if kind == "furniture":
        preposition = fixed(*rng.choice((("on", "sur"), ("under", "sous"))), "0-0")
        return preposition + draw_noun_phrase(rng, {"furniture"}, "the", adjectives=0.3)
    preposition, nouns = {
        "inside": (fixed("in", "dans", "0-0"), lexicon.INSIDE),
        "near": (fixed("near", "près de", "0-0 0-1"), ("place",)),
        "front": (fixed("in front of", "devant", "0-0 1-0 2-0"), lexicon.FACED),
        "behind": (fixed("behind", "derrière", "0-0"), lexicon.FACED),
    }[kind]
    return preposition + draw_noun_phrase(rng, nouns, "the", adjectives=0.15)


def draw_time(rng: Random, tense: str) -> Phrase:
    """An adverb of time, with probability 0.2, or nothing."""
    return fixed(*rng.choice(TIMES[tense])) if rng.random() < 0.2 else NOWHERE


# ---- the clause: verb forms, negation, adverb, object pronoun ----


def clause(
    subject: Phrase,
    verb: Verb,
    rest: Sequence[Phrase],
    tense: str = "present",
    negative: bool = False,
    frequency: str | None = None,
    object_pronoun: str | None = None,
    question: bool = False,
) -> Phrase:
    """A clause: subject, verb, object pronoun, and the phrases of `rest`, in the same order in both
    languages, without the punctuation at the end. The verb is combined with each of their heads.
    """
    third = subject.person == "3s"
    helper = {"present": "does" if third else "do", "past": "did", "future": "will"}[tense]
    helped = negative or question or tense == "future"
    finite = {"present": verb.third if third else verb.base, "past": verb.past}
    form = verb.base if helped else finite[tense]
    assert form is not None  # verbs without a past are not drawn with it
    verb_words = [Word(text) for text in form.split()]
    helper_word = Word(helper)
    not_word = Word("not")
    adverb = [Word(frequency)] if frequency else []
    pronoun_word = [Word(object_pronoun)] if object_pronoun else []
    before = ([helper_word] if helped else []) + ([not_word] if negative else [])
    english = (
        ([before.pop(0)] if question else [])
        + subject.english
        + before
        + adverb
        + verb_words
        + pronoun_word
    )

    of_verb = tuple(verb_words)
    of_helper = (helper_word,)
    clitic = [Piece(lexicon.OBJECTS[object_pronoun], tuple(pronoun_word))] if object_pronoun else []
    denial = negative or frequency == "never"
    of_denial = (not_word,) if negative else tuple(adverb)
    ne = [Piece("ne", of_denial)] if denial else []
    pas = [Piece("jamais" if frequency == "never" else "pas", of_denial)] if denial else []
    if frequency in FREQUENCIES:
        pas = [Piece(FREQUENCIES[frequency], tuple(adverb))]
    if tense == "present":
        french = ne + clitic + [Piece(verb.french[subject.person], of_verb)] + pas
    elif tense == "past":
        auxiliary = Piece(lexicon.HAVE[subject.person], of_helper if helped else of_verb)
        french = ne + [auxiliary] + pas + [Piece(verb.french["participle"], of_verb)]
    else:
        auxiliary = Piece(lexicon.GO.french[subject.person], of_helper)
        french = ne + [auxiliary] + pas + clitic + [Piece(verb.french["infinitive"], of_verb)]
    asks = [Piece("est-ce", of_helper), Piece("que", of_helper)] if question else []
    heads = [phrase.head for phrase in (subject, *rest) if phrase.head]
    combinations = subject.combinations | {(head, verb.base) for head in heads}
    said = Phrase(english, asks + subject.french + french, combinations=combinations)
    return sum(rest, said)


def _tense(rng: Random, verb: Verb) -> str:
    return rng.choice(["present"] * 3 + ["past", "future"] * bool(verb.past))


def statement(rng: Random, question: bool = False) -> Sentence:
    """`The girl often buys some bread.` `Did he see my red hat?`"""
    verb = rng.choice(lexicon.VERBS)
    tense = _tense(rng, verb)
    negative = not question and rng.random() < 0.25
    frequency = None
    if tense == "present" and verb.active and not negative and not question and rng.random() < 0.3:
        frequency = rng.choice([*FREQUENCIES, "never"])
    subject = draw_subject(rng, verb.subjects, ASKED if question else tuple(lexicon.SUBJECTS))
    thing = NOWHERE
    if verb.objects:
        articles = "the" if verb.base in ("like", "see", "look at", "clean") else "the a"
        drunk = (
            {"water", "milk"} if verb.base == "drink" and subject.head in ANIMALS else verb.objects
        )
        thing = draw_noun_phrase(rng, drunk, articles, negated=negative or frequency == "never")
    share = 0.75 if not verb.objects else 0.15 if verb.active and verb.base != "visit" else 0.0
    place = draw_place(rng, furniture=subject.head in ANIMALS) if rng.random() < share else NOWHERE
    time = draw_time(rng, tense) if verb.active and not frequency else NOWHERE
    said = clause(
        subject, verb, [thing, place, time], tense, negative, frequency, question=question
    )
    name = f"{'question' if question else 'statement'} {tense}{' not' * negative}"
    return _sentence(name, said, "?" if question else ".")


def with_object_pronoun(rng: Random) -> Sentence:
    """`The dog does not see him.` → `Le chien ne le voit pas.`"""
    verbs = ("see", "look for", "look at", "help", "wait for", "like")
    verb = rng.choice([verb for verb in lexicon.VERBS if verb.base in verbs])
    tense = rng.choice(("present", "present", "future"))
    negative = rng.random() < 0.3
    subject = draw_subject(rng, verb.subjects)
    place = draw_place(rng) if verb.base != "like" and rng.random() < 0.4 else NOWHERE
    said = clause(
        subject, verb, [place], tense, negative, object_pronoun=rng.choice(sorted(lexicon.OBJECTS))
    )
    return _sentence(f"pronoun {tense}{' not' * negative}", said)


def giving(rng: Random) -> Sentence:
    """`She gives the red book to the boy.` → `Elle donne le livre rouge au garçon.`"""
    tense = _tense(rng, lexicon.GIVE)
    subject = draw_subject(rng, {"person", "kin"})
    thing = draw_noun_phrase(rng, lexicon.GIVE.objects, adjectives=0.3)
    receiver = draw_noun_phrase(rng, {"person", "kin"}, "the", adjectives=0.1)
    rest = [thing, fixed("to", "à", "0-0") + receiver]
    return _sentence(f"give {tense}", clause(subject, lexicon.GIVE, rest, tense))


def going(rng: Random) -> Sentence:
    """`We go to the market.` `The doctor comes from the station.`"""
    verb, english, french = rng.choice(((lexicon.GO, "to", "à"), (lexicon.COME, "from", "de")))
    tense = rng.choice(("present", "future")) if verb is lexicon.GO else "present"
    negative, asks = rng.choice(((False, False), (False, False), (True, False), (False, True)))
    subject = draw_subject(rng, {"person", "kin"}, ASKED if asks else tuple(lexicon.SUBJECTS))
    place = draw_noun_phrase(rng, lexicon.REACHED, "the", adjectives=0.3)
    rest = [fixed(english, french, "0-0") + place, draw_time(rng, tense)]
    said = clause(subject, verb, rest, tense, negative, question=asks)
    name = f"{verb.base} {tense}{' not' * negative}{' asks' * asks}"
    return _sentence(name, said, "?" if asks else ".")


def being(rng: Random) -> Sentence:
    """`The red car is not very expensive.` `Was the school empty?` `I am in the kitchen.`"""
    tense = rng.choice(("is", "is", "was"))
    negative, asks = rng.choice(((False, False), (False, False), (True, False), (False, True)))
    noun = rng.choice([noun for noun in lexicon.NOUNS if _predicates(noun)])
    located = rng.random() < 0.3 and noun.kind not in ("place", "food", *lexicon.UNCOUNTED)
    if rng.random() < 0.25:
        everyone = located and tense == "is" and not asks
        subject = grammar.pronoun(
            rng.choice(sorted(lexicon.SUBJECTS) if everyone else ("he", "she"))
        )
        noun = next(noun for noun in lexicon.NOUNS if noun.singular == "man")
    else:
        subject = draw_noun_phrase(
            rng, {noun.singular}, "the", adjectives=0.0 if noun.kind in lexicon.UNCOUNTED else 0.2
        )
    if located:
        complement = draw_place(rng, furniture=noun.kind in ("thing", "clothes", "animal"))
    else:
        complement = _predicate(rng, noun, subject)
    form, french_form = (lexicon.BE if tense == "is" else lexicon.WAS)[subject.person]
    be = _be(form, french_form, negative)
    if asks:
        opening = [Piece(text, (be.english[0],)) for text in ("est-ce", "que")]
        said = Phrase(be.english, opening) + subject + Phrase([], be.french)
    else:
        said = subject + be
    name = f"be {tense}{' there' * located}{' not' * negative}{' asks' * asks}"
    combinations = {(subject.head, complement.head)} if subject.head else set()
    return _sentence(name, said + complement, "?" if asks else ".", combinations)


def _be(english: str, french: str, negative: bool) -> Phrase:
    """A form of `be`: `is`, `est`; or its negation: `is not`, `n'est pas`."""
    if negative:
        return fixed(f"{english} not", f"ne {french} pas", "1-0 0-1 1-2")
    return fixed(english, french, "0-0")


def _predicates(noun: Noun) -> list[Adjective]:
    """The adjectives that can follow `is` with a noun."""
    return [
        adjective
        for before in (True, False)
        for adjective in _adjectives(noun, before)
        if adjective.predicate
    ]


def _predicate(rng: Random, noun: Noun, subject: Phrase) -> Phrase:
    """`very empty`, agreeing with the subject; without the subject's own adjectives."""
    used = {word.text for word in subject.english}
    choices = [a for a in _predicates(noun) if a.english not in used]
    adjective = rng.choice(choices)
    word = Word(adjective.english)
    form = grammar.adjective_form(adjective, subject.gender, subject.plural)
    phrase = Phrase([word], [Piece(form, (word,))], head=adjective.english)
    if rng.random() < 0.25 and adjective.english not in ("empty", *lexicon.COLOURS):
        return fixed("very", "très", "0-0") + phrase
    return phrase


def there_is(rng: Random) -> Sentence:
    """`There are three birds in the garden.` → `Il y a trois oiseaux dans le jardin.`"""
    noun = rng.choice(_nouns({"person", "animal", "thing", "furniture", "clothes", "food"}))
    determiner, plural = rng.choice(
        [("a", False)] * 2 + [("some", True)] + [(number, True) for number in lexicon.NUMBERS]
    )
    before, after = draw_adjectives(rng, noun, 0.6)
    thing = grammar.noun_phrase(noun, determiner, plural, before, after)
    small = noun.singular not in ("horse", "cow", "car")
    place = draw_place(rng, furniture=small and noun.kind not in ("person", "furniture"))
    opening = fixed("there are" if plural else "there is", "il y a", "0-0 0-1 1-2")
    return _sentence("there is", opening + thing + place, extra={(thing.head, place.head)})


def this_is(rng: Random) -> Sentence:
    """`This is not my key.` → `Ce n'est pas ma clé.`"""
    noun = rng.choice(_nouns({"kin", "animal", "thing", "clothes", "furniture", "place"}))
    plural = noun.kind != "place" and rng.random() < 0.4
    negative = rng.random() < 0.3
    owner = rng.choice(sorted(lexicon.POSSESSIVES))
    article = "the" if plural else rng.choice(("a", "a", "the"))
    fits = noun.kind not in ("kin",) and (noun.kind == "place" or rng.random() < 0.5)
    before, after = draw_adjectives(rng, noun, 0.7)
    thing = grammar.noun_phrase(noun, article if fits else owner, plural, before, after)
    pronoun = fixed("these" if plural else "this", "ce", "0-0")
    be = _be("are" if plural else "is", "sont" if plural else "est", negative)
    return _sentence(f"this is{' not' * negative}{' plural' * plural}", pronoun + be + thing)


def where_is(rng: Random) -> Sentence:
    """`Where are my new keys?` → `Où sont mes nouvelles clés ?`"""
    thing = draw_noun_phrase(
        rng, {"kin", "animal", "thing", "clothes", "place", "person", "child"}, "the"
    )
    be, french_be = ("are", "sont") if thing.plural else ("is", "est")
    opening = fixed(f"where {be}", f"où {french_be}", "0-0 1-1")
    return _sentence("where", opening + thing, "?", {("where", thing.head)})


def how_much(rng: Random) -> Sentence:
    """`How much does the hat cost?` → `Combien coûte le chapeau ?`"""
    thing = draw_noun_phrase(
        rng, {"thing", "clothes", "furniture", "food", "substance", "liquid"}, "the"
    )
    opening = fixed("how much do" if thing.plural else "how much does", "combien", "0-0 1-0")
    cost = Word("cost")
    verb = Piece("coûtent" if thing.plural else "coûte", (cost,))
    said = opening + Phrase([], [verb]) + thing + Phrase([cost], [])
    return _sentence("how much", said, "?", {("cost", thing.head)})


def who(rng: Random) -> Sentence:
    """`Who bought the blue lamp?` → `Qui a acheté la lampe bleue ?`"""
    verb = rng.choice([verb for verb in lexicon.VERBS if verb.objects])
    tense = rng.choice(("present", "past")) if verb.past else "present"
    thing = draw_noun_phrase(rng, verb.objects, "the")
    said = clause(fixed("who", "qui", "0-0"), verb, [thing], tense)
    return _sentence(f"who {tense}", said, "?")


PATTERNS: dict[str, tuple[int, Callable[[Random], Sentence]]] = {
    "statement": (36, statement),
    "question": (10, functools.partial(statement, question=True)),
    "object pronoun": (6, with_object_pronoun),
    "give": (5, giving),
    "go": (6, going),
    "be": (15, being),
    "there is": (5, there_is),
    "this is": (5, this_is),
    "where": (5, where_is),
    "how much": (3, how_much),
    "who": (4, who),
}
"""{name of a pattern: (share in percent, function that draws a sentence)}"""
