"""What the doctor finds in planted corpora, and that it finds nothing in a sound one."""

import re

import pytest

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.doctor import check_data
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
    assert findings[0] == "note: train: 400 pairs"
    assert any("source lengths in tokens: median" in finding for finding in findings)


def test_empty_lines_are_counted_and_the_rest_still_looked_at(found):
    findings = found(b"a b\nc d\n\nd e\n" * 3, b"x y\n" * 12)
    [first] = [each for each in findings if "empty line" in each]
    assert first.startswith("warning: train: 9 pairs; left out: 3 with an empty line (first: ")
    assert "note: train: source lengths in tokens: median 2, 95 % within 2, longest 2" in findings


def test_unreadable_and_empty_files_are_findings_not_exceptions(found):
    for data in ({"train_source": "/no/such/file", "train_target": "/no/such/file"}, {}):
        [finding] = check_data(load_config(values={"data": data}))
        assert str(finding).startswith("error: train: data.train_source: ")
    [finding] = found(b"a b\nc d\n", b"x\n")
    assert finding.startswith("error: train: ") and ":2: expected as many lines as in" in finding


def test_length_limits(found):
    lines = ["a b c"] * 9 + ["a b c d"]
    limited = found(lines, lines, maximum_length=3)
    start = "warning: train: 1 of 10 (10 %) of the pairs are longer than data.maximum_length=3: "
    assert any(finding.startswith(start) and finding.endswith(":10") for finding in limited)
    assert not any("are longer" in finding for finding in found(lines, lines, maximum_length=4))
    start = "error: train: 10 of 10 (100 %) of the pairs are longer"  # no training is possible
    assert any(each.startswith(start) for each in found(lines, lines, maximum_length=2))


def test_unequal_lengths_copies_and_duplicates(found, sound):
    source, target = map(list, sound[0])
    target[7] = " ".join(["mot"] * 40)
    source[20:30] = target[20:30]
    source[50:100] = source[100:150]
    target[50:100] = target[100:150]
    findings = problems(found(source, target))
    assert len(findings) == 4  # and the missing development files
    for words, place in (
        ("1 of 400 (0.25 %) of the pairs have one side more than three times as long", ":8"),
        ("10 of 400 (2.5 %) of the pairs have the same text on both sides: ", ":21;"),
        ("50 of 400 (12 %) of the pairs are duplicates", ":101;"),
    ):
        assert any(words in finding and place in finding for finding in findings)


def test_which_lengths_are_unequal(found):
    shorter, longer = [3, 3, 2, 1, 1, 10], [9, 10, 7, 7, 6, 31]
    sides = (
        [f"{n} " + "mot " * (size - 1) for n, size in enumerate(each)]
        for each in (shorter + longer, longer + shorter)
    )
    [finding] = [each for each in found(*sides) if "more than three times as long" in each]
    assert "6 of 12" in finding and re.findall(r":(\d+)", finding.partition("long:")[2])[:3] == [
        "2",
        "4",
        "6",
    ]


def test_shifted_lines(found, sound):
    """Of a whole text; from the line on that lacks its partner; of 100 lines in the middle. An
    endless line does not hide or feign them.
    """

    def shifted(source, target):
        """(severity, line of the first, shifted pairs, the line that they fit)."""
        pattern = r"(\w+): train: lines are shifted: from .*?:(\d+) on, ([\d,]+) of .* line (\w+)"
        match = re.search(pattern, "\n".join(found(source, target)))
        if match:
            severity, first, number, side = match.groups()
            return severity, int(first), int(number.replace(",", "")), side

    source, target = map(list, sound[0])
    source[200] = "word " * 9000
    assert shifted(source, target) is None
    severity, first, number, side = shifted(source, target[1:] + target[:1])
    assert (severity, side) == ("error", "before") and number > 380  # of 400
    source, target = map(list, phrasebook(2000, "train"))
    severity, first, number, side = shifted(source, [*target[:1000], *target[1001:], "Oui ."])
    assert (severity, side) == ("error", "before") and number > 980 and 1000 < first < 1012
    inserted = [*target[:500], target[600], *target[500:600], *target[601:]]
    source[10] = target[10] = "word " * 9000  # it is no shift, and left out
    severity, first, number, side = shifted(source, inserted)
    assert (severity, side) == ("warning", "after") and 80 < number < 120 and 495 < first < 512


def test_a_column_of_numbers_has_no_correlation(found, sound):
    _, target = sound[0]
    findings = problems(found([f"{number:06}" for number in range(400)], target))
    assert any("correlation of the lengths of both sides: 0.00" in each for each in findings)


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


def test_places_name_the_file(write):
    lines = ["one word", "a word", "one"]
    sources = [write("0.en", lines), write("1.en", lines)]
    targets = [write("0.fr", lines), write("1.fr", [*lines[:2], "mot " * 40])]
    data = {"train_source": sources, "train_target": targets}
    findings = [str(each) for each in check_data(load_config(values={"data": data}))]
    assert any("three times" in each and each.endswith(f"{sources[1]}:3") for each in findings)


def test_the_command_prints_them_and_fails_for_an_error(tmp_path, sound, capsys):
    for name, lines in zip("st", sound[0]):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "c.yaml"
    path.write_text(f"data: {{train_source: {tmp_path}/s, train_target: {tmp_path}/t}}\n")
    assert run(["doctor", "--config", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 error(s), 1 warning(s)"
    (tmp_path / "s").write_text("one line\n")
    assert run(["doctor", "--config", str(path)]) == 1
