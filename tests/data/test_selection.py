"""Corpus selection: its scores against n-grams counted in dictionaries, and what comes out against
what went in.
"""

import gzip
import math
import random

import numpy as np
import pytest

from rnnsearch_tf.cli.main import run

END = "</s>"
DOMAIN = {
    "a": "the cat sleeps on the red mat".split(),
    "b": "le chat dort sur le tapis rouge".split(),
}
OTHER = {
    "a": "we sell the new price on paper".split(),
    "b": "nous vendons le prix neuf sur papier".split(),
}


def lines(words, number, generator, shortest=2):
    return [
        " ".join(generator.choices(words, k=generator.randint(shortest, 8))) for _ in range(number)
    ]


@pytest.fixture
def corpus(tmp_path):
    """{name: path} of small text files: `in`, the domain, and `all`, 12 lines of it and 28 others;
    .a is the source, .b the target.
    """
    generator = random.Random(3)
    paths = {}
    texts = {}
    for side in "ab":
        texts[f"in.{side}"] = lines(DOMAIN[side], 20, generator)
        texts[f"all.{side}"] = lines(DOMAIN[side], 12, generator) + lines(
            OTHER[side], 28, generator
        )
    for name, line in (("in.a", 3), ("all.a", 2)):
        texts[name][line] += " sometimes"  # once in the domain's text: an unknown word
    texts["all.a"][5] = ""
    texts["all.b"][17] = "  "
    texts["all.a"][7] = " ".join(["cat"] * 30)
    for name, text in texts.items():
        paths[name] = tmp_path / name
        paths[name].write_text("".join(line + "\n" for line in text), encoding="utf-8")
    return paths


def command(corpus, *more):
    words = [
        "select",
        "--in-domain-source",
        corpus["in.a"],
        "--in-domain-target",
        corpus["in.b"],
        "--source",
        corpus["all.a"],
    ]
    folder = corpus["in.a"].parent
    words += [
        "--target",
        corpus["all.b"],
        "--output-source",
        folder / "out.a",
        "--output-target",
        folder / "out.b.gz",
    ]
    for flag in set(more) & set(words[1:]):  # in place of the usual value
        place = words.index(flag)
        del words[place : place + 2]
    return [str(word) for word in [*words, "--maximum-length", 20, "--tokenized", *more]]


def cross_entropies(training, vocabulary, order, sentences):
    """Nats a token of each sentence, by interpolated Kneser-Ney with n-grams in dictionaries; the
    words of a sentence are a list.
    """
    begun = [
        ["<s>", *(word if word in vocabulary else "<unk>" for word in sentence), END]
        for sentence in training
    ]
    raw = {}
    for words in begun:
        for last in range(1, len(words)):
            for first in range(max(0, last + 1 - order), last + 1):
                gram = tuple(words[first : last + 1])
                raw[gram] = raw.get(gram, 0) + 1
    count = {
        gram: (
            number
            if len(gram) == order or gram[0] == "<s>"
            else sum(other[1:] == gram for other in raw)
        )
        for gram, number in raw.items()
    }

    def discount(n):
        numbers = [number for gram, number in count.items() if len(gram) == n]
        once = numbers.count(1)
        twice = numbers.count(2)
        return once / (once + 2 * twice) if once and twice else 0.5

    discounts = {n: discount(n) for n in range(1, order + 1)}

    def probability(word, before):
        # the end symbol, the unknown word
        lower = probability(word, before[1:]) if before else 1 / (len(vocabulary) + 2)
        follow = [number for gram, number in count.items() if gram[:-1] == before]
        if not follow:
            return lower
        d = discounts[len(before) + 1]
        return (max(count.get((*before, word), 0) - d, 0) + d * len(follow) * lower) / sum(follow)

    for sentence in sentences:
        words = ["<s>", *(word if word in vocabulary else "<unk>" for word in sentence), END]
        nats = [
            -math.log(probability(words[k], tuple(words[max(0, k + 1 - order) : k])))
            for k in range(1, len(words))
        ]
        yield sum(nats) / len(nats)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_scores_are_the_difference_of_cross_entropies(corpus, order, monkeypatch):
    """The draw is watched; all the rest is counted anew."""
    import rnnsearch_tf.data.inspection.selection as selection

    drawn = []
    draw = selection.sampled
    monkeypatch.setattr(
        selection, "sampled", lambda *words: drawn.append(draw(*words)) or drawn[-1]
    )
    monkeypatch.setattr(selection, "PAIRS_AT_ONCE", 7)
    scores = corpus["in.a"].parent / "scores"
    assert run(command(corpus, "--keep", 0.3, "--order", order, "--scores", scores)) == 0
    texts = {
        name: [line.split() for line in path.read_text().splitlines()]
        for name, path in corpus.items()
    }
    assert len(drawn) == 1 and len(drawn[0]) == len(texts["in.a"])
    assert all(text.strip() for pair in drawn[0] for text in pair)
    assert {pair for pair in drawn[0]} <= set(
        zip(*(corpus[f"all.{side}"].read_text().splitlines() for side in "ab"))
    )
    expected = np.zeros(40)
    for place, side in enumerate("ab"):
        counts = {}
        for word in sum(texts[f"in.{side}"], []):
            counts[word] = counts.get(word, 0) + 1
        vocabulary = {word for word, number in counts.items() if number > 1}
        sample = [pair[place].split() for pair in drawn[0]]
        every = [
            list(cross_entropies(text, vocabulary, order, texts[f"all.{side}"]))
            for text in (texts[f"in.{side}"], sample)
        ]
        expected += np.subtract(*every)
    expected[[5, 7, 17]] = np.inf
    np.testing.assert_allclose(
        [float(line) for line in scores.read_text().splitlines()], expected, atol=2e-6
    )


