"""Moses n-best lists: byte for byte, named errors, oracle."""

import functools
import gc
import gzip
import io
import itertools
import os
import threading
import tracemalloc

import pytest
import sacrebleu
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.writing import whole_file
from rnnsearch_tf.extras.moses.nbest import blocks, check_feature_name, parse, read_nbest, rescore
from rnnsearch_tf.extras.moses.oracle import choose

LINES = [
    b"0 ||| le  chat\xff ||| d= -1 0 lm= -2.5 tm_a=3 ||| -2.5 ||| 0-0 1-1 ||| |||\r\n",
    b"0 |||  |||  ||| 1e-3\n",
    b"2 ||| un ||| a ||| b ||| -7\n",
    b"2 ||| deux ||| lm: -1 ||| -1.25 \n",
]


def write(path, lines):
    data = b"".join(lines)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


@pytest.mark.parametrize("name", ["list", "list.gz"])
def test_a_list_goes_in_and_out_byte_for_byte(tmp_path, name):
    good = [LINES[0], LINES[1], LINES[3]]
    lists = list(read_nbest(write(tmp_path / name, good)))
    assert [[entry.sentence for entry in entries] for entries in lists] == [[0, 0], [2]]
    assert [entry.line for entries in lists for entry in entries] == good
    assert [entry.text for entries in lists for entry in entries] == ["le  chat\ufffd", "", "deux"]
    assert [entry.score for entries in lists for entry in entries] == [-2.5, 0.001, -1.25]


def test_only_the_features_change_without_a_weight():
    entries = [parse(line.removesuffix(b"\n")) for line in LINES[:2]]
    assert [entry.line for entry in rescore(entries, [-1.5, -20], "RNN")] == [
        (
            b"0 ||| le  chat\xff ||| d= -1 0 lm= -2.5 tm_a=3 RNN= -1.500000 ||| -2.5 ||| 0-0 1-1"
            b" ||| |||\r\n"
        ),
        b"0 |||  ||| RNN= -20.000000 ||| 1e-3\n",
    ]


