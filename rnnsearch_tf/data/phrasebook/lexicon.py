"""The English and French words of the built-in corpus: nouns, adjectives, verbs, function words.

Each English word has exactly one French translation, so that every English sentence has exactly one
too: `you` is always `vous`, and words whose translation depends on more than the sentence (`they`,
`it`) are left out. Every initial h is mute, so that elision depends on the first letter only.
"""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Noun:
    """One noun: its forms, its French gender (m or f), and the kind of thing it names."""

    singular: str
    plural: str
    french: str
    french_plural: str
    gender: str
    kind: str


@dataclasses.dataclass(frozen=True)
class Adjective:
    """One adjective.

    Attributes:
        french: forms m, f, m plural, f plural.
        nouns: kinds of nouns, and single nouns, that it can modify.
        before: whether it precedes the French noun.
        before_vowel: form m before a vowel, if that differs.
        predicate: whether it can follow `is`.
    """

    english: str
    french: tuple[str, str, str, str]
    nouns: frozenset[str]
    before: bool = False
    before_vowel: str | None = None
    predicate: bool = True


@dataclasses.dataclass(frozen=True)
class Verb:
    """One verb.

    Attributes:
        base, third, past: English forms; a verb without `past` is not used in the past.
        french: forms by person (see PERSONS), and of "infinitive" and "participle".
        objects, subjects: kinds of nouns, and single nouns; no objects: an intransitive verb.
        active: whether it takes adverbs of time.
        future: whether it is used in the future.
    """

    base: str
    third: str
    past: str | None
    french: dict[str, str]
    objects: frozenset[str]
    subjects: frozenset[str]
    active: bool = True
    future: bool = True


PERSONS = ("1s", "3s", "1p", "2p", "3p")

NOUNS = tuple(
    Noun(*line.split())
    for line in """\
man men homme hommes m person
woman women femme femmes f person
boy boys garçon garçons m person
girl girls fille filles f person
child children enfant enfants m person
teacher teachers professeur professeurs m person
doctor doctors médecin médecins m person
friend friends ami amis m kin
sister sisters sœur sœurs f kin
brother brothers frère frères m kin
uncle uncles oncle oncles m kin
dog dogs chien chiens m animal
cat cats chat chats m animal
horse horses cheval chevaux m animal
bird birds oiseau oiseaux m animal
cow cows vache vaches f animal
book books livre livres m thing
letter letters lettre lettres f thing
car cars voiture voitures f thing
key keys clé clés f thing
hat hats chapeau chapeaux m clothes
dress dresses robe robes f clothes
coat coats manteau manteaux m clothes
bag bags sac sacs m thing
box boxes boîte boîtes f thing
lamp lamps lampe lampes f thing
umbrella umbrellas parapluie parapluies m thing
picture pictures image images f thing
flower flowers fleur fleurs f thing
table tables table tables f furniture
chair chairs chaise chaises f furniture
door doors porte portes f opening
window windows fenêtre fenêtres f opening
apple apples pomme pommes f food
egg eggs œuf œufs m food
cake cakes gâteau gâteaux m food
bread - pain - m substance
cheese - fromage - m substance
soup - soupe - f substance
water - eau - f liquid
milk - lait - m liquid
coffee - café - m liquid
house houses maison maisons f place
garden gardens jardin jardins m place
kitchen kitchens cuisine cuisines f place
school schools école écoles f place
hotel hotels hôtel hôtels m place
church churches église églises f place
park parks parc parcs m place
village villages village villages m place
station stations gare gares f place
market markets marché marchés m place""".splitlines()
)

COLOURS = frozenset({"red", "blue", "green", "black", "white"})
UNCOUNTED = frozenset({"substance", "liquid"})


def _adjective(english: str, french: str, nouns: str, **more: Any) -> Adjective:
    masculine, feminine, masculine_plural, feminine_plural = french.split()
    forms = (masculine, feminine, masculine_plural, feminine_plural)
    return Adjective(english, forms, frozenset(nouns.split()), **more)