def test_the_lowest_are_kept_in_their_order(corpus, capsys):
    folder = corpus["in.a"].parent
    corpus["all.a"].write_bytes(corpus["all.a"].read_bytes().replace(b"\n", b"\r\n", 1))
    assert run(command(corpus, "--keep", 0.25, "--scores", folder / "scores")) == 0
    scores = [float(line) for line in (folder / "scores").read_text().splitlines()]
    best = sorted(sorted(range(40), key=lambda line: (scores[line], line))[:10])
    assert sum(line < 12 for line in best) >= 8
    kept = [(folder / "out.a").read_bytes(), gzip.decompress((folder / "out.b.gz").read_bytes())]
    for side, text in zip("ab", kept):
        every = corpus[f"all.{side}"].read_bytes().split(b"\n")
        assert text.split(b"\n") == [every[line] for line in best] + [b""]
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == "kept 10 of 40 pairs (25.0 %)".split()
    assert out[1].split()[:3] == ["left", "out", "3"]
    assert float(out[2].split()[1]) == pytest.approx(max(scores[line] for line in best), abs=1e-4)
    before = [(folder / name).read_bytes() for name in ("out.a", "out.b.gz")]
    assert run(command(corpus, "--keep", 0.25)) == 0
    # the same seed, the same pairs
    assert before == [(folder / name).read_bytes() for name in ("out.a", "out.b.gz")]


def test_what_cannot_be_kept_is_not(corpus, capsys):
    assert run(command(corpus, "--keep", 1, "--rounds", 2)) == 0
    assert capsys.readouterr().out.startswith("kept       37 of 40")


def test_the_share_is_rounded_to_the_nearest_number(corpus, capsys):
    """Of 40 pairs 9.6 and 9.4."""
    for share, number in ((0.24, 10), (0.235, 9)):
        assert run(command(corpus, "--keep", share)) == 0
        assert capsys.readouterr().out.split()[:4] == ["kept", str(number), "of", "40"]


def test_a_pair_of_exactly_the_longest_length_can_be_kept(corpus):
    """The command's limit is 20 tokens; one side, or both, may have as many."""
    folder = corpus["in.a"].parent
    lengths = [(20, 20), (21, 20), (20, 21), (20, 3), (3, 20)]
    for place, side in enumerate("ab"):
        with open(corpus[f"all.{side}"], "a", encoding="utf-8") as file:
            file.writelines(" ".join([DOMAIN[side][0]] * pair[place]) + "\n" for pair in lengths)
    assert run(command(corpus, "--keep", 1, "--scores", folder / "scores")) == 0
    scores = [float(line) for line in (folder / "scores").read_text().splitlines()][-5:]
    assert [math.isfinite(score) for score in scores] == [True, False, False, True, True]
    kept = (folder / "out.a").read_text().splitlines()[-3:]
    assert [len(line.split()) for line in kept] == [20, 20, 3]


def test_so_many_target_words_are_kept_of_the_best(corpus):
    folder = corpus["in.a"].parent
    assert (
        run(command(corpus, "--keep", 1, "--scores", folder / "scores", "--target-words", 60)) == 0
    )
    scores = [float(line) for line in (folder / "scores").read_text().splitlines()]
    words = [len(line.split()) for line in corpus["all.b"].read_text().splitlines()]
    best = sorted(range(40), key=lambda line: (scores[line], line))
    number = max(number for number in range(40) if sum(words[line] for line in best[:number]) <= 60)
    texts = corpus["all.a"].read_text().splitlines()
    assert (folder / "out.a").read_text().splitlines() == [
        texts[line] for line in sorted(best[:number])
    ]
    assert 5 < number < 30