def test_a_weight_mixes_and_sorts():
    entries = [
        parse(f"0 ||| {text} ||| lm= 1 ||| {score} ".encode())
        for text, score in (("a", -1), ("b", -2), ("c", -2))
    ]
    values = [-10, -3, -3]
    lines = [entry.line for entry in rescore(entries, values, "X", weight=0.25)]
    assert lines == [
        b"0 ||| b ||| lm= 1 X= -3.000000 ||| -2.250000 \n",  # 0.75 · -2 + 0.25 · -3
        b"0 ||| c ||| lm= 1 X= -3.000000 ||| -2.250000 \n",
        b"0 ||| a ||| lm= 1 X= -10.000000 ||| -3.250000 \n",
    ]
    assert [entry.text for entry in rescore(entries, values, "X", weight=0.0)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "line, part",
    [
        (b"0 ||| a ||| lm= 1\n", "expected `id ||| text ||| features ||| score`, got 3 field(s)"),
        (b"\n", "got 1 field(s)"),
        (b"x ||| a ||| lm= 1 ||| 2\n", "got the sentence number 'x'"),
        (b"-1 ||| a ||| lm= 1 ||| 2\n", "got the sentence number '-1'"),
        (b"1" * 5000 + b" ||| a ||| lm= 1 ||| 2\n", "got the sentence number '111"),
        (b"0 ||| a ||| lm= 1 ||| 2\n", "got number 0 after 1"),
        (b"3 ||| a ||| lm= 1 ||| 2\n", "expected a sentence number below 3"),
        (b"1 ||| a ||| lm= 1 ||| two\n", "got the score 'two'"),
        (b"1 ||| a ||| lm= 1 ||| nan\n", "got the score 'nan'"),
        (b"1 ||| a ||| lm= 1,5 ||| 2\n", "got '1,5'"),
        (b"1 ||| a ||| lm=x ||| 2\n", "got 'lm=x'"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, part):
    path = write(
        tmp_path / "list", [b"0 ||| a ||| lm= 1 ||| 2\n", b"1 ||| a ||| lm= 1 ||| 2\n", line]
    )
    with pytest.raises(UserError) as error:
        list(read_nbest(path, sentences=3))
    assert str(error.value).startswith(f"{path}:3: ") and part in str(error.value)


def test_a_gzip_file_that_is_cut_off(tmp_path):
    data = gzip.compress(
        b"".join(b"%d ||| a%d ||| lm= 1 ||| 2\n" % (n, n * n) for n in range(10_000))
    )
    (tmp_path / "list.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match=r"list\.gz:\d{4}: expected more gzip data"):
        list(read_nbest(tmp_path / "list.gz"))


@pytest.mark.parametrize("name", ["a b", "lm=", "a:b", "|", ""])
def test_names_that_cannot_stand_in_a_list(name):
    with pytest.raises(UsageError, match="--feature: expected a name"):
        check_feature_name(name)


def test_a_name_that_is_taken():
    with pytest.raises(UsageError, match="got lm; choose another"):
        rescore([parse(LINES[0])], [1.0], "lm")
    for features in (b"RNN= -1", b"RNN=-1", b"RNN: -1", b"lm= 1 RNN=-1 tm= 2"):
        with pytest.raises(UsageError, match="got RNN; choose another"):
            rescore([parse(b"0 ||| a ||| %s ||| 2\n" % features)], [1.0], "RNN")


def numbered(*sizes):
    """Lines of lists of these sizes."""
    return [b"%d ||| a ||| lm= 1 ||| 2\n" % n for n, size in enumerate(sizes) for _ in range(size)]


def test_blocks_keep_lists_whole(tmp_path):
    path = write(tmp_path / "list", numbered(3, 1, 5, 1, 1))
    found = [[len(entries) for entries in block] for block in blocks(path, size=4)]
    assert found == [[3], [1], [5, 1], [1]]


def test_a_list_is_handed_on_when_the_next_one_begins(monkeypatch):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stdin))
        ending = threading.Timer(2, os.close, [writing])  # whoever waits for the end gets all
        ending.start()
        found = blocks("-")
        os.write(writing, b"".join(numbered(2, 3, 1)))
        assert [len(entries) for entries in next(found)] == [2, 3]
        assert [len(entries) for entries in next(found)] == [1]
        assert not list(found)


def test_long_lists_take_no_more_memory_than_short_ones(tmp_path, request):
    # Python's own thresholds: with those of conftest.py, garbage waits longer than a list
    request.addfinalizer(functools.partial(gc.set_threshold, *gc.get_threshold()))
    gc.set_threshold(700, 10, 10)

    def peak(sentences):
        path = tmp_path / f"{sentences}.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            for n in range(sentences):
                file.writelines(
                    b"%d ||| hypothesis %d ||| lm= -1.5 ||| -2\n" % (n, k) for k in range(1000)
                )
        tracemalloc.start()
        for block in blocks(path):
            for entries in block:
                rescore(entries, [0.5] * len(entries), "X", 0.5)
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    assert peak(40) < 1.3 * peak(5)


def test_the_oracle_takes_the_nearest(tmp_path, caplog):
    texts = [
        ["a cat sat here", "the cat sat on the mat", "the cat sat on a mat"],
        [],
        ["no", "a big dog barks"],
    ]
    references = ["the cat sat on the mat", "nothing", "a big dog barks loudly"]
    lines = [
        f"{n} ||| {text} ||| lm= 1 ||| 2\n".encode()
        for n, each in enumerate(texts)
        for text in each
    ]
    path = write(tmp_path / "list", lines)
    firsts, chosen = choose(read_nbest(path), references)
    assert caplog.messages == [
        "warning: no hypotheses for 1 of 3 sentences, which count as empty translations"
    ]
    assert firsts == ["a cat sat here", "", "no"]
    assert chosen == ["the cat sat on the mat", "", "a big dog barks"]
    best = max(
        sacrebleu.corpus_bleu(list(choice), [references]).score
        for choice in itertools.product(*[each or [""] for each in texts])
    )
    assert sacrebleu.corpus_bleu(chosen, [references]).score == best
    with pytest.raises(UserError, match="as the n-best list has sentences, 3, got 4; name the ref"):
        choose(read_nbest(path), [*references, "more"])


def test_the_oracle_of_short_sentences_counts_the_ngrams_that_they_have(tmp_path):
    """A text of two words has no n-grams of three, and is no worse for it; equals: the first."""
    texts = ["a dog or so it seems", "dog", "a dog", "dog a"]
    reference = "a dog"
    lines = [f"0 ||| {text} ||| lm= 1 ||| 2\n".encode() for text in texts]
    scores = [
        sacrebleu.sentence_bleu(text, [reference], use_effective_order=True).score for text in texts
    ]
    _, chosen = choose(read_nbest(write(tmp_path / "list", lines)), [reference])
    assert chosen == [texts[scores.index(max(scores))]] == ["a dog"]
    ties = [b"0 ||| x ||| lm= 1 ||| 2\n", b"0 ||| y ||| lm= 1 ||| 2\n"]
    assert choose(read_nbest(write(tmp_path / "ties", ties)), [reference])[1] == ["x"]


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_a_file_appears_only_once_it_is_whole(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(ZeroDivisionError), whole_file(path) as output:
        output.write(b"half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"before")
    with pytest.raises(ZeroDivisionError), whole_file(path) as output:
        raise ZeroDivisionError
    assert path.read_bytes() == b"before"
    with whole_file(path) as output:
        output.write(b"after\n")
    assert (gzip.decompress(path.read_bytes()) if path.suffix else path.read_bytes()) == b"after\n"
    assert list(tmp_path.iterdir()) == [path]
    with (
        pytest.raises(UserError, match="expected a file that can be written"),
        whole_file(tmp_path / "no" / "x"),
    ):
        pass


def test_two_who_write_one_file_at_once_do_not_mix(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"before")
    path.chmod(0o640)
    with whole_file(path) as first, whole_file(path) as second:
        first.write(b"first")
        second.write(b"the second")
    assert path.read_bytes() == b"first" and list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o640
