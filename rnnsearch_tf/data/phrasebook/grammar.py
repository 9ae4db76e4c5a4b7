"""English phrases and their French translations, built side by side: agreement, order, elision.

A phrase holds its English words and its French words. Each French word refers to the English words
it translates, which gives the gold alignment. `le`, `de` and the like are written in full while a
sentence is built; :func:`finish` elides (`l'`, `d'`, `j'`, `n'`, `qu'`) and contracts (`du`, `des`,
`au`, `aux`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rnnsearch_tf.alignment import Link
from rnnsearch_tf.data.phrasebook import lexicon
from rnnsearch_tf.data.phrasebook.lexicon import Adjective, Noun

LemmaPair = tuple[str, str]
"""Two lemmas that are combined in a phrase."""


class Word:
    """One English word, compared by identity."""

    def __init__(self, text: str):
        self.text = text


@dataclasses.dataclass(frozen=True)
class Piece:
    """One French word and the English words that it translates, if any."""

    text: str
    words: tuple[Word, ...] = ()


@dataclasses.dataclass
class Phrase:
    """An English phrase with its French translation.

    Attributes:
        english, french: words.
        person, gender: for agreement; `person` is a key of lexicon.PERSONS.
        head: lemma of the head noun, if there is one.
        combinations: pairs of lemmas, which decide whether a sentence is held out.
    """

    english: list[Word]
    french: list[Piece]
    person: str = "3s"
    gender: str = "m"
    head: str = ""
    combinations: frozenset[LemmaPair] = frozenset()

    @property
    def plural(self) -> bool:
        return self.person.endswith("p")

    def __add__(self, following: Phrase) -> Phrase:
        """Both phrases, one after the other; the head is that of the second."""
        return Phrase(
            self.english + following.english,
            self.french + following.french,
            head=following.head,
            combinations=self.combinations | following.combinations,
        )


def fixed(english: str, french: str, links: str = "") -> Phrase:
    """A phrase of given words, with its alignment as `source-target` pairs.

    Example:
        >>> [piece.text for piece in fixed("every day", "tous les jours", "0-0 0-1 1-2").french]
        ['tous', 'les', 'jours']
    """
    words = [Word(text) for text in english.split()]
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    pieces = [
        Piece(text, tuple(words[j] for j, i in pairs if i == position))
        for position, text in enumerate(french.split())
    ]
    return Phrase(words, pieces)


def starts_with_vowel(word: str) -> bool:
    """Whether the word before a French word is elided (every h of the lexicon is mute)."""
    return word[0] in "aeiouhéêèœî"


def adjective_form(adjective: Adjective, gender: str, plural: bool) -> str:
    """The French form of an adjective."""
    return adjective.french[2 * plural + (gender == "f")]


def noun_phrase(
    noun: Noun,
    determiner: str,
    plural: bool = False,
    before: Adjective | None = None,
    after: Adjective | None = None,
    negated: bool = False,
) -> Phrase:
    """Determiner, adjectives, noun: `the small red car` → `la petite voiture rouge`.

    Args:
        noun: the head.
        determiner: English determiner.
        plural: whether the noun is in the plural.
        before, after: adjectives before and after the French noun.
        negated: whether the phrase is the direct object of a negated verb, with the indefinite
            article `de`.
    """
    combinations = frozenset(
        (noun.singular, adjective.english) for adjective in (before, after) if adjective
    )
    noun_word = Word(noun.plural if plural else noun.singular)
    english = [Word(adjective.english) for adjective in (before, after) if adjective]
    french = []
    words = iter(english)
    noun_text = noun.french_plural if plural else noun.french
    if before:
        form = adjective_form(before, noun.gender, plural)
        masculine = noun.gender == "m" and not plural
        if before.before_vowel and masculine and starts_with_vowel(noun_text):
            form = before.before_vowel
        french.append(Piece(form, (next(words),)))
    french.append(Piece(noun_text, (noun_word,)))
    if after:
        french.append(Piece(adjective_form(after, noun.gender, plural), (next(words),)))
    english.append(noun_word)
    if determiner == "a":
        determiner = "an" if english[0].text[0] in "aeiou" else "a"
    word = Word(determiner)
    forms = _determiner(determiner, noun, plural, french[0].text, bool(before), negated)
    french = [Piece(form, (word,)) for form in forms.split()] + french
    return Phrase(
        [word, *english], french, "3p" if plural else "3s", noun.gender, noun.singular, combinations
    )


def _determiner(
    english: str, noun: Noun, plural: bool, following: str, adjective_before: bool, negated: bool
) -> str:
    """The French determiner, not yet elided or contracted."""
    feminine = noun.gender == "f"
    vowel = starts_with_vowel(following)
    article = "les" if plural else "la" if feminine else "le"
    if english == "the":
        return article
    if english in ("a", "an", "some", "any"):
        if negated:
            return "de"
        if noun.kind in lexicon.UNCOUNTED:
            return f"de {article}"
        if plural:
            return "de" if adjective_before else "des"
        return "une" if feminine else "un"
    if english == "this":
        return "cette" if feminine else "cet" if vowel else "ce"
    if english == "these":
        return "ces"
    if english in lexicon.NUMBERS:
        return lexicon.NUMBERS[english]
    masculine_form, feminine_form, plural_form = lexicon.POSSESSIVES[english]
    return plural_form if plural else feminine_form if feminine and not vowel else masculine_form


def possessive(thing: Phrase, owner: Phrase) -> Phrase:
    """`the car`, `my uncle` → `my uncle's car`, `la voiture de mon oncle`; `thing` has the article
    `the`.
    """
    suffix = Word("'s")
    article = Piece(thing.french[0].text)
    return dataclasses.replace(
        thing,
        english=[*owner.english, suffix, *thing.english[1:]],
        french=[article, *thing.french[1:], Piece("de", (suffix,)), *owner.french],
        combinations=thing.combinations | owner.combinations | {(owner.head, thing.head)},
    )


def pronoun(english: str) -> Phrase:
    """A subject pronoun."""
    french, person, gender = lexicon.SUBJECTS[english]
    word = Word(english)
    return Phrase([word], [Piece(french, (word,))], person, gender)


ELIDED = {"le": "l'", "la": "l'", "de": "d'", "je": "j'", "ne": "n'", "que": "qu'", "ce": "c'"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def finish(
    english: Sequence[Word], french: Sequence[Piece]
) -> tuple[list[str], list[str], list[Link]]:
    """Elide, contract and capitalize.

    Returns:
        (English tokens, French tokens, sorted links between them).
    """
    pieces: list[Piece] = []
    for piece in french:
        if pieces and starts_with_vowel(piece.text) and pieces[-1].text in ELIDED:
            pieces[-1] = Piece(ELIDED[pieces[-1].text], pieces[-1].words)
        pieces.append(piece)
    contracted: list[Piece] = []
    for piece in pieces:
        both = (contracted[-1].text, piece.text) if contracted else ("", "")
        if both in CONTRACTED:
            contracted[-1] = Piece(CONTRACTED[both], contracted[-1].words + piece.words)
        else:
            contracted.append(piece)
    position = {id(word): j for j, word in enumerate(english)}
    links = sorted(
        {(position[id(word)], i) for i, piece in enumerate(contracted) for word in piece.words}
    )
    source = [word.text for word in english]
    target = [piece.text for piece in contracted]
    return _capitalized(source), _capitalized(target), links


def _capitalized(tokens: Sequence[str]) -> list[str]:
    return [tokens[0][0].upper() + tokens[0][1:], *tokens[1:]]


def english_text(tokens: Sequence[str]) -> str:
    """Join English tokens to a sentence."""
    return " ".join(tokens).replace(" 's", "'s").replace(" .", ".").replace(" ?", "?")


def french_text(tokens: Sequence[str]) -> str:
    """Join French tokens to a sentence, with a plain space before the question mark."""
    return " ".join(tokens).replace("' ", "'").replace(" .", ".")
