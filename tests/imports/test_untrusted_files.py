"""Files of others: nothing in them runs, damage and other programs' files end in a clear error."""

import importlib
import io
import json
import os
import pathlib
import pickle
import random
import shutil
import zipfile

import numpy as np
import pytest
import tensorflow as tf
from imported_models import FILES, FIXTURES, MODELS, files_in, files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.importing import pickles, vocabularies
from rnnsearch_tf.extras.importing.foreign import built
from rnnsearch_tf.extras.importing.importer import READERS, describe, import_model
from rnnsearch_tf.extras.importing.npz import NpzFile
from rnnsearch_tf.extras.importing.pickles import read_pickle
from rnnsearch_tf.extras.importing.torch_file import TorchFile
from rnnsearch_tf.extras.importing.vocabularies import read_dictionary, read_words

ONE_OF_EACH = ["nematus-wmt17", "marian-s2s", "joeynmt-lstm-last"]


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_runs_nothing(tmp_path, protocol):
    path, made = tmp_path / "vocab.pkl", tmp_path / "made"
    path.write_bytes(pickle.dumps({"a": 1, "b": Evil(str(made))}, protocol))
    with pytest.raises(UserError, match="refused: expected dictionaries, lists"):
        read_pickle(path)
    assert not made.exists()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_pickles_of_plain_values(tmp_path, protocol):
    value = {"le": 3, "état": 4, "list": [1, 2.5, None, True, (1, "x")], "big": 1 << 40}
    path = tmp_path / "state.pkl"
    path.write_bytes(pickle.dumps(value, protocol))
    assert read_pickle(path) == value


def test_strings_of_python_2(tmp_path):
    path = tmp_path / "vocab.pkl"
    path.write_bytes(b"(dp0\nS'\\xc3\\xa9t\\xc3\\xa9'\np1\nI7\ns.")
    assert read_pickle(path) == {"été": 7}


def test_a_pickle_that_reserves_memory(tmp_path):
    """An empty list as value number 2,147,483,647, for which unpickling reserves 16 GB."""
    path = tmp_path / "vocab.pkl"
    path.write_bytes(b"\x80\x02]r\xff\xff\xff\x7f.")
    with pytest.raises(UserError, match=r"numbers of values up to 16,777,216, got 2,147,483,647"):
        read_pickle(path)


def test_a_pickle_of_many_values(tmp_path, monkeypatch):
    """Each byte of a pickle can make a value of 56 bytes."""
    path = tmp_path / "vocab.pkl"
    monkeypatch.setattr(pickles, "MOST_INSTRUCTIONS", 1000)
    path.write_bytes(b"\x80\x02(" + b"]" * 1000 + b"l.")
    with pytest.raises(UserError, match="refused: expected at most 1,000 instructions"):
        read_pickle(path)
    path.write_bytes(pickle.dumps({f"word{k}": k for k in range(200)}, 2))
    assert len(read_pickle(path)) == 200


def test_a_pickle_of_nested_tuples(tmp_path):
    """The hash of ten million nested tuples exhausts the stack: the process would end."""
    path = tmp_path / "vocab.pkl"
    path.write_bytes(b"\x80\x02})" + b"\x85" * 10_000_000 + b"K\x01s.")
    with pytest.raises(UserError, match="refused: .* and 10,000 tuples, got more at byte"):
        read_pickle(path)


def test_a_pickle_of_a_long_number(tmp_path):
    path = tmp_path / "vocab.pkl"
    path.write_bytes(pickle.dumps({"dim": 10**5000}, 2))
    with pytest.raises(UserError, match="refused: expected .* got the instruction LONG4"):
        read_pickle(path)


def test_vocabularies_of_too_many_values(tmp_path, monkeypatch):
    monkeypatch.setattr(vocabularies, "MOST_TOKENS", 3)
    path = tmp_path / "vocab.yml"
    path.write_text("a: 1\n" * 4, encoding="utf-8")  # one word, as a dictionary
    with pytest.raises(UserError, match="more than 3 words"):
        read_words(path)
    path.write_text("[[], [], []]", encoding="utf-8")
    with pytest.raises(UserError, match="more than 3 lists and dictionaries"):
        read_dictionary(path)


@pytest.mark.parametrize("data", [b"", b"abc", pickle.dumps({"a": 1})[:-3], b"." * 9])
def test_damaged_pickles(tmp_path, data):
    path = tmp_path / "vocab.pkl"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"vocab\.pkl: (refused: )?expected"):
        read_pickle(path)


