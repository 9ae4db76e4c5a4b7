"""Small corpora in the form of those of the papers' small scale."""

import gzip


def multi30k(folder, captions=40):
    """A corpus like Multi30k: the n-th caption has n words, the French one the same in capitals."""
    (folder / "multi30k").mkdir(parents=True)
    for part in ("train", "val", "test_2016_flickr"):
        lines = [" ".join(f"{n}w{k}" for k in range(n % 12 + 1)) for n in range(captions)]
        for language, text in (("en", lines), ("fr", [line.upper() for line in lines])):
            (folder / "multi30k" / f"{part}.{language}.gz").write_bytes(
                gzip.compress("".join(f"{line}\n" for line in text).encode())
            )
    return folder


def write_corpus(folder):
    """Paragraphs of 1 to 119 words; in French each has one word more."""
    (folder / "python-docs").mkdir(parents=True)
    for part, copies in (("train", 3), ("val", 1)):
        lines = [
            " ".join(f"{part}{copy}{n}w{k}" for k in range(n))
            for copy in range(copies)
            for n in range(1, 120)
        ]
        for language, more in (("en", ""), ("fr", " encore")):
            text = "".join(f"{line}{more}\n" for line in lines)
            (folder / "python-docs" / f"{part}.{language}.gz").write_bytes(
                gzip.compress(text.encode())
            )
    return folder


def tatoeba(folder, train, val):
    """A corpus like Tatoeba of so many pairs: the n-th of either side has n in it."""
    (folder / "tatoeba").mkdir(parents=True)
    for part, count in (("train", train), ("val", val)):
        for language in ("en", "fr"):
            text = "".join(f"{part} {language} {n}\n" for n in range(count))
            (folder / "tatoeba" / f"{part}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    return folder
