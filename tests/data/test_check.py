"""What the doctor finds in planted corpora, and that it finds nothing in a sound one."""

import pytest

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.inspection.doctor import check_data
from rnnsearch_tf.data.phrasebook import phrasebook

SPACE = {"tokenization": "space", "vocabulary_size": 1000}


@pytest.fixture
def found(write):
    """Findings of a corpus given as (source, target) lines or bytes, as strings."""

    def check(source, target, development=None, side=SPACE, **options):
        data = {"train_source": write("s", source), "train_target": write("t", target)}
        if development:
            data |= {
                "development_source": write("ds", development[0]),
                "development_target": write("dt", development[1]),
            }
        values = {"source": side, "target": side, "data": data | options}
        return [str(finding) for finding in check_data(load_config(values=values))]

    return check


@pytest.fixture(scope="module")
def sound():
    return phrasebook(400, "train"), phrasebook(60, "development")


def problems(findings):
    return [finding for finding in findings if not finding.startswith("note: ")]


def test_a_sound_corpus_has_notes_only(found, sound):
    findings = found(*sound[0], development=sound[1])
    assert not problems(findings)
    assert findings[0] == "note: train: 400 lines on both sides"
    assert any("source lengths in tokens: median" in finding for finding in findings)


@pytest.mark.parametrize("policy, severity", [("error", "error"), ("skip", "warning")])
def test_broken_lines_are_counted_and_the_rest_still_looked_at(found, policy, severity):
    source = b"a b\n\xff\n\nd e\n" * 3 + b"one more\n"
    findings = found(source, b"x y\n" * 12, on_bad_line=policy)
    for kind in ("are not UTF-8: ", "are empty on one side or both: "):
        start = f"{severity}: train: 3 of 12 (25 %) of the pairs {kind}"
        assert any(each.startswith(start) for each in findings)
    start = f"{severity}: train: "
    assert any(f.startswith(start) and ":13: expected as many lines as in" in f for f in findings)
    assert "note: train: source lengths in tokens: median 2, 95 % within 2, longest 2" in findings


def test_unreadable_and_empty_files_are_findings_not_exceptions(found):
    for data in ({"train_source": "/no/such/file", "train_target": "/no/such/file"}, {}):
        [finding] = check_data(load_config(values={"data": data}))
        assert str(finding).startswith("error: train: data.train_source: ")
    [finding] = found(b"", b"")
    assert "expected at least one sentence pair" in finding


def test_a_text_that_loses_its_pairs_is_an_error(found, sound):
    source, target = map(list, sound[1])
    target[:34] = [""] * 34
    findings = found(*sound[0], development=(source, target), on_bad_line="skip")
    start = "error: development: 34 of 60 (57 %) of the pairs are lost"
    assert any(finding.startswith(start) for finding in findings)


def test_length_limits(found):
    lines = ["a b c"] * 9 + ["a b c d"]
    limited = found(lines, lines, maximum_source_length=3)
    assert (
        "warning: train: 1 of 10 (10 %) of the pairs are longer than data.maximum_source_length=3"
        " and data.maximum_target_length=50, and left out of training"
    ) in limited
    start = "error: train: 10 of 10"
    assert any(f.startswith(start) for f in found(lines, lines, maximum_target_length=2))
    assert not any("left out" in f for f in found(lines, lines, maximum_source_length=4))


def test_unequal_lengths_copies_and_duplicates(found, sound, monkeypatch):
    source, target = map(list, sound[0])
    target[7] = " ".join(["mot"] * 40)
    source[20:30] = target[20:30]
    source[50:100] = source[100:150]
    target[50:100] = target[100:150]
    findings = problems(found(source, target))
    assert len(findings) == 4  # and the missing development files
    for words, place in (
        ("1 of 400 (0.25 %) of the pairs have one side more than three times as long", ":8 ("),
        ("10 of 400 (2.5 %) of the pairs have the same text on both sides: ", ":21;"),
        ("50 of 400 (12 %) of the pairs are duplicates", ":101;"),
    ):
        assert any(words in finding and place in finding for finding in findings)
    monkeypatch.setattr("rnnsearch_tf.data.inspection.doctor.REMEMBERED_PAIRS", 120)
    words = "20 of 120 (17 %) of the pairs among the first 120 are duplicates"
    assert any(words in finding for finding in found(source, target))


@pytest.mark.parametrize(
    "shorter, longer, unequal",
    [(3, 9, False), (3, 10, True), (2, 7, False), (1, 7, True), (1, 6, False), (10, 31, True)],
)
def test_which_lengths_are_unequal(found, shorter, longer, unequal):
    for sides in ((shorter, longer), (longer, shorter)):
        findings = found(*(["mot " * size] * 2 for size in sides))
        assert any("more than three times as long" in finding for finding in findings) == unequal


def test_shifted_lines(found, sound):
    """One endless line does not hide or feign them."""
    source, target = map(list, sound[0])
    source[200] = "word " * 9000
    assert not any("hardly correlate" in finding for finding in found(source, target))
    shifted = found(source, target[1:] + target[:1])
    assert any(
        finding.startswith("warning: train: lengths of the two sides hardly correlate")
        for finding in shifted
    )


def test_development_sentences_in_training(found, sound):
    source, target = sound[0]
    development = (source[:30] + sound[1][0][:30], target[:30] + sound[1][1][:30])
    assert found(source, target, development=development)[-1] == (
        "warning: development: 30 of 60 (50 %) of the distinct source sentences also occur in the"
        " training text"
    )


def test_vocabulary_coverage(found):
    findings = found(["a a a b b b c", "c d"], ["a b", "a b"], side=SPACE | {"vocabulary_size": 5})
    assert (
        "warning: train: source vocabulary of 5: 3 of 9 (33 %) of the tokens are unknown"
        in findings
    )
    assert "note: train: target vocabulary of 5: 0 of 4 (0 %) of the tokens are unknown" in findings


def test_places_name_the_file_and_held_out_lines_are_told(tmp_path):
    for number in (0, 1):
        for side in ("en", "fr"):
            lines = [f"{side} {number} {k} word\n" for k in range(150)]
            lines[2] = "one\n" if side == "en" and number else lines[2]
            lines[2] = "mot " * 40 + "\n" if side == "fr" and number else lines[2]
            (tmp_path / f"{number}.{side}").write_text("".join(lines))
    files = {f"train_{s}": [f"0.{e}", f"1.{e}"] for s, e in (("source", "en"), ("target", "fr"))}
    data = {"folder": str(tmp_path), "held_out": 60, **files}
    findings = [str(each) for each in check_data(load_config(values={"data": data}))]
    counts = [
        int(finding.split()[2])
        for finding in findings
        if finding.endswith(("takes out for development", "held out of the training text"))
    ]
    assert len(counts) == 2 and sum(counts) == 300
    assert any(f"{tmp_path}/1.en:3 (" in finding for finding in findings)


def test_the_command_prints_them_and_fails_for_an_error(tmp_path, sound, capsys):
    for name, lines in zip("st", sound[0]):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "c.yaml"
    path.write_text(f"data: {{train_source: {tmp_path}/s, train_target: {tmp_path}/t}}\n")
    assert run(["doctor", "--config", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 error(s), 1 warning(s)"
    (tmp_path / "s").write_text("one line\n")
    assert run(["doctor", "--config", str(path)]) == 1
