"""The items that need the phrase-based system, on files such as it makes, and what is said where it
cannot be made.
"""

import gzip
import importlib.util
import json
import math
import shutil

import numpy as np
import pytest
import sacrebleu
from sacremoses import MosesDetokenizer
from papers_data import multi30k
from test_reproduce import is_made_again_of_measurements_alone, overrides, read

from papers.__main__ import main as reproduce
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.errors import UsageError, UserError
from papers import bahdanau2015
from papers import cho2014
from papers import items
from papers import phrase_based
from papers.workspace import Workspace
from rnnsearch_tf.extras.moses.phrase_based import FEATURES, Derivation

WEIGHTS = np.full(len(FEATURES), 1 / len(FEATURES))


def sentence_hypotheses(words, generator):
    """The reference, with its first word lost, with its last word doubled; phrases of one word but
    for the last two.
    """
    for target in (words, words[1:], [*words, words[-1]]):
        if not target:
            continue
        cuts = list(range(min(len(words), len(target))))
        sides = [
            [(place, length - 1 if place == cuts[-1] else place) for place in cuts]
            for length in (len(words), len(target))
        ]
        yield Derivation(
            " ".join(target),
            tuple(generator.normal(size=len(FEATURES)).tolist()),
            tuple(zip(*sides)),
        )


def made_files(folder, data):
    """What `Workspace.phrase_based` makes, of the corpus of :func:`multi30k`."""
    generator = np.random.default_rng(1)
    (folder / "texts").mkdir(parents=True)
    for part in ("train", "development", "test"):
        for language in ("en", "fr"):
            name = {"train": "train", "development": "val", "test": "test_2016_flickr"}[part]
            lines = (
                gzip.decompress((data / "multi30k" / f"{name}.{language}.gz").read_bytes())
                .decode()
                .lower()
            )
            (folder / "texts" / f"{part}.{language}").write_text(lines, encoding="utf-8")
    (folder / "model").mkdir()
    (folder / "model" / "weights.json").write_text(
        json.dumps(dict(zip(FEATURES, WEIGHTS.tolist()))), encoding="utf-8"
    )
    for part in ("development", "test"):
        lines = []
        for number, line in enumerate(read(folder / "texts" / f"{part}.fr")):
            entries = sorted(
                sentence_hypotheses(line.split(), generator),
                key=lambda each: -float(np.dot(each.features, WEIGHTS)),
            )
            lines += [each.nbest_line(number, WEIGHTS) for each in entries]
        (folder / f"nbest.{part}").write_text("".join(lines), encoding="utf-8")
    rows = []
    for length, count in ((1, 90), (4, 40), (5, 30), (4, 2), (5, 1)):
        source = " ".join(f"{count}w{k}" for k in range(length))
        for p in (0.5, 0.3, 0.2):
            rows.append(
                f"{source} ||| {source.replace('w', 'x' if p > 0.4 else 'y' if p > 0.25 else 'z')}"
                f" ||| {p} 0.1 {p} 0.1 ||| 0-0 ||| 9 {count} 3\n"
            )
    (folder / "phrase-table.gz").write_bytes(gzip.compress("".join(rows).encode()))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Both systems are the same."""
    monkeypatch.setattr(phrase_based, "DEVELOPMENT_PAIRS", 3)
    data = multi30k(tmp_path / "data")
    for name in ("phrase-based", "phrase-based-every-10"):
        made_files(tmp_path / "out" / name, data)
    return tmp_path


SETTINGS = overrides(["model.embedding_size=256"])  # which is tied to the rank of the output


def reproduced(place, item, settings=SETTINGS):
    """The rows of an item's page."""
    command = [item, "--data", str(place / "data"), "--output", str(place / "out"), *settings]
    assert reproduce(command) == 0
    return json.loads((place / "out" / f"{item}.json").read_text(encoding="utf-8"))["ours"]


def bleu(texts, references):
    return sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True).score


def firsts(path, count):
    found = {}
    for line in read(path):
        sentence, text = line.split(" ||| ")[:2]
        found.setdefault(int(sentence), text)
    return [found.get(sentence, "") for sentence in range(count)]


