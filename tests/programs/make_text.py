"""Write the small texts that tiny models of other programs are trained on and checked with.

    python make_text.py --multi30k FOLDER --output TEXT
    python make_text.py --multi30k FOLDER --output TEXT --pieces
    python make_text.py --multi30k FOLDER --output TEXT --large

FOLDER holds Multi30k as train.en.gz, train.fr.gz and test_2016_flickr.*.gz. TEXT receives
train.en and train.fr (the training text), valid.en and valid.fr (the last lines of it), and
source.txt and target.txt: the sentences whose outputs are recorded.

The tiny text has about 90 words a language. It consists of 400 captions, in lower case, of which
every word outside the most frequent ones is left out, so that each program builds a small
vocabulary with its own tools. The sentences of source.txt and target.txt are not from Multi30k:
they are written for this purpose, from frequent words; two of them have unknown words. With
--pieces, final "s" and "ing" are split off as subwords are ("shirt@@ s").

With --large, nothing is left out, there are 6000 captions to train on, and source.txt and
target.txt are the first 100 captions of the test set (never committed).

Python 3 and its standard library.
"""

import argparse
import collections
import gzip
import pathlib
import re

SENTENCES = [
    ("a man .", "un homme ."),
    ("dog", "chien"),
    ("two women walking .", "deux femmes marchant ."),
    ("a girl in a blue shirt .", "une fille en t-shirt bleu ."),
    ("people on the street", "des personnes dans la rue"),
    ("a young boy is playing with a red ball .", "un jeune garçon joue avec un ballon rouge ."),
    ("a xylophone is standing by the quokka .", "un xylophone est debout près du quokka ."),
    (
        "a man and a woman are sitting in front of a large building .",
        "un homme et une femme sont assis devant un grand bâtiment .",
    ),
    ("three children running", "trois enfants"),
    (
        "two young men in black are standing on the street with their dog "
        "while a woman is looking .",
        "deux jeunes hommes en noir sont debout dans la rue avec un chien "
        "tandis que une femme regarde .",
    ),
    ("the the the the", "la la la la"),
    ("an old woman holding a zither", "une femme tenant une cithare"),
]


def words_of(line):
    line = line.lower().replace("’", "'")
    return re.findall(r"[\w-]+'?|[^\w\s]", line)


def pieces_of(words):
    pieces = []
    for word in words:
        match = re.fullmatch(r"([\w-]{3,})(s|ing)", word)
        pieces += [match[1] + "@@", match[2]] if match else [word]
    return pieces


def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [words_of(line) for line in file]


def write(path, lines):
    path.write_text("".join(" ".join(words) + "\n" for words in lines), encoding="utf-8")


def frequent(lines, count):
    numbers = collections.Counter(word for words in lines for word in words)
    return {
        word for word, _ in sorted(numbers.items(), key=lambda item: (-item[1], item[0]))[:count]
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--multi30k", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--pieces", action="store_true")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    train = {language: read(options.multi30k / f"train.{language}.gz") for language in ("en", "fr")}
    if options.large:
        pairs = list(zip(train["en"], train["fr"]))[:6000]
        test = [
            read(options.multi30k / f"test_2016_flickr.{language}.gz") for language in ("en", "fr")
        ]
        checked = list(zip(*test))[:100]
    else:
        kept = {language: frequent(lines[:5000], 88) for language, lines in train.items()}
        pairs = []
        for source, target in zip(train["en"], train["fr"]):
            source_kept = [word for word in source if word in kept["en"]]
            target_kept = [word for word in target if word in kept["fr"]]
            whole = len(source_kept) + len(target_kept) > 0.8 * (len(source) + len(target))
            if whole and len(source) <= 14:
                pairs.append((source_kept, target_kept))
        pairs = pairs[:400]
        checked = [(source.split(), target.split()) for source, target in SENTENCES]
    if options.pieces:
        pairs, checked = (
            [(pieces_of(source), pieces_of(target)) for source, target in part]
            for part in (pairs, checked)
        )
    for names, part in (
        (("train.en", "train.fr"), pairs),
        (("valid.en", "valid.fr"), pairs[-20:]),
        (("source.txt", "target.txt"), checked),
    ):
        for side, name in enumerate(names):
            write(options.output / name, [pair[side] for pair in part])


if __name__ == "__main__":
    main()
