"""Models that no system here computes are refused by the option that says so; options of every
version of a program are read.
"""

import json
import pathlib
import pickle

import numpy as np
import pytest
import tensorflow as tf
from imported_models import options_changed, FILES, FIXTURES, files_in, files_of
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.importing import groundhog, marian, nematus, vocabularies
from rnnsearch_tf.extras.importing.foreign import built, configuration
from rnnsearch_tf.extras.importing.importer import describe
from rnnsearch_tf.extras.importing.vocabularies import read_dictionary


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


def test_dropout_of_dl4mt(tmp_path):
    """It has one option: half of the values before the output matrix are dropped, and it halves
    them when it translates.
    """
    kinds = ("embedding", "hidden", "source", "target")
    absent = [(f"dropout_{kind}", f"no_{kind}") for kind in kinds]
    files = options_changed(tmp_path, "nematus-plain", absent, use_dropout=True)
    found, expected = (describe("nematus", each) for each in (files, files_of("nematus-plain")))
    for weight, read in expected.weights.items():
        factor = 0.5 if weight == "W_o" else 1.0
        np.testing.assert_array_equal(found.weights[weight](), factor * read(), weight)


def test_early_dropout_of_tied_embeddings(tmp_path):
    """The output matrix is scaled, the embedding is not."""
    early = dict(use_dropout=True, dropout_hidden=0.25, model_version=0)
    found, expected = (
        describe("nematus", files)
        for files in (options_changed(tmp_path, **early), files_of("nematus-wmt17"))
    )
    assert expected.values["model"]["tie_target_embeddings"]
    assert not found.values["model"]["tie_target_embeddings"]
    E = expected.weights["E_target"]()
    np.testing.assert_array_equal(found.weights["E_target"](), E)
    np.testing.assert_array_equal(found.weights["W_o"]()[:, 1:], 0.75 * E[1:].T)
    built(found)


@pytest.mark.parametrize(
    "name, changes, message",
    [
        ("search", dict(backward=False, last_backward=True), "backward: expected True, got False"),
        ("search", dict(last_forward=True), "last_forward: expected False, got True: .* the annot"),
        ("encdec", dict(last_backward=True), "last_backward: expected False, got True"),
        ("encdec", dict(last_forward=False), "last_forward: expected True, got False"),
    ],
)
def test_other_annotations_of_groundhog(tmp_path, name, changes, message):
    """The state at the last position in place of that of each: the arrays have the same shapes."""
    files = files_of(f"groundhog-{name}")
    path = tmp_path / "state.pkl"
    path.write_bytes(pickle.dumps(read_dictionary(files[1]) | changes, 2))
    with pytest.raises(UserError, match=message):
        describe("groundhog", [files[0], str(path), *files[2:]])


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
        ("  - 89\n", "  - 1000000000000\n", r"Wemb: expected \(1,000,000,000,000, 8\) by the op"),
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


def test_vocabularies_of_many_entries_are_not_made_for_other_weights(tmp_path, monkeypatch):
    """Ten million entries would take a gigabyte, of options of a few bytes."""
    files = files_of("groundhog-search")
    state = tmp_path / "state.pkl"
    state.write_bytes(pickle.dumps(read_dictionary(files[1]) | {"n_sym_target": 9_999_999}, 2))
    many = [
        (nematus, options_changed(tmp_path, n_words=9_999_999)),
        (marian, marian_changed(tmp_path, ("  - 89\n", "  - 9999999\n"))),
        (groundhog, [files[0], str(state), *files[2:]]),
    ]

    def arrange(words, size, *others):
        assert size < 1000
        return vocabularies.arrange(words, size, *others)

    for module, given in many:
        monkeypatch.setattr(module, "arrange", arrange)
        with pytest.raises(UserError, match=r"expected \(9,999,999, \d+\) by the options, got"):
            describe(module.__name__.rpartition(".")[2], given)


@pytest.mark.parametrize(
    "name, legacy", [("marian-amun", "ff_logit_W"), ("marian-s2s", "decoder_ff_logit_l2_W")]
)
def test_an_output_matrix_of_early_versions_of_marian(tmp_path, name, legacy):
    """It was not transposed; of the type amun it has the name that Nematus gives it."""
    files = files_of(name)
    with np.load(files[0]) as archive:
        arrays = dict(archive)
    arrays[legacy] = arrays.pop("decoder_ff_logit_l2_Wt").T
    np.savez(tmp_path / "model.npz", **arrays)
    found = describe("marian", [str(tmp_path / "model.npz"), *files[1:]])
    expected = describe("marian", files)
    np.testing.assert_array_equal(found.weights["W_o"](), expected.weights["W_o"]())
    assert found.parameters == expected.parameters


def test_the_search_of_marian_is_not_repeated():
    """It gives no unknown word, also where no hypothesis of a sentence finishes."""
    search = configuration(describe("marian", files_of("marian-s2s"))).search
    assert (search.allow_unknown, search.search_again) == (False, False)


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
        (
            "RNNEncoder(2, 8); RNNDecoder(2, 8, LuongAttention)",
            "no AttentionalRNNDecoder, but RNND",
        ),
        (
            "e = LSTMEncoder(2, 8); d = AttentionalRNNDecoder(2, 8, C, tfa.seq2seq.LuongAttention)",
            "or one of the catalogue .* found no RNNEncoder, but LSTMEncoder",
        ),
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


def test_a_softmax_of_opennmt_tf_without_biases(tmp_path):
    """Of output_layer_bias=False; every word has the bias 0, the padding none."""
    files = files_of("opennmt-tf-luong")
    index = checkpoint_changed(
        tmp_path, files[0], lambda each: "" if "output_layer/bias" in each else each
    )
    found, expected = (describe("opennmt-tf", [path, *files[1:]]) for path in (index, files[0]))
    biases = found.weights["b_softmax"]()
    assert biases[0] < -1e3 and not biases[1:].any()
    assert found.parameters == expected.parameters - (len(biases) - 1)


def test_a_source_of_opennmt_tf_may_have_an_end_symbol():
    """Its configuration says so, which is not among the files of a model."""
    found = describe("opennmt-tf", files_of("opennmt-tf-luong")).found
    assert any("--set model.read_end_symbol=true" in line for line in found)


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


@pytest.mark.parametrize(
    "text",
    [
        # what the program writes
        'from opennmt import models\nmodel = lambda: models.get_model_from_catalog("NMTSmallV1")\n',
        "from opennmt.models import catalog\nmodel = lambda: catalog.NMTSmallV1()\n",
    ],
)
def test_the_catalogue_of_opennmt_tf(tmp_path, text):
    """Descriptions of a model of its catalogue."""
    files = files_of("opennmt-tf-luong")
    path = tmp_path / "model_description.py"
    path.write_text(text)
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
