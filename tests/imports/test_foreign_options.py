"""Options of other programs: what a program derives from them, and what changes its output."""

import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.importing import groundhog, joeynmt, nematus, opennmt_tf
from rnnsearch_tf.extras.importing.foreign import option, refuse_others
from rnnsearch_tf.extras.importing.tensorflow_nmt import SUPPORTED, searched, with_derived_options
from rnnsearch_tf.extras.importing.vocabularies import as_words


@pytest.mark.parametrize(
    ("encoder_type", "layers", "residual"),
    [
        ("gnmt", (4, 4), (2, 2)),
        ("gnmt", (8, 6), (6, 5)),
        ("uni", (2, 3), (1, 2)),
        ("bi", (4, 4), (3, 3)),
    ],
)
def test_residual_layers_are_those_that_the_program_derives(encoder_type, layers, residual):
    """By hand from its extend_hparams: its standard_hparams have only the flag."""
    given = {"encoder_type": encoder_type, "residual": True, "pass_hidden_state": True}
    given |= {"num_encoder_layers": layers[0], "num_decoder_layers": layers[1]}
    found = with_derived_options(given)
    counts = [found[f"num_{side}_residual_layers"] for side in ("encoder", "decoder")]
    assert tuple(counts) == residual
    assert found["pass_hidden_state"] == (layers[0] == layers[1])
    saved = with_derived_options(given | {"num_encoder_residual_layers": 1})
    assert saved["num_encoder_residual_layers"] == 1
    assert "num_encoder_residual_layers" not in with_derived_options(given | {"residual": False})


@pytest.mark.parametrize(
    ("given", "beam_size"),
    [
        ({}, 1),
        ({"beam_width": 0, "infer_mode": "greedy"}, 1),
        ({"beam_width": 10, "infer_mode": "greedy"}, 1),
        ({"beam_width": 10, "infer_mode": "beam_search"}, 10),
        ({"beam_width": 10}, 10),  # before the option infer_mode
    ],
)
def test_the_beam_of_tensorflow_nmt(given, beam_size):
    search, notes = searched(with_derived_options(given), "hparams")
    assert search == dict(beam_size=beam_size, length_penalty=0.0) and notes == []


def test_search_options_of_other_programs_that_have_no_effect_are_named():
    given = dict(beam_width=10, length_penalty_weight=1.0, coverage_penalty_weight=0.2)
    _, notes = searched(given | dict(infer_mode="beam_search"), "hparams")
    assert [note.partition(";")[0] for note in notes] == [
        "not taken over: length_penalty_weight 1.0",
        "not taken over: coverage_penalty_weight 0.2",
    ]
    assert "--set search.length_penalty=" in notes[0]
    _, notes = searched(dict(infer_mode="sample"), "hparams")
    assert notes[0].startswith("not taken over: infer_mode 'sample'; the RUN searches")


@pytest.mark.parametrize(
    ("testing", "search", "left_out"),
    [
        ({}, dict(beam_size=1), []),
        (dict(beam_size=5, beam_alpha=-1), dict(beam_size=5), []),
        (dict(beam_size=0, alpha=0), dict(beam_size=1), []),
        (dict(beam_size=5, alpha=1.0), dict(beam_size=5), ["alpha 1.0"]),
        (dict(beam_size=5, beam_alpha=0.6), dict(beam_size=5), ["beam_alpha 0.6"]),
        (dict(generate_unk=False), dict(beam_size=1, allow_unknown=False), []),
        (
            dict(no_repeat_ngram_size=3, repetition_penalty=2, generate_unk=True),
            dict(beam_size=1),
            ["no_repeat_ngram_size 3", "repetition_penalty 2"],
        ),
        (dict(no_repeat_ngram_size=-1, repetition_penalty=-1), dict(beam_size=1), []),
    ],
)
def test_the_search_of_joey(testing, search, left_out):
    found, notes = joeynmt.searched({"testing": testing}, "config.yaml")
    assert found == dict(length_penalty=0.0) | search
    assert joeynmt.searched({"testing": None}, "F") == joeynmt.searched({}, "F")
    assert [note.partition(";")[0] for note in notes] == [
        f"not taken over: {each}" for each in left_out
    ]