@pytest.mark.slow
def test_the_tables_of_cho_2014(place, capsys):
    folder = place / "out" / "phrase-based"
    both = reproduced(place, "cho2014-table1")
    rows = {row["model"]: row for row in both if row["phrase table of"] == "all"}
    assert list(rows) == ["as decoded", *cho2014.VARIANTS]
    assert [row | {"phrase table of": "all"} for row in both] == [*rows.values()] * 2
    for part in ("development", "test"):
        references = read(folder / "texts" / f"{part}.fr")
        assert rows["as decoded"][part] == pytest.approx(
            bleu(firsts(folder / f"nbest.{part}", len(references)), references)
        )
    assert all(
        row["development"] >= rows["as decoded"]["development"] - 1e-9 for row in rows.values()
    )
    scores_are_those_of_the_verbs(place, capsys)
    for row in reproduced(place, "cho2014-table2"):
        words = row["source"].split()
        assert len(words) >= 4 and (int(words[0].split("w")[0]) > 10) == (
            row["phrases"] == "frequent"
        )
        best = [" ".join(words).replace("w", letter) for letter in "xyz"]
        assert row["translation model"] == " ".join(f"[{each}]" for each in best)
        assert sorted(row["RNN Encoder–Decoder"].strip("[]").split("] [")) == best
    assert all(
        row["samples"].startswith("[") and row["samples"].count("[") <= 5
        for row in reproduced(place, "cho2014-table3")
    )
    scorer, language_model = reproduced(place, "cho2014-training")
    assert scorer["updates"] == language_model["updates"] == 2
    for item in ("cho2014-table1", "cho2014-table2", "cho2014-table3", "cho2014-training"):
        is_made_again_of_measurements_alone([item, "--output", str(place / "out"), *SETTINGS])


def test_table_1_of_cho_2014_keeps_what_it_chooses(place, monkeypatch):
    """The scores tell the reference from the other hypotheses of each list; the system of a tenth
    of the text has lists of its own.
    """

    def scores(work, models, seed, folder, part, lists):
        right = {line: 1.0 for line in read(folder / "texts" / f"{part}.fr")}
        found = [right.get(entry.text, 0.0) for entries in lists for entry in entries]
        return {"RNN": found, "CSLM": [0.0] * len(found), "WP": [0.0] * len(found)}

    monkeypatch.setattr(cho2014, "_scores_of", scores)
    monkeypatch.setattr(cho2014, "STARTS", 2)
    tenth = place / "out" / "phrase-based-every-10"
    for language in ("en", "fr"):
        path = tenth / "texts" / f"test.{language}"
        path.write_text("".join(f"{line} !\n" for line in read(path)), encoding="utf-8")
    work = Workspace(place / "out", place / "data", seeds=[1])
    references = {
        text: read(place / "out" / name / "texts" / "test.fr")
        for text, name in (("all", "phrase-based"), ("a tenth", tenth.name))
    }
    models = items.CHO
    for text, gold in references.items():
        [found] = cho2014.measured_rescoring(work, models, text)
        for variant in cho2014.VARIANTS:
            kept = cho2014.rescored(work, models, text, variant)
            assert kept.bleu == [found[variant]["test"]]
            assert kept.counts[0].bleu()[0] == pytest.approx(kept.bleu[0])
        tokens = work.kept_output(cho2014._key(text, 1))["RNN"]["tokens"]
        assert bleu(tokens, gold) == pytest.approx(found["RNN"]["test"])
    assert work.kept_output(cho2014._key("all", 1))["RNN"]["tokens"] == references["all"]
    assert found["RNN"]["test"] < 100
    assert len(cho2014.table_1(work, models).ours) == 2 * (1 + len(cho2014.VARIANTS))