_COLOURED = "clothes furniture opening car key bag box lamp umbrella book flower"

ADJECTIVES = (
    _adjective(
        "small",
        "petit petite petits petites",
        "thing clothes furniture opening food place",
        before=True,
    ),
    _adjective(
        "little",
        "petit petite petits petites",
        "boy girl brother sister animal",
        before=True,
        predicate=False,
    ),
    _adjective(
        "big",
        "grand grande grands grandes",
        "thing clothes furniture opening animal place",
        before=True,
    ),
    _adjective(
        "beautiful",
        "beau belle beaux belles",
        "woman child animal thing clothes furniture place",
        before=True,
        before_vowel="bel",
    ),
    _adjective(
        "new",
        "nouveau nouvelle nouveaux nouvelles",
        "teacher doctor friend animal thing clothes furniture place",
        before=True,
        before_vowel="nouvel",
        predicate=False,
    ),
    _adjective(
        "old",
        "vieux vieille vieux vieilles",
        "man woman friend teacher doctor uncle animal thing clothes furniture place",
        before=True,
        before_vowel="vieil",
    ),
    _adjective("young", "jeune jeune jeunes jeunes", "man woman girl teacher doctor", before=True),
    _adjective(
        "good",
        "bon bonne bons bonnes",
        "book letter picture teacher doctor friend food substance coffee hotel",
        before=True,
    ),
    _adjective("red", "rouge rouge rouges rouges", _COLOURED + " apple"),
    _adjective("blue", "bleu bleue bleus bleues", _COLOURED),
    _adjective("green", "vert verte verts vertes", _COLOURED + " apple"),
    _adjective("black", "noir noire noirs noires", _COLOURED + " animal"),
    _adjective("white", "blanc blanche blancs blanches", _COLOURED + " animal house"),
    _adjective(
        "expensive",
        "cher chère chers chères",
        "car dress coat hat bag lamp umbrella hotel picture table",
    ),
    _adjective(
        "empty",
        "vide vide vides vides",
        "box bag table chair house hotel school church park village station kitchen",
    ),
    _adjective(
        "strange",
        "étrange étrange étranges étranges",
        "man woman child teacher thing clothes animal place",
    ),
    _adjective("happy", "heureux heureuse heureux heureuses", "person kin"),
    _adjective("sad", "triste triste tristes tristes", "person kin dog horse"),
    _adjective("tired", "fatigué fatiguée fatigués fatiguées", "person kin animal"),
    _adjective("sick", "malade malade malades malades", "person kin animal"),
    _adjective("hot", "chaud chaude chauds chaudes", "substance liquid"),
    _adjective("cold", "froid froide froids froides", "substance liquid"),
)


def _forms(text: str) -> dict[str, str]:
    """French forms from a line: je, il, nous, vous, ils, infinitive, participle."""
    return dict(zip((*PERSONS, "infinitive", "participle"), text.split(), strict=True))


def _er(stem: str) -> dict[str, str]:
    """Forms of a regular verb in -er."""
    return _forms(f"{stem}e {stem}e {stem}ons {stem}ez {stem}ent {stem}er {stem}é")


_PEOPLE = frozenset({"person", "kin"})
_ALIVE = _PEOPLE | {"animal"}


def _verb(
    english: str,
    french: dict[str, str],
    objects: str = "",
    subjects: frozenset[str] = _PEOPLE,
    **more: Any,
) -> Verb:
    base, third, past = (part.strip() for part in english.split("/"))
    return Verb(base, third, past or None, french, frozenset(objects.split()), subjects, **more)