def test_sizes_of_a_beam_have_their_type():
    with pytest.raises(UserError, match="hparams: beam_width: expected int, got 'ten'"):
        searched({"beam_width": "ten"}, "hparams")
    with pytest.raises(UserError, match="config.yaml: beam_size: expected int, got 'five'"):
        joeynmt.searched({"testing": {"beam_size": "five"}}, "config.yaml")
    with pytest.raises(UserError, match="config.yaml: testing: expected dict, got 3"):
        joeynmt.searched({"testing": 3}, "config.yaml")


def test_a_reversed_source_is_refused():
    with pytest.raises(UserError, match="source_reverse: expected False, got True"):
        refuse_others({"source_reverse": True}, SUPPORTED, "hparams", {})


@pytest.mark.parametrize("name", ["dropout", "dropout_rec", "enc_activ", "dec_rec_gater"])
def test_what_changes_groundhogs_output_is_refused(name):
    with pytest.raises(UserError, match=f"{name}: expected .*, got 0.5"):
        refuse_others({name: 0.5}, groundhog.SUPPORTED, "state.pkl", {})


def test_arguments_of_opennmt_are_read_in_their_order():
    """Those of AttentionalRNNDecoder.__init__ of version 2.32, positional."""
    text = """
import opennmt as onmt
import tensorflow as tf
model = lambda: onmt.models.SequenceToSequence(
    onmt.inputters.WordEmbedder(8), onmt.inputters.WordEmbedder(8),
    onmt.encoders.RNNEncoder(2, 4, True),
    onmt.decoders.AttentionalRNNDecoder(
        2, 4, lambda: onmt.layers.DenseBridge(activation=tf.math.tanh), LuongAttention,
        tf.keras.layers.GRUCell, 0.2, True))
"""
    encoder, decoder = opennmt_tf.parse_description("model_description.py", text)
    assert (encoder["num_units"], encoder["bidirectional"]) == (4, True)
    assert decoder["cell_class"] == "GRUCell" and decoder["dropout"] == 0.2
    assert decoder["residual_connections"] is True
    assert decoder["attention_layer_activation"] == "tanh"
    assert opennmt_tf.BRIDGES[decoder["bridge_class"]] == "dense_tanh"
    text = text.replace("LuongAttention,", "lambda n: LuongAttention(units=n, scale=True),")
    _, decoder = opennmt_tf.parse_description("model_description.py", text)
    assert decoder["attention_mechanism_class"] not in opennmt_tf.SCORES


def test_values_that_are_long_only_when_written_out():
    """A list that has itself twice, 60 times: its text has 2^60 items. And a deep one."""
    twice, deep = [], []
    for _ in range(60):
        twice = [twice, twice]
    for _ in range(100_000):
        deep = [deep]
    for value in (twice, deep):
        with pytest.raises(UserError, match=r"^F: dim: expected int, got \["):
            option({"dim": value}, "dim", int, "F")
        with pytest.raises(UserError, match=r"^F: dim: expected 1, got \["):
            refuse_others({"dim": value}, {"dim": (1,)}, "F", {})
        with pytest.raises(UserError, match=r"words with their ids, got 'a': \["):
            as_words({"a": value}, "F")


@pytest.mark.parametrize("kind", [int, float])
def test_numbers_beyond_every_size(kind):
    with pytest.raises(UserError, match="F: dim: expected a smaller number"):
        option({"dim": -(10**4000)}, "dim", kind, "F")


def test_options_without_a_value_have_their_default():
    assert with_derived_options({"unit_type": None})["unit_type"] == "lstm"


def description(encoder, decoder):
    return f"RNNEncoder({encoder}); AttentionalRNNDecoder({decoder})"