def scores_are_those_of_the_verbs(place, capsys):
    """The features of the test lists beside `rnnsearch phrase-table` and `rnnsearch score`."""
    work = Workspace(place / "out", place / "data", overrides=SETTINGS[1::2])
    folder = place / "out" / "phrase-based"
    models = items.ITEMS["cho2014-table1"].models
    from rnnsearch_tf.extras.moses.nbest import read_nbest

    lists = list(read_nbest(folder / "nbest.test"))
    found = cho2014._scores_of(work, models, 1234, folder, "test", lists)
    sources = read(folder / "texts" / "test.en")
    entries = [entry for each in lists for entry in each]
    phrases = []
    for entry in entries:
        spans = [
            [list(map(int, side.split("-"))) for side in pair.split("=")]
            for pair in entry.fields[4].decode().split()
        ]
        words = sources[entry.sentence].split(), entry.text.split()
        phrases.append(
            [
                tuple(" ".join(side[span[0] : span[-1] + 1]) for side, span in zip(words, pair))
                for pair in spans
            ]
        )
    table = place / "table"
    table.write_text(
        "".join(
            f"{source} ||| {target} ||| 1\n"
            for source, target in {pair for each in phrases for pair in each}
        ),
        encoding="utf-8",
    )
    assert (
        run(
            [
                "phrase-table",
                "--model",
                str(work.run(models[0], 1234).path),
                str(table),
                str(place / "scored"),
            ]
        )
        == 0
    )
    columns = {
        tuple(line.split(" ||| ")[:2]): list(map(float, line.split(" ||| ")[2].split()))
        for line in read(place / "scored")
    }
    assert found["RNN"] == pytest.approx(
        [sum(math.log(columns[pair][1]) for pair in each) for each in phrases], abs=1e-3
    )
    assert found["WP"] == pytest.approx(
        [sum(math.log(columns[pair][2]) for pair in each) for each in phrases], abs=1e-3
    )
    for name, lines in (
        ("source", [sources[entry.sentence] for entry in entries]),
        ("target", [entry.text for entry in entries]),
    ):
        (place / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    capsys.readouterr()
    assert (
        run(
            [
                "score",
                "--model",
                str(work.run(models[1], 1234).path),
                str(place / "source"),
                str(place / "target"),
            ]
        )
        == 0
    )
    assert found["CSLM"] == pytest.approx(
        list(map(float, capsys.readouterr().out.split())), abs=1e-4
    )


def test_the_phrase_based_row_of_bahdanau_2015(place, monkeypatch):
    """It translates every second sentence as the reference, the others without their last word; the
    first nine have no unknown words.
    """

    def halves(folder, sources):
        return [
            source if k % 2 else " ".join(source.split()[:-1]) for k, source in enumerate(sources)
        ]

    monkeypatch.setattr(phrase_based, "translated", halves)
    monkeypatch.setattr(bahdanau2015, "known", lambda work, models: range(9))
    work = Workspace(place / "out", place / "data", seeds=[1, 2])
    for seed in work.seeds:
        work.measured(
            f"table1-rnnsearch-50-{seed}",
            lambda: {"all": 1.0, "short": 1.0, "no_unk": None, "no_unk_sentences": 0},
        )
    row = bahdanau2015.table_1(work, ["rnnsearch-50"]).ours[-1]
    references = [line.lower() for line in read(place / "out" / "texts" / "up-to-50" / "test.fr")]
    texts = halves(None, references)
    assert row == {
        "model": "phrase-based",
        "All": pytest.approx(bleu(texts, references)),
        "single captions": pytest.approx(bleu(texts[:40], references[:40])),
        "No UNK": pytest.approx(bleu(texts[:9], references[:9])),
        "sentences without UNK": 9,
    }
    (place / "out" / "phrase-based" / "nbest.test").unlink()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    # once measured, it is shown
    assert bahdanau2015.table_1(work, ["rnnsearch-50"]).ours[-1] == row
    (place / "out" / "measured" / "table1-phrase-based.json").unlink()
    page = bahdanau2015.table_1(work, ["rnnsearch-50"])
    assert [row["model"] for row in page.ours] == [
        "rnnsearch-50"
    ] and 'pip install "rnnsearch-tf[smt]"' in page.text[0]


def test_a_system_of_every_tenth_caption(place, monkeypatch):
    """Development text, test text and language model are those of the whole system."""

    class System:
        is_tuned = True

        def __init__(self, folder):
            self.folder = folder

        @staticmethod
        def train(folder, source, target):
            assert len(read(source)) == len(read(target)) == 4
            for part in ("language", "translation"):
                (folder / part).mkdir()
                (folder / part / "system").write_text("a tenth")

        def table(self):
            return ["a ||| b ||| 1\n"]

    monkeypatch.setattr(phrase_based, "PhraseBased", System)
    monkeypatch.setattr(phrase_based, "check", lambda folder, data: None)
    whole, tenth = (place / "out" / f"phrase-based{every}" for every in ("", "-every-10"))
    for name in ("texts", "model"):
        shutil.rmtree(tenth / name)
    (tenth / phrase_based.TABLE).unlink()
    with pytest.raises(UserError, match="language: expected the language model"):
        Workspace(place / "out", place / "data").phrase_based(10)
    assert not (tenth / "texts").exists()
    (whole / "model" / "language").mkdir()
    (whole / "model" / "language" / "system").write_text("all")
    assert Workspace(place / "out", place / "data").phrase_based(10) == tenth
    assert [
        (tenth / "model" / part / "system").read_text() for part in ("language", "translation")
    ] == ["all", "a tenth"]
    for part in phrase_based.PARTS:
        assert read(tenth / "texts" / f"{part}.fr") == read(whole / "texts" / f"{part}.fr")


def test_phrases_for_development_are_not_learned(place):
    system = place / "out" / "phrase-based"
    lines = [f"it &apos;s {k} ||| c&apos; est {k} ||| {k / 20}\n" for k in range(20)]
    (system / phrase_based.TABLE).write_bytes(gzip.compress("".join(lines).encode()))
    folder = place / "phrases"
    phrase_based.write_phrases(system, folder)
    development = list(zip(*(read(folder / f"development.{side}") for side in ("en", "fr"))))
    table = gzip.decompress((folder / phrase_based.TABLE).read_bytes()).decode()
    learned = table.splitlines(keepends=True)
    escaped = {" ||| ".join(side.replace("'", "&apos;") for side in pair) for pair in development}
    assert len(escaped) == 3 and len(learned) == 17
    assert sorted(lines) == sorted(
        [*learned, *(line for line in lines if line.rpartition(" ||| ")[0] in escaped)]
    )
    assert learned != sorted(learned, key=lines.index)
    (folder / "development.en").write_text("kept")
    phrase_based.write_phrases(system, folder)
    assert (folder / "development.en").read_text() == "kept"


def test_another_phrase_based_system_is_refused(place):
    """Each machine makes another; what is measured of one seed would not go with what is measured
    of the next.
    """
    work = Workspace(place / "out", place / "data")
    nbest = place / "out" / "phrase-based" / "nbest.test"
    assert work.phrase_based() == work.phrase_based() == nbest.parent
    table = nbest.with_name("phrase-table.gz")  # another compression is no other table
    table.write_bytes(gzip.compress(gzip.decompress(table.read_bytes()), compresslevel=1))
    assert Workspace(place / "out", place / "data").phrase_based() == nbest.parent
    nbest.write_bytes(nbest.read_bytes().replace(b" ||| ", b"  ||| ", 1))
    with pytest.raises(
        UsageError,
        match=(
            r"phrase-based: expected the phrase-based system of the measurements here"
            r".*measured/phrase-based\.json, got another"
        ),
    ):
        Workspace(place / "out", place / "data").phrase_based()


def test_a_missing_package_is_named_before_anything_is_trained(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, find=importlib.util.find_spec: None if name == "thot" else find(name),
    )
    command = [
        "cho2014-table1",
        "--data",
        str(multi30k(tmp_path / "data")),
        "--output",
        str(tmp_path / "out"),
    ]
    assert reproduce(command) == 1
    said = capsys.readouterr().err
    assert (
        "a phrase-based system: expected the package sil-" in said
        and 'found none; pip install "rnnsearch-tf[smt]"' in said
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_rescoring_by_the_lstm_is_that_of_the_verb(place, monkeypatch, capsys):
    """Beside `rnnsearch rescore --weight 0.5` of the lists as sacremoses writes them out, and
    `rnnsearch oracle`.
    """
    rows = {
        row["system"]: row["BLEU"]
        for row in reproduced(place, "sutskever2014-table2", [*overrides(), "--seeds", "2"])
    }
    for system in ("forward", "reversed"):  # one value for each seed
        rows[f"rescored by {system}"] = rows[f"rescored by {system}"][0]
    folder = place / "out" / "phrase-based"
    detokenizer = MosesDetokenizer("fr")
    references = read(folder / "texts" / "test.fr")
    fields = [line.split(" ||| ") for line in read(folder / "nbest.test")]
    written = []
    tokens = {}
    for sentence, text, *more in fields:
        shown = detokenizer.detokenize(text.split())
        shown = shown[:1].upper() + shown[1:]
        tokens[shown] = text
        written.append(" ||| ".join((sentence, shown, *more)))
    (place / "nbest").write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
    source = place / "data" / "multi30k" / "test_2016_flickr.en.gz"
    for system, names in (
        ("forward", ["lstm-forward-1234"]),
        ("reversed", ["lstm-reversed-1234"]),
        ("ensemble of 2, reversed", ["lstm-reversed-1234", "lstm-reversed-1235"]),
    ):
        runs = [
            word for name in names for word in ("--model", str(place / "out" / "models" / name))
        ]
        assert (
            run(
                [
                    "rescore",
                    *runs,
                    "--source",
                    str(source),
                    "--weight",
                    "0.5",
                    "--output",
                    str(place / "new"),
                    str(place / "nbest"),
                ]
            )
            == 0
        )
        texts = [tokens.get(text, text) for text in firsts(place / "new", len(references))]
        assert rows[f"rescored by {system}"] == pytest.approx(bleu(texts, references))
    assert rows["phrase-based"] == pytest.approx(
        bleu(firsts(folder / "nbest.test", len(references)), references)
    )
    is_made_again_of_measurements_alone(
        ["sutskever2014-table2", "--output", str(place / "out"), *overrides(), "--seeds", "2"]
    )
    assert rows["oracle"] == max(rows.values()) and rows["oracle"] == pytest.approx(
        bleu(references, references)
    )
