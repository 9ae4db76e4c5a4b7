"""The English and French words of the built-in corpus: nouns, adjectives, verbs, function words.

Each English word has exactly one French translation, so that every English sentence has exactly one
too: `you` is always `vous`, and words whose translation depends on more than the sentence (`they`,
`it`) are left out. Every initial h is mute, so that elision depends on the first letter only.
"""

from __future__ import annotations

import dataclasses


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
    french: tuple[str, ...]
    nouns: frozenset[str]
    before: bool
    before_vowel: str | None
    predicate: bool


@dataclasses.dataclass(frozen=True)
class Verb:
    """One verb.

    Attributes:
        base, third, past: English forms; a verb without `past` is drawn in the present alone.
        french: forms by person (see PERSONS), and of "infinitive" and "participle".
        objects, subjects: kinds of nouns, and single nouns; no objects: an intransitive verb.
        active: whether it takes adverbs of time.
    """

    base: str
    third: str
    past: str | None
    french: dict[str, str]
    objects: frozenset[str]
    subjects: frozenset[str]
    active: bool


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


_COLOURED = "clothes furniture opening car key bag box lamp umbrella book flower"


def _adjective(english: str, french: str, place: str, nouns: str) -> Adjective:
    forms = french.split()
    before_vowel = forms[4] if len(forms) > 4 else None
    before = place.startswith("before")
    predicate = not place.endswith("only")
    kinds = frozenset(nouns.split())
    return Adjective(english, tuple(forms[:4]), kinds, before, before_vowel, predicate)


# english | forms m, f, m plural, f plural (m before a vowel) | place (only: not after `is`) | nouns
ADJECTIVES = tuple(
    _adjective(*line.split(" | "))
    for line in f"""\
small | petit petite petits petites | before | thing clothes furniture opening food place
little | petit petite petits petites | before only | boy girl brother sister animal
big | grand grande grands grandes | before | thing clothes furniture opening animal place
beautiful | beau belle beaux belles bel | before | woman child animal thing clothes furniture place
new | nouveau nouvelle nouveaux nouvelles nouvel | before only |\
 teacher doctor friend animal thing clothes furniture place
old | vieux vieille vieux vieilles vieil | before |\
 man woman friend teacher doctor uncle animal thing clothes furniture place
young | jeune jeune jeunes jeunes | before | man woman girl teacher doctor
good | bon bonne bons bonnes | before |\
 book letter picture teacher doctor friend food substance coffee hotel
red | rouge rouge rouges rouges | after | {_COLOURED} apple
blue | bleu bleue bleus bleues | after | {_COLOURED}
green | vert verte verts vertes | after | {_COLOURED} apple
black | noir noire noirs noires | after | {_COLOURED} animal
white | blanc blanche blancs blanches | after | {_COLOURED} animal house
expensive | cher chère chers chères | after |\
 car dress coat hat bag lamp umbrella hotel picture table
empty | vide vide vides vides | after |\
 box bag table chair house hotel school church park village station kitchen
strange | étrange étrange étranges étranges | after |\
 man woman child teacher thing clothes animal place
happy | heureux heureuse heureux heureuses | after | person kin
sad | triste triste tristes tristes | after | person kin dog horse
tired | fatigué fatiguée fatigués fatiguées | after | person kin animal
sick | malade malade malades malades | after | person kin animal
hot | chaud chaude chauds chaudes | after | substance liquid
cold | froid froide froids froides | after | substance liquid""".splitlines()
)

_IRREGULAR = {  # je, il, nous, vous, ils, infinitive, participle
    line.split()[5]: line
    for line in """\
vois voit voyons voyez voient voir vu
achète achète achetons achetez achètent acheter acheté
vends vend vendons vendez vendent vendre vendu
ai a avons avez ont avoir eu
ouvre ouvre ouvrons ouvrez ouvrent ouvrir ouvert
mange mange mangeons mangez mangent manger mangé
bois boit buvons buvez boivent boire bu
nettoie nettoie nettoyons nettoyez nettoient nettoyer nettoyé
attends attend attendons attendez attendent attendre attendu
dors dort dormons dormez dorment dormir dormi
vais va allons allez vont aller allé
viens vient venons venez viennent venir venu""".splitlines()
}
_PEOPLE = "person kin"
_ALIVE = "person kin animal"
_STATIVE = ("see", "like", "have")  # take no adverbs of time


def _verb(english: str, infinitive: str, subjects: str, objects: str = "") -> Verb:
    base, third, past = (part.strip() for part in english.split("/"))
    stem = infinitive.removesuffix("er")
    regular = f"{stem}e {stem}e {stem}ons {stem}ez {stem}ent {stem}er {stem}é"
    forms = _IRREGULAR.get(infinitive, regular).split()
    return Verb(
        base,
        third,
        past or None,
        dict(zip((*PERSONS, "infinitive", "participle"), forms, strict=True)),
        frozenset(objects.split()),
        frozenset(subjects.split()),
        base not in _STATIVE,
    )


# base / third / past | infinitive | subjects | objects
VERBS = tuple(
    _verb(*line.split(" | "))
    for line in f"""\
see / sees / saw | voir | {_ALIVE} | person kin animal thing furniture place
look for / looks for / looked for | chercher | {_ALIVE} |\
 person animal thing clothes hotel station market
look at / looks at / looked at | regarder | {_ALIVE} |\
 person animal thing clothes house church garden
buy / buys / bought | acheter | {_PEOPLE} |\
 animal thing clothes furniture food substance liquid house
sell / sells / sold | vendre | {_PEOPLE} |\
 animal thing clothes furniture food substance house hotel
like / likes / | aimer | {_PEOPLE} | person kin animal thing clothes food substance liquid place
have / has / | avoir | {_PEOPLE} |\
 animal thing clothes furniture food substance liquid house garden
wear / wears / wore | porter | {_PEOPLE} | clothes
open / opens / opened | ouvrir | {_PEOPLE} | opening box bag letter
eat / eats / ate | manger | {_ALIVE} | food substance
drink / drinks / drank | boire | {_ALIVE} | liquid
clean / cleans / cleaned | nettoyer | {_PEOPLE} |\
 furniture opening car lamp bag coat house kitchen school hotel church
help / helps / helped | aider | {_PEOPLE} | person kin
wait for / waits for / waited for | attendre | {_PEOPLE} | person kin
visit / visits / visited | visiter | {_PEOPLE} | house garden school church park village market
sleep / sleeps / slept | dormir | {_ALIVE}
work / works / worked | travailler | {_PEOPLE}
sing / sings / sang | chanter | {_PEOPLE} bird
play / plays / played | jouer | boy girl child kin dog cat""".splitlines()
)

GIVE = _verb("give / gives / gave", "donner", _PEOPLE, "thing clothes food substance liquid animal")
GO = _verb("go / goes /", "aller", _PEOPLE, "place")
COME = _verb("come / comes /", "venir", _PEOPLE, "place")
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