def rewritten(source, target, change):
    """A copy of a zip archive with another description: change(bytes of data.pkl) → bytes."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry, change(data) if entry.filename.endswith("data.pkl") else data)


def test_a_checkpoint_runs_nothing(tmp_path):
    """An object of another class is ignored, its function is not called."""
    path, made = tmp_path / "best.ckpt", tmp_path / "made"
    checkpoint = files_of("joeynmt-lstm-last")[0]
    evil = pickle.dumps({"model_state": {}, "x": Evil(str(made))}, 2)
    rewritten(checkpoint, path, lambda data: evil)
    assert TorchFile(path, "model_state").shapes == {}
    assert not made.exists()


def test_a_tensor_beyond_its_storage(tmp_path):
    path = tmp_path / "best.ckpt"
    name = "decoder.att_vector_layer.bias"
    original = TorchFile(files_of("joeynmt-lstm-last")[0], "model_state")
    size = original.shapes[name][0]
    rewritten(
        files_of("joeynmt-lstm-last")[0],
        path,
        lambda data: data.replace(b"K" + bytes([size]) + b"\x85", b"K\xff\x85"),
    )
    with pytest.raises(UserError, match=f"{name}: expected an array, .*10 numbers for .255,"):
        TorchFile(path, "model_state")


@pytest.mark.parametrize("name", ONE_OF_EACH)
@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_end_in_an_error_of_one_line(name, seed, tmp_path):
    """Bytes that are changed, cut off or put in: the model is as before, or there is an error."""
    random_ = random.Random(seed)
    expected = built(describe(MODELS[name], files_of(name)))[0].get_weights()
    for number, original in enumerate(files_of(name) * 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        files = [shutil.copy(path, folder) for path in files_of(name)]
        damaged = files[files_of(name).index(original)]
        data = bytearray(open(damaged, "rb").read())
        for _ in range(random_.choice([1, 20])):
            data[random_.randrange(len(data))] = random_.randrange(256)
        if random_.random() < 0.3:
            del data[random_.randrange(len(data)) :]
        with open(damaged, "wb") as file:
            file.write(data)
        try:
            found = built(describe(MODELS[name], files))[0].get_weights()
        except UserError as error:  # UsageError is one
            assert "\n" not in str(error)
        else:
            assert [array.shape for array in found] == [array.shape for array in expected]


def test_arrays_of_objects_are_not_read(tmp_path):
    path = tmp_path / "model.npz"
    made = tmp_path / "made"
    np.savez(path, W=np.ones((2, 3)), zipped_params=np.array([Evil(str(made))], dtype=object))
    arrays = NpzFile(path)
    assert arrays.shapes == {"W": (2, 3)}
    assert arrays.read("W").dtype == np.float32
    with pytest.raises(UserError, match="expected an array zipped_params"):
        arrays.read("zipped_params")
    assert not made.exists()


def test_sizes_are_checked_before_memory_is_taken(tmp_path):
    path = tmp_path / "model.npz"
    written = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        written, dict(descr="<f4", fortran_order=False, shape=(1 << 20, 1 << 20))
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Wemb.npy", written.getvalue())
    files = [str(path), *files_of("nematus-wmt17")[1:]]
    with pytest.raises(UserError, match=r"expected an array|Wemb: expected \(\d+, 8\)"):
        describe("nematus", files)


def options_changed(tmp_path, fixture="nematus-wmt17", renamed=(), **changes):
    """Files of a model of Nematus with other options, or other names of them."""
    files = files_of(fixture)
    with open(files[1], encoding="utf-8") as file:
        options = json.load(file) | changes
    for name, other in renamed:
        options[other] = options.pop(name)
    path = tmp_path / "model.npz.json"
    path.write_text(json.dumps(options), encoding="utf-8")
    return [files[0], str(path), *files[2:]]


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            dict(encoder="lstm"),
            "encoder: expected 'gru', got 'lstm': no system here computes it; it",
        ),
        (dict(enc_depth=4), "enc_depth: expected 1, got 4: .* layers with residual connections"),
        (dict(factors=3), "factors: expected 1, got 3"),
        (dict(weight_normalisation=True), "weight_normalisation: expected False, got True"),
        (dict(dim=11), r"encoder_W: expected \(8, 22\) by the options, got \(8, 20\)"),
        (dict(dim="ten"), "dim: expected int, got 'ten'"),
        (dict(tie_decoder_embeddings=False), "expected an array ff_logit_W"),
        (dict(n_words=3), r"Wemb_dec: expected \(3, 8\) by the options, got"),
    ],
)
def test_what_no_system_computes_is_refused_by_its_option(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        describe("nematus", options_changed(tmp_path, **changes))


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(model_type="transformer"), "model_type: expected 'rnn', .* it needs a Transformer"),
        (dict(rnn_enc_depth=2), "rnn_enc_depth: expected 1, got 2: .* residual connections"),
        (dict(rnn_dec_depth=2), "rnn_dec_depth: expected 1, got 2: .* residual connections"),
        (dict(enc_depth=2), "enc_depth: expected 1, got 2"),  # version 0.3
        (dict(factors=2), "factors: expected 1, got 2"),
        (dict(softmax_mixture_size=3), "softmax_mixture_size: expected 1, got 3"),
        (dict(output_hidden_activation="relu"), "output_hidden_activation: expected 'tanh'"),
        (dict(rnn_lexical_model=True), "rnn_lexical_model: expected False, got True"),
        (dict(layer_normalization_type="rmsnorm"), "layer_normalization_type: expected 'layern"),
        (dict(tie_encoder_decoder_embeddings=True), "tie_encoder_decoder_embeddings: expected F"),
        (dict(source_vocab_sizes=[70, 5]), r"source_vocab_sizes: expected int, got \[70, 5\]"),
        (dict(rnn_layer_normalization=1), "rnn_layer_normalization: expected bool, got 1"),
        (dict(state_size=11), r"input_to_gates: expected \(8, 22\) by the options, got \(8, 20\)"),
        (dict(rnn_enc_transition_depth=3), "an array encoder/forward-stack/level0/gru2/state_to_g"),
        (dict(exponential_smoothing=0.1), "an array encoder/embedding/embeddings_smooth"),
    ],
)
def test_what_no_system_computes_of_the_tensorflow_versions(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        describe("nematus", options_changed(tmp_path, "nematus-tf-deep-transition", **changes))


def test_options_of_version_0_3_have_other_names(tmp_path):
    name = "nematus-tf-deep-transition"
    renamed = [
        ("rnn_layer_normalization", "use_layer_norm"),
        ("rnn_enc_transition_depth", "enc_recurrence_transition_depth"),
        ("rnn_dec_base_transition_depth", "dec_base_recurrence_transition_depth"),
        ("rnn_enc_depth", "enc_depth"),
        ("rnn_dec_depth", "dec_depth"),
    ]
    files = options_changed(tmp_path, name, renamed, use_dropout=True, dropout_hidden=0.5)
    found, expected = (describe("nematus", names) for names in (files, files_of(name)))
    assert found.values == expected.values
    for weight, read in expected.weights.items():
        np.testing.assert_array_equal(found.weights[weight](), read())


def test_a_checkpoint_that_was_not_copied_whole(tmp_path):
    files = options_changed(tmp_path, "nematus-tf-smoothed")
    files[0] = shutil.copy(files[0], tmp_path)
    with pytest.raises(UserError, match="expected an array, got damaged bytes"):
        built(describe("nematus", files))
    data = next(FIXTURES.glob("nematus-tf-smoothed/*.data-*"))
    (tmp_path / data.name).write_bytes(data.read_bytes()[:5000])
    with pytest.raises(UserError, match="expected an array, got damaged bytes"):
        built(describe("nematus", files))


def marian_changed(tmp_path, *changes, name="marian-s2s"):
    """Files of a model of Marian with other text in its options."""
    files = files_of(name)
    with np.load(files[0]) as archive:
        arrays = dict(archive)
    text = arrays["special:model.yml"].tobytes()
    for before, after in changes:
        assert before.encode() in text
        text = text.replace(before.encode(), after.encode())
    arrays["special:model.yml"] = np.frombuffer(text, np.int8)
    np.savez(tmp_path / "model.npz", **arrays)
    return [str(tmp_path / "model.npz"), *files[1:]]


@pytest.mark.parametrize(
    "before, after, message",
    [
        ("type: s2s", "type: transformer", "type: expected 'amun' or 'nematus' or 's2s', got 'tr"),
        ("enc-depth: 1", "enc-depth: 3", "enc-depth: expected 1, got 3: .* layers above the enc"),
        ("dec-depth: 1", "dec-depth: 2", "dec-depth: expected 1, got 2: .* layers above the dec"),
        ("right-left: false", "right-left: true", "right-left: expected False, got True"),
        ("enc-cell: gru", "enc-cell: ssru", "enc-cell: expected 'gru', got 'ssru'"),
        ("dim-rnn: 10", "dim-rnn: 12", r"encoder_bi_W: expected \(8, 24\) by the options, got"),
        ("dim-rnn: 10", "dim-rnn: on", "dim-rnn: expected int, got True"),
        ("dim-vocabs:", "dim-vocab:", "dim-vocabs: expected list, got None"),
        ("  - 89\n  - 89", "  - 89", r"dim-vocabs: expected two numbers, got \[89\]"),
        ("  - 89\n", "  - 1000000000000\n", "got a model of 1,000,000,000,000 words"),
        (
            "enc-cell-depth: 2",
            "enc-cell-depth: 99999999",
            r"expected an array encoder_bi_cell3_U \(10, 20\), found none",
        ),
        ("dec-cell-base-depth: 2", "dec-cell-base-depth: 1", "decoder_transitions: expected at"),
        (
            "tied-embeddings-all: false",
            "tied-embeddings-all: true",
            r"expected an array Wemb \(89, 8\)",
        ),
        ("tied-embeddings-src: false", "tied-embeddings-src: true", "one embedding for both lang"),
        ("output-omit-bias: false", "output-omit-bias: true", "a softmax without biases"),
        ("skip: true", "skip: 2026-13-40", r"special:model\.yml: expected YAML, got a file that"),
        ("skip: true", "skip: !!python/name:os.system", r"special:model\.yml:\d+: expected YAML"),
    ],
)
def test_what_no_system_computes_of_marian(tmp_path, before, after, message):
    with pytest.raises(UserError, match=message):
        built(describe("marian", marian_changed(tmp_path, (before, after))))


@pytest.mark.parametrize("name", ["marian-s2s-lstm", "marian-s2s-deep"])
def test_other_models_of_marian_are_refused_by_their_option(name):
    files = [str(FIXTURES / name / "model.npz"), *map(str, (FIXTURES / name).glob("vocab*.yml"))]
    message = {"lstm": "enc-cell: expected 'gru'", "deep": "enc-depth: expected 1"}
    with pytest.raises(UserError, match=message[name.rpartition("-")[2]]):
        describe("marian", files)


def test_options_in_an_array_of_marian(tmp_path):
    path, files = tmp_path / "model.npz", files_of("marian-amun")
    long = np.zeros(1_000_001, np.int8)
    for array, message in (
        (long, "special:model.yml: refused: expected at most 1,000,000 bytes, got 1,000,001"),
        (np.ones(9, np.float32), "expected an array, got damaged bytes .numbers of type float32"),
        (np.frombuffer(b"\xff: 1", np.int8), "expected an array, got damaged bytes"),
    ):
        np.savez(path, **{"special:model.yml": array})
        with pytest.raises(UserError, match=message):
            describe("marian", [str(path), *files[1:]])
    np.savez(path, W=long)
    with pytest.raises(
        UserError, match=r"expected an array special:model\.yml \(any\), found none"
    ):
        describe("marian", [str(path), *files[1:]])


def test_words_in_yaml(tmp_path):
    """Every word is text, also what YAML reads as a Boolean, a number or a merged section."""
    path = tmp_path / "vocab.yml"
    lines = [
        "</s>: 0",
        "<unk>: 1",
        "on: 2",
        "1.5: 3",
        '"\\"": 4',
        "<<: 5",
        '"no": 6',
        "~: 7",
        "été: 8",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    words = ["</s>", "<unk>", "on", "1.5", '"', "<<", "no", "~", "été"]
    assert read_words(path) == {word: number for number, word in enumerate(words)}
    path.write_text('{"a": 0, "\\ud83d\\ude00": 1}', encoding="utf-8")
    assert read_words(path) == {"a": 0, "😀": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a: b",
        "a: 1\nb",
        "- a\n- b",
        "a: {b: 1}",
        "a: &x 1\nb: *x",
        "a: 1.5",
        "? [a]\n: 1",
        "[" * 100_000,
        "a: 1\n---\nb: 2",
        "a: " + "9" * 5000,
    ],
)
def test_damaged_words_in_yaml(tmp_path, text):
    path = tmp_path / "vocab.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"^[^\n]*vocab\.yml: expected (a vocabulary|words)[^\n]*$"):
        describe("marian", [files_of("marian-s2s")[0], str(path)])


def test_special_symbols_beyond_the_model(tmp_path):
    path = tmp_path / "vocab.yml"
    path.write_text("</s>: 400\na: 2\n", encoding="utf-8")
    with pytest.raises(UserError, match="the end symbol .400. and the unknown word .1. among them"):
        describe("marian", [files_of("marian-s2s")[0], str(path)])


def test_files_of_another_model_or_number(tmp_path):
    nematus, joey = files_of("nematus-wmt17"), files_of("joeynmt-lstm-last")
    with pytest.raises(UsageError, match="got 1 of weights, 0 of options, 2 vocabularies"):
        describe("nematus", [nematus[0], *nematus[2:]])
    with pytest.raises(UsageError, match="expected weights, options and the vocabularies"):
        describe("joeynmt", joey[:3])
    with pytest.raises(UsageError, match="expected weights and the vocabularies .* or one voc"):
        describe("marian", files_of("marian-s2s") + joey[2:])
    with pytest.raises(UserError, match="expected a file, found none"):
        describe("nematus", [*nematus[:3], "nowhere.json"])
    with pytest.raises(UserError, match=r"expected \(.*\) by the options, got"):
        describe("joeynmt", [joey[0], FIXTURES / "joeynmt-gru-bridge" / "config.yaml", *joey[2:]])


def test_nothing_is_written_if_it_cannot_be_imported(tmp_path):
    with pytest.raises(UserError):
        import_model("nematus", options_changed(tmp_path, enc_depth=2), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_words_that_are_no_tokens_keep_their_rows(tmp_path):
    files = files_of("nematus-wmt17")
    with open(files[3], encoding="utf-8") as file:
        words = json.load(file)
    by_id = {number: word for word, number in words.items()}
    changed = dict(words)
    for number, word in ((4, "two words"), (5, "<pad>"), (6, "")):
        del changed[by_id[number]]
        changed[word] = number
    path = tmp_path / "vocab.fr.json"
    path.write_text(json.dumps(changed), encoding="utf-8")
    foreign = describe("nematus", [*files[:3], str(path)])
    before = describe("nematus", files)
    assert foreign.target.renamed == 3
    assert foreign.target.tokens[4:8] == [
        before.target.tokens[4],
        *[f"<entry-{k}>" for k in (4, 5, 6)],
    ]
    np.testing.assert_array_equal(foreign.target.theirs, before.target.theirs)


def test_the_command_offers_every_format():
    module = importlib.import_module("rnnsearch_tf.cli.import")
    assert set(module.PROGRAMS) == set(READERS)


@pytest.mark.parametrize(
    "name, number, line",
    [
        ("joeynmt-lstm-last", 3, "<s>"),
        ("opennmt-tf-luong", 3, "<s>"),
        ("tensorflow-nmt-scaled-luong", 2, "</s>"),
        ("tensorflow-nmt-scaled-luong", 3, "<s>"),
    ],
)
def test_a_vocabulary_without_a_special_symbol(tmp_path, name, number, line):
    files = files_of(name)
    words = pathlib.Path(files[number]).read_text(encoding="utf-8").splitlines()
    path = tmp_path / pathlib.Path(files[number]).name
    path.write_text(
        "".join(f"{'x' if word == line else word}\n" for word in words), encoding="utf-8"
    )
    files[number] = str(path)
    with pytest.raises(UserError, match=f"expected the special symbol {line}, found none"):
        describe(MODELS[name], files)


@pytest.mark.parametrize(
    "before, after, message",
    [
        ("embeddings:", "embedding:", "embeddings: expected dict, got None"),
        ("data:", "data: 3\nunused:", "data: expected dict, got 3"),
        (
            "rnn_type: lstm",
            "rnn_type: gru",
            "encoder.rnn_type: expected that of the decoder, lstm, got gru",
        ),
        ("type: recurrent", "type: transformer", "type: expected 'recurrent', got 'transformer'"),
        (
            "num_layers: 2",
            "num_layers: two",
            "encoder.num_layers: expected that of the decoder, 2, got two",
        ),
        ("init_hidden: last", "init_hidden: first", "init_hidden: expected 'bridge' or"),
    ],
)
def test_other_configurations_of_joey_nmt(tmp_path, before, after, message):
    files = files_of("joeynmt-lstm-last")
    text = pathlib.Path(files[1]).read_text(encoding="utf-8")
    assert before in text
    path = tmp_path / "config.yaml"
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    files[1] = str(path)
    with pytest.raises(UserError, match=message):
        describe("joeynmt", files)


def test_any_number_of_layers_of_joey_nmt(tmp_path):
    """The first array that is missing ends it."""
    files = files_of("joeynmt-lstm-last")
    text = pathlib.Path(files[1]).read_text(encoding="utf-8")
    files[1] = str(tmp_path / "config.yaml")
    layers = text.replace("num_layers: 2", "num_layers: 1000000000")
    pathlib.Path(files[1]).write_text(layers, encoding="utf-8")
    with pytest.raises(UserError, match=r"expected an array encoder\.rnn\.weight_ih_l2 \(40, 20"):
        describe("joeynmt", files)


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = (", "expected the description of a model in Python"),
        ("x = 1", "found no RNNEncoder"),
        ("RNNEncoder(2, size)", "found no AttentionalRNNDecoder"),
        ("RNNEncoder(2, size); AttentionalRNNDecoder(2, 8)", "num_units: expected"),
    ],
)
def test_other_descriptions_of_opennmt_tf(tmp_path, text, message):
    files = files_of("opennmt-tf-luong")
    path = tmp_path / "model.py"
    path.write_text(text, encoding="utf-8")
    files[1] = str(path)
    with pytest.raises(UserError, match=message):
        describe("opennmt-tf", files)


def checkpoint_changed(tmp_path, index, name_of, value_of=lambda value: value):
    """A checkpoint of the same variables with other names and values; those without a name are left
    out.
    """
    reader = tf.train.load_checkpoint(index.removesuffix(".index"))
    names = {name: name_of(name) for name in reader.get_variable_to_shape_map()}
    names = {name: other for name, other in names.items() if other}
    prefix = str(tmp_path / "ckpt-1")
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=list(names.values()),
        shape_and_slices=[""] * len(names),
        tensors=[tf.constant(value_of(reader.get_tensor(name))) for name in names],
    )
    return f"{prefix}.index"


@pytest.mark.parametrize("name", ["opennmt-tf-luong", "opennmt-tf-bahdanau"])
def test_a_model_of_opennmt_tf_without_dropout(tmp_path, name):
    """Its cells have no wrapper, and their variables no folder named layer."""
    files = files_of(name)
    index = checkpoint_changed(tmp_path, files[0], lambda each: each.replace("/layer/", "/"))
    found, expected = (describe("opennmt-tf", [path, *files[1:]]) for path in (index, files[0]))
    for weight, read in expected.weights.items():
        np.testing.assert_array_equal(found.weights[weight](), read())


@pytest.mark.parametrize("kept", ["features", "labels"])
def test_one_embedding_of_both_languages_of_opennmt_tf(tmp_path, kept):
    """A checkpoint has one variable of a shared embedding, under one of its names."""
    files = files_of("opennmt-tf-medium-v1")

    def name_of(name):
        return "" if "/features_" in name else name.replace("/labels_", f"/{kept}_")

    def value_of(value):  # the encoder reads 8 numbers for each word, the embedding has 9
        encoders = getattr(value, "shape", ())[:1] == (8,)
        return np.pad(value, [(0, 1), (0, 0)]) if encoders else value

    given = checkpoint_changed(tmp_path, files[0], name_of, value_of)
    found = describe("opennmt-tf", [given, files[1], files[3], files[3]])
    source, target = (found.weights[name]() for name in ("E_source", "E_target"))
    np.testing.assert_array_equal(source[1:], target[1:])  # the first is the padding, or <s>
    assert len(source) == len(found.source.tokens)


def test_a_checkpoint_of_opennmt_tf_with_other_embeddings(tmp_path):
    files = files_of("opennmt-tf-luong")
    given = checkpoint_changed(tmp_path, files[0], lambda each: "" if "_inputter" in each else each)
    with pytest.raises(UserError, match="expected an array .*features_inputter/embedding"):
        describe("opennmt-tf", [given, *files[1:]])


@pytest.mark.parametrize("begin", ["\n", "\ufeff", " \t\r\n"])
def test_json_after_white_space_or_a_mark(tmp_path, begin):
    path = tmp_path / "vocab.json"
    path.write_text(f'{begin}{{"a": 0, "état": 1}}', encoding="utf-8")
    assert read_dictionary(path) == read_words(path) == {"a": 0, "état": 1}


def test_the_catalogue_of_opennmt_tf(tmp_path):
    """The description that the program writes for a model of its catalogue."""
    files = files_of("opennmt-tf-luong")
    path = tmp_path / "model_description.py"
    path.write_text("from opennmt.models import catalog\nmodel = lambda: catalog.NMTSmallV1()\n")
    with pytest.raises(UserError, match=r"rnn/cell/cells/0/layer/kernel: expected \(8, 2,048\)"):
        describe("opennmt-tf", [files[0], str(path), *files[2:]])


def test_options_of_the_first_versions_of_tensorflow_nmt(tmp_path):
    """One number of layers for both sides, no residual layers of each, whole numbers."""
    files = files_of("tensorflow-nmt-normed-bahdanau")
    with open(files[1], encoding="utf-8") as file:
        hparams = json.load(file)
    old = {key: value for key, value in hparams.items() if "encoder" not in key}
    old = {key: value for key, value in old.items() if "decoder" not in key}
    del old["pass_hidden_state"], old["share_vocab"]
    path = tmp_path / "hparams"
    changed = old | {"encoder_type": "bi", "num_layers": 4, "forget_bias": 1}
    path.write_text(json.dumps(changed | {"num_residual_layers": 3}), encoding="utf-8")
    found = describe("tensorflow-nmt", [files[0], str(path), *files[2:]])
    expected = describe("tensorflow-nmt", files)
    assert found.values == expected.values
    for weight, read in expected.weights.items():
        np.testing.assert_array_equal(found.weights[weight](), read())


@pytest.mark.parametrize(
    "changed, message",
    [
        (dict(attention=""), "attention: expected 'luong' or .* got '': .* without attention"),
        (dict(unit_type="nas"), "unit_type: expected 'lstm' or 'gru', got 'nas'"),
        (dict(attention_architecture="own"), "attention_architecture: expected .* got 'own'"),
        (dict(encoder_type="own"), "encoder_type: expected 'uni' or 'bi' or 'gnmt', got 'own'"),
        (dict(language_model=True), "language_model: expected False, got True"),
        (
            dict(num_decoder_residual_layers=1),
            "expected the upper layers, from the same one on, got 2 of 4 and 1 of 4",
        ),
        (dict(num_encoder_residual_layers=3), "got 3 of 4 and 2 of 4"),
    ],
)
def test_other_options_of_tensorflow_nmt(tmp_path, changed, message):
    files = files_of("tensorflow-nmt-gnmt-v2")
    hparams = json.loads(pathlib.Path(files[1]).read_text(encoding="utf-8"))
    path = tmp_path / "hparams"
    path.write_text(json.dumps(hparams | changed), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        describe("tensorflow-nmt", [files[0], str(path), *files[2:]])


def test_vocabularies_from_ids_to_words(tmp_path):
    """GroundHog keeps both directions; either will do. Two words, <s> and </s>, have the id 0."""
    files = files_of("groundhog-search")
    inverted = [
        str(pathlib.Path(path).parent / f"i{pathlib.Path(path).name}") for path in files[2:]
    ]
    found, expected = (describe("groundhog", files[:2] + rest) for rest in (inverted, files[2:]))
    for ours, theirs in ((found.source, expected.source), (found.target, expected.target)):
        np.testing.assert_array_equal(ours.theirs, theirs.theirs)
        assert theirs.tokens[3] == "<s>" and ours.tokens[4:] == theirs.tokens[4:]


def test_a_folder_with_files_is_refused_before_any_is_read(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="expected a new or empty folder"):
        import_model("nematus", ["nowhere"], tmp_path)


@pytest.mark.parametrize(
    "name, message",
    [
        ("nematus-deep", "enc_depth: expected 1, got 3: .* layers with residual connections"),
        ("opennmt-tf-gru-shared", "reducer: expected 'ConcatReducer', got 'SumReducer'"),
        ("opennmt-tf-gnmt-encoder", "expected a model with RNNEncoder .* found no RNNEncoder"),
    ],
)
def test_models_of_other_shapes_are_refused_by_their_option(name, message):
    program = next(program for program in FILES if name.startswith(program))
    with pytest.raises(UserError, match=message):
        describe(program, files_in(program, FIXTURES / name))
