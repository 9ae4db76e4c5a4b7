"""The benchmark programs start, count products as made, and give every output its length."""

import ast
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import types
import unittest.mock
from typing import NamedTuple

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks"
PROGRAMS = [
    "kernels.py",
    "training.py",
    "decoding.py",
    "input.py",
    "startup.py",
    "precision.py",
    "peers.py",
    "shortlist.py",
    "threads.py",
    "adaptation.py",
    "constraints.py",
    "data_pipeline.py",
    "selection.py",
    "corpus.py",
    "soak.py",
    "gpu_check.py",
    "cost_model.py",
    "distributed.py",
    "hostile.py",
    "without_tensorflow.py",
    "imported.py",
    "int8_peers.py",
]
WORKERS = ["ours.py", "peer_joeynmt.py", "peer_opennmt.py"]
SYSTEMS = [
    "rnnsearch",
    "rnnsearch, reset gate after",
    "rnnsearch, coverage",
    "rnnsearch, Gaussian windows",
    "rnnencdec, LSTM",
    "encoder_decoder",
    "deep_lstm",
    "luong, input feeding",
    "luong, concat, GRU",
    "stacked",
    "cslm",
]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("program", PROGRAMS + WORKERS)
def test_help_answers_without_tensorflow(program):
    code = (
        f"import runpy, sys; sys.argv = ['{program}', '--help']; sys.path.insert(0,"
        f" {str(FOLDER)!r})\n"
    )
    code += (
        f"try: runpy.run_path({str(FOLDER / program)!r}, run_name='__main__')\nfinally: assert"
        " 'tensorflow' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "usage:" in done.stdout, done.stderr


def imported_names(program):
    """(module, name) of what a program imports from the package, anywhere in it."""
    for node in ast.walk(ast.parse((FOLDER / program).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rnnsearch"):
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("program", sorted(path.name for path in FOLDER.glob("*.py")))
def test_what_a_program_imports_from_the_package_is_there(program):
    """Many of these imports stand in functions, which only a whole run would reach."""
    for module, name in imported_names(program):
        found = importlib.import_module(module)
        assert hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}"), (module, name)


class Ended(NamedTuple):
    """What subprocess.run returns."""

    returncode: int
    stdout: str


def test_a_gpu_check_without_a_gpu_says_so(monkeypatch, capsys):
    import gpu_check

    monkeypatch.setattr("tensorflow.config.list_physical_devices", lambda kind: [])
    monkeypatch.setattr(sys, "argv", ["gpu_check.py"])
    with pytest.raises(SystemExit) as ended:
        gpu_check.main()
    said = capsys.readouterr()
    assert ended.value.code == 1 and not said.out
    assert "expected a GPU that TensorFlow sees, got none" in said.err and "pip install" in said.err


@pytest.mark.parametrize("fails", (None, "pytest", "decoding.py"))
def test_a_gpu_check_reports_tests_and_tables(fails, monkeypatch, capsys):
    """Its programs are there; one that fails is named, and so are tests."""
    import gpu_check

    def run(command, **_):
        command = " ".join(map(str, command))
        assert all(
            (FOLDER.parent / name).exists()
            for name in re.findall(r"tests/\S+|benchmarks/\S+", command)
        )
        if "pytest" in command:
            bad = Ended(1, "FAILED tests/a.py::test_b - c\n1 failed, 3 passed in 2.00s")
            return bad if fails == "pytest" else Ended(0, "4 passed in 2.00s\n")
        return Ended(int(fails is not None and fails in command), "a table")

    monkeypatch.setattr(gpu_check, "gpus", lambda: ([("GPU:0", "H100, (9, 0)")], "TensorFlow"))
    monkeypatch.setattr(gpu_check.subprocess, "run", run)
    assert gpu_check.check(gpu_check.TABLES) == (fails is None)
    printed = capsys.readouterr().out
    assert (
        "`GPU:0`: H100, (9, 0)." in printed
        and ("1 failed, 3 passed" if fails == "pytest" else "4 passed") in printed
    )
    assert ("- tests/a.py::test_b" in printed) == (fails == "pytest") and (
        "decoding.py" in printed
    ) == (fails == "decoding.py")
    assert printed.endswith("All is well on this GPU.\n") == (fails is None)


@pytest.fixture
def products_made():
    """A list that receives the operations of every matrix product that TensorFlow makes."""
    from tensorflow.compat import as_bytes
    from tensorflow.python.framework import op_callbacks

    made = []

    def watch(kind, inputs, attributes, outputs, *_, **__):
        if b"MatMul" in as_bytes(kind):
            attributes = {
                as_bytes(name): value for name, value in zip(attributes[::2], attributes[1::2])
            }
            left = inputs[0].shape
            inner = (
                left[-2] if attributes.get(b"transpose_a", attributes.get(b"adj_x")) else left[-1]
            )
            made.append(2 * int(np.prod(outputs[0].shape)) * inner)

    op_callbacks.add_op_callback(watch)
    yield made
    op_callbacks.remove_op_callback(watch)


@pytest.mark.parametrize("system", SYSTEMS)
def test_counted_products_are_those_made(system, products_made):
    import products
    import sizes
    import tensorflow as tf

    from rnnsearch_tf.models import build_model

    size = sizes.SIZES["TINY"]._replace(hidden_size=6, source_length=7)
    model = build_model(
        sizes.configuration(size, system), size.vocabulary_size, size.vocabulary_size
    )
    batch = sizes.synthetic_batch(size, np.random.default_rng(1))
    batch["target_ids"][0, 3:] = [1, 0]  # one word less
    products_made.clear()
    model.token_losses({name: tf.constant(ids) for name, ids in batch.items()})
    counted = products.forward_operations(
        model, size.batch_size, 7, size.target_length, size.batch_size * size.target_length - 1
    )
    assert sum(counted.values()) + made_beyond(model, size) == sum(products_made)


def made_beyond(model, size):
    """What RNNsearch's decoders make beyond the equations: C meets J annotations in place of a
    context a step, and α sums up C h_j beside h_j.
    """
    config = model.config
    if config.system != "rnnsearch" or config.layer_normalization:
        return 0
    width = (4 if config.unit == "lstm" else 3) * config.hidden_size
    B = size.batch_size
    J = size.source_length
    steps = size.target_length
    return 2 * 2 * config.hidden_size * width * B * (J - steps) + 2 * B * steps * J * width


@pytest.mark.slow
def test_every_part_of_an_update_runs():
    from ours import Ours

    parts = Ours("TINY")._tasks()
    assert list(parts) == ["encoder", "decoder", "output", "backward", "optimizer"]
    for part in parts.values():
        part()


def test_a_search_is_timed():
    from ours import Ours

    seconds = Ours("TINY").search(beam_size=2, batch_size=3, repeats=2)
    assert len(seconds) == 2 and min(seconds) > 0


def test_a_written_run_gives_outputs_of_the_fixed_length(tmp_path):
    import sizes

    from rnnsearch_tf.translation import Translator

    size = sizes.SIZES["TINY"]
    translator = Translator.load(sizes.write_run(tmp_path / "run", sizes.configuration(size)))
    lines = sizes.sentences(
        3,
        size.source_length - 1,
        sizes.vocabulary(size.vocabulary_size)[3:],
        np.random.default_rng(1),
    )
    for length in (2, 9):
        options = sizes.fixed_length(size.source_length, length)
        translations = translator.translate(lines, beam_size=2, **options)
        assert {len(t.alignment) for t in translations} == {len(t.tokens) + 1 for t in translations}
        # the last may be the end symbol
        assert {len(t.tokens) for t in translations} <= {
            length - 1,
            length,
        }


@pytest.mark.parametrize("name", ["SMALL", "PAPER"])
def test_fixed_length_is_exact_at_every_size(name):
    import sizes

    from rnnsearch_tf.search.hypotheses import maximum_lengths, minimum_lengths

    size = sizes.SIZES[name]
    search = sizes.configuration(
        size, **sizes.fixed_length(size.source_length, size.target_length)
    ).search
    assert minimum_lengths([size.source_length], search) == size.target_length - 1
    assert maximum_lengths([size.source_length], search) == size.target_length


def test_batches_of_peers_are_written_and_read(tmp_path):
    import measuring
    import peers
    import sizes

    size = sizes.SIZES["TINY"]
    batches = peers.batches_of(peers.random_pairs(size, 40, varied=True), size, bucketed=True)
    measuring.write_batches(tmp_path / "batches.npz", batches)
    for (source, target), (written, other) in zip(
        batches, measuring.read_batches(tmp_path / "batches.npz"), strict=True
    ):
        np.testing.assert_array_equal(source, written)
        np.testing.assert_array_equal(target, other)
        lengths = np.maximum((source != 0).sum(1), (target != 0).sum(1))
        assert lengths.max() - lengths.min() <= 1 and ((source == 1).sum(1) == 1).all()


def test_a_fit_finds_the_formula_and_leaves_out_what_would_be_negative():
    import cost_model

    true = {"1": 0.2, "B (J + I)": 3e-5, "B I V": 2e-9, "V": 1e-6}
    values = [cost_model.predicted(cost_model.TIME, true, point) for point in cost_model.POINTS]
    found = cost_model.fitted(cost_model.TIME, cost_model.POINTS, values)
    for point in cost_model.HELD_OUT:
        expected = cost_model.predicted(cost_model.TIME, true, point)
        assert cost_model.predicted(cost_model.TIME, found, point) == pytest.approx(
            expected, rel=1e-6
        )
    less = [
        value - 1e-7 * length * batch * length
        for value, (length, batch, _) in zip(values, cost_model.POINTS)
    ]
    assert all(
        value >= 0 for value in cost_model.fitted(cost_model.TIME, cost_model.POINTS, less).values()
    )


def test_the_hours_of_the_papers_training():
    """Its Table 2 from its own rate: 252 hours again."""
    import cost_model

    each = 5e11
    assert cost_model.hours(each, cost_model.UPDATES * each / 252 / 3600, 1.0) == pytest.approx(252)
    assert cost_model.hours(each, 2e12, 0.25) == pytest.approx(
        2 * cost_model.hours(each, 1e12, 1.0)
    )


def test_tasks_take_turns():
    import measuring

    calls = []
    seconds = measuring.in_turns(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=2
    )
    assert calls == list("ababab") and {name: len(values) for name, values in seconds.items()} == {
        "a": 2,
        "b": 2,
    }


def test_a_worker_answers_and_says_why_it_ended():
    import measuring

    program = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import measuring\n"
    program += "measuring.answer_requests({'double': lambda value: (print('noise'), 2 * value)[1]})"
    with measuring.Worker([sys.executable, "-c", program]) as worker:
        assert [worker("double", value=2), worker("double", value=21)] == [4, 42]
        with pytest.raises(RuntimeError, match="exit code 1: (.|\n)*KeyError: 'triple'"):
            worker("triple", value=1)


def test_tables_are_markdown():
    import measuring

    rows = [["one", 1, 0.123456, None], ["two", 12345, 1234.5, "–"], ["three", 0, 0.00479, 1.5]]
    assert measuring.table(["name", "count", "rate", "missing"], rows).splitlines() == [
        "| name | count | rate | missing |",
        "| --- | --: | --: | --: |",
        "| one | 1 | 0.123 | – |",
        "| two | 12,345 | 1,234 | – |",
        "| three | 0 | 0.00479 | 1.50 |",
    ]


def test_ctranslate2_has_the_threads_of_the_others(monkeypatch):
    import int8_peers
    import peer_ctranslate2
    import sizes

    made = {}
    translator = types.SimpleNamespace(Translator=lambda *_, **options: made.update(options))
    monkeypatch.setitem(sys.modules, "ctranslate2", translator)
    monkeypatch.setattr(peer_ctranslate2, "specification", lambda **_: unittest.mock.MagicMock())
    options = dict(layers=3, width=256)
    *_, told = int8_peers.command_of_ctranslate2("python", sizes.SIZES["TINY"], options, 3)
    peer_ctranslate2.Peer(json.loads(told))
    assert (made["inter_threads"], made["intra_threads"]) == (1, 3)


def test_batches_of_every_size_have_sentences_of_all_lengths():
    import without_tensorflow

    rows = [[0] * length for length in range(1, 65)]
    for size, lengths in ((1, [33]), (2, [17, 49]), (4, [9, 25, 41, 57]), (64, range(1, 65))):
        assert [len(row) for row in without_tensorflow.spread(rows, size)] == list(lengths)
    assert without_tensorflow.spread(rows[:3], 8) == rows[:3]


@pytest.mark.parametrize("words", (["--model", "run"], ["--text", "file"]))
def test_a_model_is_measured_on_text(words, monkeypatch, capsys):
    """It would read standard input."""
    import without_tensorflow

    monkeypatch.setattr(sys, "argv", ["without_tensorflow.py", *words])
    with pytest.raises(SystemExit) as ended:
        without_tensorflow.main()
    assert ended.value.code == 2 and "--model and --text go together" in capsys.readouterr().err


def test_a_soak_that_ends_before_the_first_look_has_no_memory():
    import soak

    assert soak.memory_of([], 0, 300) == [None, None]
    assert soak.memory_of([(10, 2e6, 1e6), (20, 4e6, 3e6)], 0, 300) == [4, 3]


def test_rows_are_printed_although_a_later_one_failed(capsys):
    import measuring

    with pytest.raises(RuntimeError), measuring.printed(["name"]) as rows:
        rows.append(["one"])
        raise RuntimeError
    assert "| one |" in capsys.readouterr().out