VERBS = (
    _verb(
        "see / sees / saw",
        _forms("vois voit voyons voyez voient voir vu"),
        "person kin animal thing furniture place",
        _ALIVE,
        active=False,
    ),
    _verb(
        "look for / looks for / looked for",
        _er("cherch"),
        "person animal thing clothes hotel station market",
        _ALIVE,
    ),
    _verb(
        "look at / looks at / looked at",
        _er("regard"),
        "person animal thing clothes house church garden",
        _ALIVE,
    ),
    _verb(
        "buy / buys / bought",
        _forms("achète achète achetons achetez achètent acheter acheté"),
        "animal thing clothes furniture food substance liquid house",
    ),
    _verb(
        "sell / sells / sold",
        _forms("vends vend vendons vendez vendent vendre vendu"),
        "animal thing clothes furniture food substance house hotel",
    ),
    _verb(
        "like / likes /",
        _er("aim"),
        "person kin animal thing clothes food substance liquid place",
        active=False,
        future=False,
    ),
    _verb(
        "have / has /",
        _forms("ai a avons avez ont avoir eu"),
        "animal thing clothes furniture food substance liquid house garden",
        active=False,
        future=False,
    ),
    _verb("wear / wears / wore", _er("port"), "clothes"),
    _verb(
        "open / opens / opened",
        _forms("ouvre ouvre ouvrons ouvrez ouvrent ouvrir ouvert"),
        "opening box bag letter",
    ),
    _verb(
        "eat / eats / ate",
        _forms("mange mange mangeons mangez mangent manger mangé"),
        "food substance",
        _ALIVE,
    ),
    _verb(
        "drink / drinks / drank",
        _forms("bois boit buvons buvez boivent boire bu"),
        "liquid",
        _ALIVE,
    ),
    _verb(
        "clean / cleans / cleaned",
        _forms("nettoie nettoie nettoyons nettoyez nettoient nettoyer nettoyé"),
        "furniture opening car lamp bag coat house kitchen school hotel church",
    ),
    _verb("help / helps / helped", _er("aid"), "person kin"),
    _verb(
        "wait for / waits for / waited for",
        _forms("attends attend attendons attendez attendent attendre attendu"),
        "person kin",
    ),
    _verb(
        "visit / visits / visited", _er("visit"), "house garden school church park village market"
    ),
    _verb(
        "sleep / sleeps / slept",
        _forms("dors dort dormons dormez dorment dormir dormi"),
        subjects=_ALIVE,
    ),
    _verb("work / works / worked", _er("travaill")),
    _verb("sing / sings / sang", _er("chant"), subjects=_PEOPLE | {"bird"}),
    _verb(
        "play / plays / played",
        _er("jou"),
        subjects=frozenset({"boy", "girl", "child", "kin", "dog", "cat"}),
    ),
)

GIVE = _verb("give / gives / gave", _er("donn"), "thing clothes food substance liquid animal")
GO = _verb("go / goes /", _forms("vais va allons allez vont aller allé"), "place")
COME = _verb("come / comes /", _forms("viens vient venons venez viennent venir venu"), "place")
BE = {
    "1s": ("am", "suis"),
    "3s": ("is", "est"),
    "1p": ("are", "sommes"),
    "2p": ("are", "êtes"),
    "3p": ("are", "sont"),
}
WAS = {"3s": ("was", "était"), "3p": ("were", "étaient")}
HAVE = next(verb.french for verb in VERBS if verb.base == "have")

SUBJECTS = {
    "I": ("je", "1s", "m"),
    "he": ("il", "3s", "m"),
    "she": ("elle", "3s", "f"),
    "we": ("nous", "1p", "m"),
    "you": ("vous", "2p", "m"),
}
OBJECTS = {"him": "le", "her": "la", "them": "les"}

POSSESSIVES = {  # m, f, plural; the masculine form also before a vowel
    "my": ("mon", "ma", "mes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "your": ("votre", "votre", "vos"),
}
NUMBERS = {"two": "deux", "three": "trois", "four": "quatre"}

INSIDE = ("house", "garden", "kitchen", "school", "hotel", "church", "park", "village", "station")
FACED = ("house", "school", "hotel", "church", "station", "market")
REACHED = ("school", "hotel", "church", "park", "village", "station", "market")