def test_a_further_round_learns_from_the_better_half(corpus, monkeypatch):
    import rnnsearch_tf.data.inspection.selection as selection

    learned = []
    side = selection.SideScorer
    monkeypatch.setattr(
        selection,
        "SideScorer",
        lambda known, *more: learned.append(set(known)) or side(known, *more),
    )
    scores = corpus["in.a"].parent / "scores"
    assert run(command(corpus, "--keep", 0.25, "--scores", scores)) == 0
    first = [float(line) for line in scores.read_text().splitlines()]
    assert run(command(corpus, "--keep", 0.25, "--rounds", 2)) == 0
    half = sorted(range(40), key=lambda line: (first[line], line))[:5]
    texts = corpus["all.a"].read_text().splitlines()
    assert learned[0] == set(corpus["in.a"].read_text().splitlines())
    assert learned[4] == learned[0] | {texts[line] for line in half}


def test_pairs_go_to_standard_output_where_no_file_is_named(corpus, capsys):
    folder = corpus["in.a"].parent
    assert run(command(corpus, "--keep", 0.25)) == 0
    report = capsys.readouterr().out
    kept = zip(
        (folder / "out.a").read_text().splitlines(),
        gzip.decompress((folder / "out.b.gz").read_bytes()).decode().splitlines(),
    )
    words = command(corpus, "--keep", 0.25)
    begin = words.index("--output-source")
    assert run(words[:begin] + words[begin + 4 :]) == 0
    assert capsys.readouterr() == (
        "".join(f"{source}\t{target}\n" for source, target in kept),
        report,
    )
    assert run(words[:begin] + words[begin + 2 :]) == 2
    assert "expected two files, or neither, got one" in capsys.readouterr().err
    assert run([*words[:begin], *words[begin + 4 :], "--scores", "-"]) == 2
    assert "--scores -: expected a file, as standard output has" in capsys.readouterr().err


def test_pairs_of_windows_have_no_carriage_return_in_the_line(tmp_path):
    from rnnsearch_tf.data.inspection.selection import kept_pairs

    files = tmp_path / "a", tmp_path / "b"
    files[0].write_bytes(b"one\ttwo\r\nthree\r\n")
    files[1].write_bytes(b"un\rdeux\r\ntrois\r\n")
    assert list(kept_pairs(files, [True, False])) == [(b"one two", b"un\rdeux")]


def test_every_pair_is_drawn_as_often():
    from rnnsearch_tf.data.inspection.selection import sampled

    generator = random.Random(1)
    counts = np.zeros(8)
    for _ in range(4000):
        counts[sampled(iter(range(8)), 3, generator)] += 1
    assert counts.sum() == 3 * 4000 and abs(counts - 1500).max() < 5 * math.sqrt(1500)
    assert sorted(sampled(range(8), 9, generator)) == list(range(8))


@pytest.mark.parametrize(
    "more, code, message",
    [
        (["--keep", "0"], 2, "--keep: expected a share"),
        (["--keep", "20%"], 2, "--keep: expected a share"),
        (["--keep", "nan"], 2, "--keep: expected"),
        (["--keep", ".5", "--source-language", "!"], 2, "--source-language"),
        (["--keep", ".5", "--rounds", "0"], 2, "--rounds"),
        (["--keep", ".5", "--target-words", "many"], 2, "--target-words"),
        (["--keep", ".5", "--source", "no-file"], 1, "no-file"),
        (["--keep", ".5", "--output-target", "{}/out.a"], 2, "expected two files"),
        (["--keep", ".5", "--in-domain-source", "{}/once"], 1, "seen 2 times"),
        (["--keep", ".5", "--source", "/dev/null", "--target", "/dev/null"], 1, "/dev/null"),
        (["--keep", ".5", "--target", "{}/blank"], 1, "text on both sides, got none"),
    ],
)
def test_what_is_wrong_is_said(corpus, more, code, message, capsys):
    folder = corpus["in.a"].parent
    (folder / "once").write_text("".join(f"word{number}\n" for number in range(20)))
    (folder / "blank").write_text("\n" * 40)
    assert run(command(corpus, *(word.format(folder) for word in more))) == code
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""
    assert not (folder / "out.a").exists()
