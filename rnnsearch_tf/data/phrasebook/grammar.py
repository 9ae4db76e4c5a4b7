"""Agreement, order, elision: English phrases and their French translations, built side by side.

A phrase holds its English words and its French words, and each French word
knows which English words it translates; the gold alignment falls out of that.
`le`, `de` and the like are written in full while a sentence is built;
:func:`finish` elides (`l'`, `d'`, `j'`, `n'`, `qu'`) and contracts (`du`, `des`,
`au`, `aux`).
"""

import dataclasses

from rnnsearch_tf.data.phrasebook import lexicon


class Word:
    """One English word; two of them are the same only if they are one object."""

    def __init__(self, text):
        self.text = text


@dataclasses.dataclass(frozen=True)
class Piece:
    """One French word and the English words it translates (none: it has no counterpart)."""

    text: str
    of: tuple[Word, ...] = ()


@dataclasses.dataclass
class Phrase:
    """English words, French words, agreement, and which words meet in it.

    `person` is a key of lexicon.PERSONS. `combinations` holds the pairs of
    lemmas that decide whether a sentence is for training or held out.
    """

    english: list[Word]
    french: list[Piece]
    person: str = "3s"
    gender: str = "m"
    head: str | None = None
    combinations: frozenset = frozenset()

    @property
    def plural(self):
        return self.person.endswith("p")


def fixed(english, french, links="") -> Phrase:
    """A phrase written out, with its alignment as `source-target` pairs.

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


def starts_with_vowel(word) -> bool:
    """Whether a French word elides what stands before it (every h of the lexicon is mute)."""
    return word[0] in "aeiouhéêèœî"


def adjective_form(adjective, gender, plural) -> str:
    return adjective.french[2 * plural + (gender == "f")]


def noun_phrase(noun, determiner, plural=False, before=None, after=None, negated=False) -> Phrase:
    """Determiner, adjectives, noun: `the small red car` → `la petite voiture rouge`.

    `before` and `after` are adjectives by their French place. `negated`: the
    direct object of a negated verb, whose indefinite article is `de`.
    """
    combinations = frozenset(
        (noun.singular, adjective.english) for adjective in (before, after) if adjective
    )
    noun_word = Word(noun.plural if plural else noun.singular)
    english = []
    french = []
    for adjective in (before, after):
        if adjective:
            english.append(Word(adjective.english))
    words = iter(english)
    noun_text = noun.french_plural if plural else noun.french
    if before:
        form = adjective_form(before, noun.gender, plural)
        if (
            before.before_vowel
            and not plural
            and noun.gender == "m"
            and starts_with_vowel(noun_text)
        ):
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


def _determiner(english, noun, plural, following, adjective_before, negated) -> str:
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


def owned(thing: Phrase, owner: Phrase) -> Phrase:
    """`the car` of `my uncle` → `my uncle's car`, `la voiture de mon oncle`; `thing` has the
    article `the`.
    """
    of = Word("'s")
    article = Piece(thing.french[0].text)
    return Phrase(
        [*owner.english, of, *thing.english[1:]],
        [article, *thing.french[1:], Piece("de", (of,)), *owner.french],
        thing.person,
        thing.gender,
        thing.head,
        thing.combinations | owner.combinations | {(owner.head, thing.head)},
    )


def pronoun(english) -> Phrase:
    """A subject pronoun."""
    french, person, gender = lexicon.SUBJECTS[english]
    word = Word(english)
    return Phrase([word], [Piece(french, (word,))], person, gender)


ELIDED = {"le": "l'", "la": "l'", "de": "d'", "je": "j'", "ne": "n'", "que": "qu'", "ce": "c'"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def finish(english: list[Word], french: list[Piece]):
    """Elide, contract and capitalize; number the words.

    Returns:
        English tokens, French tokens, and the alignment as sorted
        (source position, target position) pairs, from 0, on those tokens.
    """
    pieces = []
    for piece in french:
        if pieces and starts_with_vowel(piece.text) and pieces[-1].text in ELIDED:
            pieces[-1] = Piece(ELIDED[pieces[-1].text], pieces[-1].of)
        pieces.append(piece)
    contracted = []
    for piece in pieces:
        both = (contracted[-1].text, piece.text) if contracted else None
        if both in CONTRACTED:
            contracted[-1] = Piece(CONTRACTED[both], contracted[-1].of + piece.of)
        else:
            contracted.append(piece)
    position = {id(word): j for j, word in enumerate(english)}
    links = sorted(
        {(position[id(word)], i) for i, piece in enumerate(contracted) for word in piece.of}
    )
    source = [word.text for word in english]
    target = [piece.text for piece in contracted]
    return _capitalized(source), _capitalized(target), links


def _capitalized(tokens):
    return [tokens[0][0].upper() + tokens[0][1:], *tokens[1:]]


def english_text(tokens) -> str:
    """Tokens as an English sentence is written."""
    return " ".join(tokens).replace(" 's", "'s").replace(" .", ".").replace(" ?", "?")


def french_text(tokens) -> str:
    """Tokens as a French sentence is written, with a plain space before the question mark."""
    return " ".join(tokens).replace("' ", "'").replace(" .", ".")
