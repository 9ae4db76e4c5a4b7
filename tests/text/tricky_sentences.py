"""Sentences chosen to be hard to tokenize, by language."""

COMMON = [
    "",
    "   ",
    ".",
    "...",
    "Wait... what?",
    "Wait .... what.....",
    'He said: "no..."',
    "It costs $5,300.50, or €3,000!",
    "1,2,3, A,B,C,D ,x, 5,",
    "50% of 100 %, 20 °C, ½ cup, x² = y",
    "a-b well-known -- dash – and — more-",
    "(brackets) [square] {curly} <angle>",
    "a/b, c\\d, e|f, g&h, i@j, #k, l_m, n*o, p+q=r, ~s, ^t",
    "See https://www.example.org/a_b?c=d&e=%20#f, or mail a.b@c.org.",
    "emoji 😀 joined 👩‍👩‍👧 flag 🇫🇷, done.",
    "combining e\u0301 and x\u0301 marks, n\u0303.",
    "Hebrew שָׁלוֹם עולם, Arabic مَرْحَبًا بالعالم.",
    "日本語 and 한국어 and 中文, कविता हिन्दी.",
    (
        "no\u00a0break narrow\u202fspace thin\u2009space ideographic\u3000space line\u2028end"
        " next\x85line"
    ),
    "tab\there bell\x07 null\x00 unit\x1f del\x7f zero\u200bwidth soft\u00adhyphen \ufeffmark",
    "“curly” ‘single’ „low“ «guillemets» ‹single› ‚x‘",
    "`back` ``double`` ''two'' '\"both\"'",
    "She said 'hello.'",
    "It ended.'",
    'End.) End.] End." End.»',
    "U.S. U.S.A. p.m. a.m. e.g. i.e. Ph.D. x.y.",
    "Version 2.0.1 is out. 3. Next. IV. Part. ١٢٣, ٤",
    "word.Word word. word Word. Word ?! !!! ???",
    "</s> <unk> <pad> &amp; &apos; &#91; &quot;",
    "ªb. ªc ºC ⅳ. Ⅳ. ⅳ x. Ⓐ x. ⓐ",
]

ENGLISH = [
    "Mr. O'Neill's dogs' bones aren't John's, they're Mary's.",
    "Mrs. Smith, Dr. Jones, Prof. X. and Gen. Lee vs. Col. Mustard.",
    "No. 5 is alive. No. It is not. No. No five.",
    "See pp. 12-15, pp. xii, Art. 3 and Art. Nouveau.",
    "In the 1980's and '90s, rock 'n' roll wasn't dead, y'all'd say.",
    "I can't, won't, shouldn't've, could've, I'm, she'll, he'd, it's.",
    "The Jones' house; James' 'quoted' book; 'tis.",
    "On Jan. 5, Feb. and Dec. Then stop.",
    "He left at 5 p.m. and arrived. Then etc. Done.",
    '"Quoted" and "quoted again" and "unclosed',
    "two'  'spaces' ' around ' it",
]

FRENCH = [
    "L'homme d'été qu'aujourd'hui j'ai vu n'est pas l'ami d'Éric.",
    "Qu'est-ce que c'est ? Quel chien ! Voici : un ; deux.",
    "« Bonjour », dit-il, « ça va ? »",
    "«\u00a0Bonjour\u00a0»\u202f! 20\u00a0% de 5\u202f000\u00a0€",
    "M. Dupont, MM. Durand et Mme. Curie, cf. p. 5, etc. Fin.",
    "Prends-le, va-t'en, presqu'île, l'œuvre, l’homme d’été.",
    "C.-à-d. ceci, ch.-l. cela, n/réf. X, p.ex. 3, S.A.R. Le roi.",
    "'l'' d'' 'x' l' homme l'1 1'l l'« d'",
    "l'日本 d'한국 l'ア ア'a '日'",
    "J'ai 3,5 km, 1 000,50 €, 12h30 à l'I.U.T.",
]

GERMAN = [
    "Z. B. das, z. B. dies, z.B. jenes, d. h. so, u.s.w. und so weiter.",
    "Am 3. Oktober, im 19. Jahrhundert, 100. Mal, Ludwig XIV. Regierte.",
    "Dr. Müller, Nr. 5, Hr. Groß, bzw. Frau Weiß, usw. Ende.",
    "„Guten Tag“, sagte er. »Ja«, ›nein‹.",
    "Hans' Auto, geht's, wie'n Hund, '68er, Ku'damm.",
    "1.000,50 Euro, 3,5 %, 20,- DM, E-Mail-Adresse, Mio. Mrd. Stück.",
    "Straße, ÄÖÜ, ß, STRASSE.",
]

BY_LANGUAGE = {"en": ENGLISH + COMMON, "fr": FRENCH + COMMON, "de": GERMAN + COMMON}
EVERYTHING = ENGLISH + FRENCH + GERMAN + COMMON
