"""How sure an exported model is: the RUN's own numbers, and what an export of a RUN without a
calibration says.
"""

import json

import numpy as np
import pytest
import tensorflow as tf
from tiny_run import write_run

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.alignment.links import word_shares
from rnnsearch_tf.evaluation.confidence import Calibration
from rnnsearch_tf.export import confidence, writer
from rnnsearch_tf.export.translator import ExportedTranslator
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server

LINES = ["My sister reads an old book.", "", "the blue door", "Zoé 🙂 sings", "a b c d e f g"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "source"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return str(path)


def test_it_is_that_of_the_run(session, translator, run_folder):
    texts = [translation.text for translation in translator.translate(LINES, replace_unknown=True)]
    expected = Calibration.load(Run(run_folder))(translator, LINES, texts)
    answer = session("confidence", source=LINES, target=texts)
    np.testing.assert_allclose(
        answer["confidence"], [each.sentence for each in expected], rtol=0, atol=1e-6
    )
    for words, numbers, each in zip(answer["words"], answer["word_confidences"], expected):
        assert words.decode().split() == [word for word, _ in each.words]
        np.testing.assert_allclose(
            json.loads(numbers), [p for _, p in each.words], rtol=0, atol=1e-6
        )
    assert len(set(answer["confidence"])) > 3 and sum(len(each.words) for each in expected) > 10


@pytest.mark.slow
def test_the_command_says_the_same_of_the_export(exported, run_folder, source, capsys):
    rows = []
    for words in (["--model", str(run_folder), "--replace-unknown"], ["--model", str(exported)]):
        assert (
            rnnsearch(["translate", *words, "--confidence", "--output-type", "json", source]) == 0
        )
        rows.append([json.loads(line) for line in capsys.readouterr().out.splitlines()])
    for of_run, of_export in zip(*rows, strict=True):
        assert [word for word, _ in of_export["word_confidences"]] == [
            word for word, _ in of_run["word_confidences"]
        ]
        numbers = [
            [row["confidence"], *(p for _, p in row["word_confidences"])]
            for row in (of_export, of_run)
        ]
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-4 + 1e-6)  # four digits are written


@pytest.mark.slow
def test_a_client_of_a_server_says_the_same_of_the_export(exported, source, capsys):
    assert rnnsearch(["translate", "--model", str(exported), "--confidence", source]) == 0
    expected = capsys.readouterr().out
    flags = Flags(
        {"mt": str(exported.parent)}, port=FREE, rest_api_port=0, enable_model_warmup=False
    )
    with Server(flags) as server:
        assert (
            rnnsearch(
                [
                    "client",
                    "--server",
                    f"127.0.0.1:{server.grpc_port}",
                    "--model-name",
                    "mt",
                    "--confidence",
                    source,
                ]
            )
            == 0
        )
    assert capsys.readouterr().out == expected and expected.count("\t") == 2 * len(LINES)


@pytest.mark.parametrize(
    "tokens, text",
    [
        (["▁the", "▁c", "at"], "the cat"),
        (["▁", "the", "▁", "▁cat", "▁"], "the cat"),  # spaces alone, the last one behind all words
        (["l'", "homme", "."], "l'homme."),
        (["a b", "c", "éé"], "a bc éé"),
        (["&amp;amp;", "b"], "& b"),  # more characters than the text has
        (["x"], ""),
        ([], "no token"),
        ([], ""),
    ],
    ids=str,
)
def test_log_probabilities_of_words_are_those_of_the_python_way(tokens, text):
    logs = -np.arange(1.0, len(tokens) + 1)
    expected = word_shares(tokens, text.split()).T @ logs
    rows = [tokens, ["▁more"], tokens]  # a row depends on itself alone
    ragged = tf.ragged.constant(rows, tf.string, ragged_rank=1)
    values = tf.ragged.constant([list(logs), [-9.0], list(logs)], tf.float64, ragged_rank=1)
    found = confidence._of_words(
        values,
        ragged,
        tf.ragged.constant([text.split(), ["more"], text.split()], tf.string, ragged_rank=1),
    ).numpy()
    np.testing.assert_allclose(found, [*expected, -9.0, *expected])


def test_a_run_without_a_calibration_is_exported_without_it_and_says_so(
    tmp_path, source, capsys, monkeypatch
):
    # another process, which other tests start
    monkeypatch.setattr(writer, "check_export", lambda *_: 0)
    run = write_run(tmp_path / "run")
    made = writer.export_model(
        run,
        tmp_path / "served",
        overrides=["signatures=[translate, confidence]", "warmup_requests=0"],
    )
    assert made.left_out.startswith(
        f"without the signature confidence: {run} is not calibrated; rnnsearch evaluate --model"
        f" {run} "
    )
    assert made.left_out in (made.folder / "model_card.md").read_text()
    assert ExportedTranslator(made.folder).profile.signatures == ("translate",)
    assert rnnsearch(["translate", "--model", str(made.folder), "--confidence", source]) == 2
    assert (
        "expected a model exported with signature confidence, got one with translate"
        in capsys.readouterr().err
    )
