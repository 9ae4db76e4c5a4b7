"""BLEU by the size of the training text: the sampled texts, and the page."""

import pytest
import sacrebleu
from papers_data import tatoeba

from papers import phrase_based, scaling
from papers.corpora import DEVELOPMENT_PAIRS, write_sample
from papers.recipes import RECIPES
from papers.resampling import counts_of
from papers.workspace import Workspace
from rnnsearch_tf.errors import UserError

REFERENCES = ["a red car stops here now", "two dogs run over the grass", "the man reads a book"] * 4
GOOD = ["a red car stops here now", "two dogs run over the grass", "the man reads the book"] * 4
BAD = ["a red car is here now", "two dogs walk over the grass", "the man reads a book"] * 4
KNOWN = [0, 1, 4]


def test_a_sample_keeps_pairs_together(tmp_path):
    data = tatoeba(tmp_path / "data", 100, DEVELOPMENT_PAIRS + 20)
    write_sample(data, tmp_path, 30)
    sides = {
        (part, language): (tmp_path / f"{part}.{language}").read_text(encoding="utf-8").splitlines()
        for part in ("train", "development", "test")
        for language in ("en", "fr")
    }
    numbers = {key: [int(line.split()[-1]) for line in lines] for key, lines in sides.items()}
    for part in ("train", "development", "test"):
        assert numbers[part, "en"] == numbers[part, "fr"]
        assert all(language in line for language in ("en", "fr") for line in sides[part, language])
    assert len(set(numbers["train", "en"])) == 30
    assert numbers["development", "en"] == list(range(DEVELOPMENT_PAIRS))
    assert numbers["test", "fr"] == list(range(DEVELOPMENT_PAIRS, DEVELOPMENT_PAIRS + 20))
    with pytest.raises(UserError, match="expected 101 pairs in .*train, got 100; name the folder"):
        write_sample(data, tmp_path, 101)


def test_each_model_reads_its_sample(tmp_path):
    work = Workspace(tmp_path / "out", None)
    assert set(scaling.MODELS) <= set(RECIPES)
    folders = {}
    for name in scaling.MODELS:
        size = int(name.rpartition("-")[2])
        assert RECIPES[name].pairs == size
        (work.texts.folder / f"tatoeba-{size}").mkdir(parents=True, exist_ok=True)
        config = work.config(name, 1234)
        folders[name] = config.data.folder
        assert config.model.system == name.split("-")[1]
    assert sorted(folders.values()) == sorted(
        str(work.texts.folder.resolve() / f"tatoeba-{size}") for size in 2 * scaling.SIZES
    )


def test_bleu_of_all_and_of_known_sentences(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1])
    texts = {"rnnsearch": (GOOD, REFERENCES), "rnnencdec": (BAD, BAD), "phrase-based": (BAD,)}
    for passes, size in enumerate(scaling.SIZES, start=3):
        work.measured(
            f"trained-tatoeba-rnnsearch-{size}-1", lambda passes=passes: {"epoch": passes}
        )
        for system, found in texts.items():
            counts = [counts_of(each, REFERENCES) for each in found]
            if system == "phrase-based":
                output = {"tokens": BAD, "counts": counts[0]}
                work.output(f"scaling-phrase-based-{size}", lambda output=output: output)
                continue
            output = {"counts": dict(zip(("all", "no_unk"), counts)), "known": KNOWN}
            work.output(f"scaling-tatoeba-{system}-{size}-1", lambda output=output: output)
    page = scaling.page(work, scaling.MODELS)

    def score(found, lines=range(len(REFERENCES))):
        references = [[REFERENCES[k] for k in lines]]
        return pytest.approx(
            sacrebleu.corpus_bleu(
                [found[k] for k in lines], references, tokenize="none", force=True
            ).score
        )

    columns = [f"{size:,} pairs" for size in scaling.SIZES]
    for row, (system, group, expected) in zip(
        page.ours,
        [
            ("RNNsearch", "all", score(GOOD)),
            ("RNNsearch", "without UNK", score(REFERENCES, KNOWN)),
            ("RNNencdec", "all", score(BAD)),
            ("RNNencdec", "without UNK", score(BAD, KNOWN)),
            ("phrase-based", "all", score(BAD)),
            ("phrase-based", "without UNK", score(BAD, KNOWN)),
        ],
        strict=True,
    ):
        assert row == {"system": system, "sentences": group} | dict.fromkeys(columns, expected)
    assert "3 (5,000 pairs)" in page.text[0]
    assert "more slowly: 3, 4, 5, 6 passes over it" in page.text[1]
    good, bad = (page.ours[place][columns[0]] for place in (0, 2))
    assert f"all sentences: {good - bad:+.2f} ± " in page.text[3]
    assert [axes.get_xscale() for axes in page.pictures["curves"].axes] == ["log", "log"]


def test_each_size_has_its_phrase_based_system(tmp_path, monkeypatch):
    work = Workspace(tmp_path, None, seeds=[1])
    learned = {}

    def tuned(folder, read):
        learned[folder] = read("train")
        (folder / "texts").mkdir(parents=True)
        for language, lines in zip(("en", "fr"), read("test")):
            (folder / "texts" / f"test.{language}").write_text("".join(f"{x}\n" for x in lines))

    monkeypatch.setattr(phrase_based, "tuned", tuned)
    monkeypatch.setattr(phrase_based, "translated", lambda folder, sources: learned[folder][1])
    for size in (1, 2):
        folder = work.texts.folder / f"tatoeba-{size}"
        folder.mkdir(parents=True)
        for part in ("train", "test"):
            for language in ("en", "fr"):
                (folder / f"{part}.{language}").write_text(f"{part} {language} of {size}\n")
    found = [scaling._phrase_based(work, size) for size in (1, 2)]
    assert [each["tokens"] for each in found] == [["train fr of 1"], ["train fr of 2"]]
    # "fr of 1" is in "train fr of 1" and "test fr of 1": three words, two bigrams, one trigram
    assert [each["counts"] for each in found] == 2 * [[[3, 2, 1, 0, 4, 4]]]


def test_a_phrase_based_system_is_tuned_once(tmp_path, monkeypatch):
    done = []

    class System:
        def __init__(self, folder):
            self.is_tuned = (folder / "weights").exists()
            self._folder = folder

        @classmethod
        def train(cls, folder, source, target):
            done.append([source.read_text(), target.read_text()])
            return cls(folder)

        def tune(self, sources, references):
            done.append([sources, references])
            (self._folder / "weights").write_text("")

    monkeypatch.setattr(phrase_based, "PhraseBased", System)
    for _ in range(2):
        phrase_based.tuned(tmp_path / "made", lambda part: ([f"{part} A ."], [f"{part} B ."]))
    assert done == [
        ["train a .\n", "train b .\n"],
        [["development a ."], ["development b ."]],
    ]
