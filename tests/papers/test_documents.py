"""BLEU on paragraphs: the texts, and the groups of lengths."""

import gzip

import pytest
import sacrebleu

from papers import documents
from papers.resampling import counts_of
from papers.workspace import Workspace
from rnnsearch_tf.errors import UserError


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


def test_a_missing_corpus_is_named(tmp_path):
    with pytest.raises(UserError, match=r"expected paragraphs of documentation under .*--data"):
        documents.write_paragraphs(tmp_path, tmp_path)


def test_groups_are_scored_by_themselves(tmp_path):
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
        return pytest.approx(
            sacrebleu.corpus_bleu(
                [texts[k] for k in lines],
                [[references[k] for k in lines]],
                tokenize="none",
                force=True,
            ).score
        )

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
