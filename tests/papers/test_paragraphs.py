"""BLEU on paragraphs: the texts, and the groups of lengths."""

import gzip
import json
import lzma

import pytest
import sacrebleu
from papers_data import multi30k, write_corpus

from papers import documents
from papers.resampling import counts_of
from papers.workspace import Workspace
from rnnsearch_tf.errors import UsageError, UserError


def bleu(texts, references, lines):
    """Of some lines, by sacreBLEU."""
    texts, references = ([side[k] for k in lines] for side in (texts, references))
    return sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True).score


def test_no_test_paragraph_is_trained_on(tmp_path):
    documents.write_paragraphs(write_corpus(tmp_path / "data"), tmp_path)
    texts = {
        part: list(
            zip(
                *(
                    (tmp_path / f"{part}.{language}").read_text(encoding="utf-8").splitlines()
                    for language in ("en", "fr")
                )
            )
        )
        for part in ("train", "development", "test")
    }
    words = {
        part: [tuple(len(side.split()) for side in pair) for pair in pairs]
        for part, pairs in texts.items()
    }
    assert sorted(words["train"]) == sorted((n, n + 1) for n in range(1, 50) for _ in range(3))
    assert words["development"] == [(n, n + 1) for n in range(1, 20)]
    assert min(words["test"]) == (20, 21) and max(words["test"]) == (119, 120)
    assert not set(texts["test"]) & set(texts["train"])
    assert all(pair[1] == f"{pair[0]} encore" for pairs in texts.values() for pair in pairs)
    of_val = [pair for pair in texts["test"] if pair[0].startswith("val")]
    of_train = [pair for pair in texts["test"] if pair[0].startswith("train")]
    assert len(of_val) == 100
    # longer than training: 51 to 119 words, three of each
    assert len(of_train) == 3 * 69 and len(set(of_train)) == len(of_train)


def test_each_corpus_is_compared_by_its_own_name(tmp_path):
    """Files of two corpora have the same name."""
    data = write_corpus(multi30k(tmp_path / "data"))
    Workspace(tmp_path / "out", data).begin()
    Workspace(tmp_path / "out", data).check()
    names = set(json.loads((tmp_path / "out" / "corpora.json").read_text(encoding="utf-8")))
    assert {"train.en.gz", "python-docs/train.en.gz"} < names and len(names) == 6 + 4
    for name in ("multi30k/train.en.gz", "python-docs/train.en.gz"):
        before = (data / name).read_bytes()
        (data / name).write_bytes(gzip.compress(b"other\n"))
        with pytest.raises(UsageError, match="got another (python-docs/)?train.en.gz under"):
            Workspace(tmp_path / "out", data).check()
        (data / name).write_bytes(before)


def test_a_missing_corpus_is_named(tmp_path):
    with pytest.raises(UserError, match="expected the corpus python-docs under .*--data"):
        documents.write_paragraphs(tmp_path, tmp_path)


def test_groups_are_scored_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(Workspace, "can_have_phrase_based", lambda work: False)
    work = Workspace(tmp_path, None, seeds=[1])
    lengths = [20, 34, 35, 60, 80, 100, 130, 200]
    references = [f"{chr(97 + k)} b c d e f g" for k in range(8)]
    texts = [line if k % 3 else line.replace(" f g", " g f") for k, line in enumerate(references)]
    for name in documents.MODELS:
        found = {"counts": counts_of(texts, references), "source_words": lengths}
        work.output(f"documents-{name}-1", lambda found=found: found)
    page = documents.figure(work, documents.MODELS)
    assert [row["model"] for row in page.ours] == ["RNNsearch", "RNNencdec"]

    def score(lines):
        return pytest.approx(bleu(texts, references, lines))

    assert page.ours[0] == {
        "model": "RNNsearch",
        "all": score(range(8)),
        "20–34": score([0, 1]),
        "35–50": score([2]),
        "51–69": score([3]),
        "70–89": score([4]),
        "90–119": score([5]),
        "120–200": score([6, 7]),
    }
    [axes] = page.pictures["curves"].axes
    assert axes.containers[0].lines[0].get_xdata().tolist() == [27, 35, 60, 80, 100, 165]


def test_the_phrase_based_system_is_beside_them_once_it_was_measured(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1], measured=dict.fromkeys(documents.MODELS, [1]))
    references = [f"{chr(97 + k)} b c d e f g" for k in range(6)]
    counts = counts_of(references, references)
    for name in documents.MODELS:
        path = tmp_path / f"outputs/documents-{name}-1.json.xz"
        found = {"counts": counts, "source_words": [20, 40, 60, 80, 100, 150]}
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress(json.dumps(found).encode()))
    without = documents.figure(work, documents.MODELS)
    assert len(without.ours) == 2 and "phrase-based system is missing" in without.text[-1]
    texts = [line.replace(" f g", " g f") if k else line for k, line in enumerate(references)]
    found = {"tokens": texts, "counts": counts_of(texts, references)}
    path = tmp_path / "outputs/documents-phrase-based.json.xz"
    path.write_bytes(lzma.compress(json.dumps(found).encode()))
    page = documents.figure(work, documents.MODELS)
    row = page.ours[-1]
    assert row["model"] == "phrase-based" and row["20–34"] == pytest.approx(100)
    for name, lines in (("all", range(6)), ("120–200", [5])):
        assert row[name] == pytest.approx(bleu(texts, references, lines))
    assert "phrase-based system" in page.text[-1]
