"""A shortlist made, used, and what it costs."""

import json

import pytest

from rnnsearch_tf.data.phrasebook import phrasebook


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """(source file, target file) of the text that the model was trained on."""
    folder = tmp_path_factory.mktemp("text")
    for name, lines in zip(("source", "target"), phrasebook(200, 1, "train")):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / "source", folder / "target"


@pytest.fixture
def shortlist(rnnsearch, run_folder, text, tmp_path):
    path = tmp_path / "shortlist.gz"
    out, err = rnnsearch("shortlist", "--model", run_folder, "--translations", 3, "--iterations", 8, "--output", path, *text)
    assert (out, err) == ([], "")
    return path


def test_words_are_translated(rnnsearch, run_folder, text):
    out, _ = rnnsearch("shortlist", "--model", run_folder, "--translations", 2, "--iterations", 20, *text)
    rows = [(source, target, float(probability)) for source, target, probability in map(str.split, out)]
    for source in {source for source, *_ in rows}:
        probabilities = [p for word, _, p in rows if word == source]
        assert 1 <= len(probabilities) <= 2 and probabilities == sorted(probabilities, reverse=True)
    best = {source: target for source, target, _ in reversed(rows)}
    assert best["we"] == "nous" and best["three"] == "trois" and best["green"].startswith("vert")
    assert "</s>" in best and "</s>" not in best.values()  # it stands for any sentence, and is no translation


def test_a_translation_has_no_other_words(rnnsearch, run_folder, shortlist, text, tmp_path):
    import gzip

    pairs = [line.split()[:2] for line in gzip.decompress(shortlist.read_bytes()).decode().splitlines()]
    path = tmp_path / "lines"
    path.write_text("\n".join(text[0].read_text().splitlines()[:12]) + "\n")
    words = ["--shortlist", shortlist, "--shortlist-frequent", 2, "--shortlist-translations", 2, "--output-type", "json"]
    out, err = rnnsearch("translate", "--model", run_folder, *words, path)
    frequent = [line.strip() for line in open(f"{run_folder}/vocabulary.target.txt", encoding="utf-8")][:5]
    for line in map(json.loads, out):
        allowed = {target for source, target in pairs if source in [*line["source_tokens"], "</s>", "<unk>"]}
        assert line["tokens"] and set(line["tokens"]) <= allowed | set(frequent)
    assert err == ""


def test_what_it_costs_is_said(rnnsearch, run_folder, shortlist, text):
    words = ["--model", run_folder, "--source", text[0], "--reference", text[1]]
    words += ["--shortlist", shortlist, "--shortlist-frequent", 0, "--shortlist-translations", 1]
    plain, _ = rnnsearch("evaluate", "--json", *words[:6])
    out, _ = rnnsearch("evaluate", "--json", *words)
    report, expected = json.loads(out[0]), json.loads(plain[0])
    assert report["without_shortlist"] == expected["all"] != report["all"]
    table, _ = rnnsearch("evaluate", *words)
    cost = expected["all"]["bleu"]["score"] - report["all"]["bleu"]["score"]
    assert f"cost of the shortlist: {cost:.2f} BLEU" in table


def test_a_missing_file_is_named_before_input_is_read(rnnsearch, run_folder):
    out, err = rnnsearch("translate", "--model", run_folder, "--shortlist", "no-file", code=1)
    assert out == [] and err.count("\n") == 1 and "no-file: expected a text file, found none" in err