def test_none_means_the_default_of_opennmt():
    """As in its constructors: cell_class, bridge_class, attention_mechanism_class, reducer."""
    decoder = "2, 8, bridge_class=None, attention_mechanism_class=None, cell_class=None"
    none = opennmt_tf.parse_description(
        "F", description("2, 8, cell_class=None", f"{decoder}, attention_layer_activation=None")
    )
    default = opennmt_tf.parse_description("F", description("2, 8", "2, 8"))
    assert none[0] == default[0]
    assert none[1] == default[1] | {"attention_layer_activation": None}


@pytest.mark.parametrize(
    ("encoder", "decoder"), [("num_layers=2", "2, 8"), ("2, 8", "2"), ("2, 8", "n, 8")]
)
def test_descriptions_of_opennmt_without_sizes(encoder, decoder):
    sides = opennmt_tf.parse_description("F", description(encoder, decoder))
    with pytest.raises(UserError, match="F: num_(units|layers): expected a whole number, got"):
        opennmt_tf._check_sides(*sides, "F")


@pytest.mark.parametrize(
    ("encoder", "decoder", "message"),
    [
        ("2, 8", "2, 8, **common", r"AttentionalRNNDecoder: expected .*, got \*\*common; write"),
        ("2, 8, **dict(dropout=0.3)", "2, 8", r"RNNEncoder: .*, got \*\*dict\(dropout=0.3\);"),
        ("*sizes", "2, 8", r"RNNEncoder: .*, got \*sizes; write"),
    ],
)
def test_arguments_of_opennmt_that_are_not_written_out(encoder, decoder, message):
    """What they have, such as a bridge, may fit every shape and change every number."""
    with pytest.raises(UserError, match=f"^F: {message}"):
        opennmt_tf.parse_description("F", description(encoder, decoder))


def test_two_models_in_a_description_of_opennmt():
    first = description("2, 8", "2, 8")
    second = description("2, 8", "2, 8, bridge_class=CopyBridge")
    with pytest.raises(UserError, match="^F: expected one AttentionalRNNDecoder, got 2 with other"):
        opennmt_tf.parse_description("F", f"{first}; {second}")
    found = opennmt_tf.parse_description("F", f"{second}; {second}")
    assert found == opennmt_tf.parse_description("F", second)
    with pytest.raises(UserError, match="^F: expected one model of .*, got NMTSmallV1, NMTBigV1;"):
        opennmt_tf.parse_description("F", "a = NMTSmallV1(); model = NMTBigV1()")


def test_an_attention_of_opennmt_that_is_named_like_a_model():
    text = "LSTMEncoder(2, 8); RNNDecoder(2, 8, tfa.seq2seq.LuongAttention)"
    with pytest.raises(UserError, match="found no RNNEncoder, but LSTMEncoder"):
        opennmt_tf.parse_description("F", text)


def test_descriptions_of_opennmt_that_are_deep():
    for depth in (500, 900, 1500, 2500, 5000):
        deep = "f" + "()" * depth, "x = " + "-" * depth + "1", f"RNNEncoder({'-' * depth}1)"
        for text in deep:
            with pytest.raises(UserError, match="^F: expected "):
                opennmt_tf.parse_description("F", text)


@pytest.mark.parametrize("zero", ["zero", "zeros"])
def test_first_states_of_zeros_of_joey(zero):
    """Its documentation has both spellings."""
    refuse_others({"init_hidden": zero}, joeynmt.SUPPORTED[1], "F", {})
    assert joeynmt.BRIDGES[zero] == "zero"


NEMATUS = {name: 8 for name in ("dim_word", "dim", "n_words_src", "n_words")}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"use_dropout": "False"}, "use_dropout: expected bool, got 'False'"),
        ({"model_version": "0.1"}, "model_version: expected float, got '0.1'"),
        ({"dropout_hidden": "0.2"}, "dropout_hidden: expected float, got '0.2'"),
    ],
)
def test_dropout_of_nematus_has_its_type(changed, message):
    with pytest.raises(UserError, match=f"F: {message}"):
        nematus.as_theano(NEMATUS | changed, "F")
    absent = nematus.as_theano(NEMATUS | dict.fromkeys(changed), "F")
    assert absent == nematus.as_theano(NEMATUS, "F")
