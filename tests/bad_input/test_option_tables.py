"""Options beside tables written by hand: every default, and what each option needs to have an
effect.
"""

import dataclasses

import pytest
import yaml

from rnnsearch_tf import LuongModel, RNNSearch
from rnnsearch_tf.config import (
    Config,
    as_dictionary,
    load_config,
    option_fields,
    save_config,
    saved_config,
    shipped_configs,
)
from rnnsearch_tf.errors import UsageError

DEFAULTS = {
    "": dict(preset=None),
    "source": dict(
        language="en",
        tokenization="moses",
        escape=False,
        split_hyphens=False,
        unicode_form="NFC",
        lowercase=False,
        truecase=None,
        bpe_codes=None,
        remove_invisible=False,
        vocabulary_size=30001,
        minimum_count=1,
        sampling=None,
        vocabulary=None,
    ),
    "target": dict(
        language="fr",
        tokenization="moses",
        escape=False,
        split_hyphens=False,
        unicode_form="NFC",
        lowercase=False,
        truecase=None,
        bpe_codes=None,
        remove_invisible=False,
        vocabulary_size=30001,
        minimum_count=1,
        sampling=None,
        vocabulary=None,
    ),
    "data": dict(
        corpus="files",
        folder=None,
        train_source=None,
        train_target=None,
        corpora=None,
        prepared=None,
        train_alignments=None,
        development_source=None,
        development_target=None,
        held_out=0,
        phrase_table=None,
        phrasebook_size=4000,
        phrasebook_seed=1,
        maximum_source_length=50,
        maximum_target_length=50,
        on_bad_line="error",
        batching="paper",
        batch_size=80,
        batches_read_ahead=20,
        bucket_width=2,
        shuffle_buffer=200000,
        shuffle_batches=0,
    ),
    "model": dict(
        system="rnnsearch",
        unit="gru",
        layer_normalization=False,
        normalized="recurrent",
        forget_bias=0.0,
        peepholes=False,
        layers=1,
        reverse_source=False,
        encoder_directions="forward",
        encoder_size=None,
        encoder_layers=None,
        bridge="copy",
        residual=False,
        first_residual=2,
        attention="content",
        windows=10,
        attention_score="general",
        input_feeding=False,
        attentional_bias=False,
        attentional_activation="tanh",
        predict_from="attentional",
        upper_context="previous",
        ngram_order=7,
        second_hidden_size=1024,
        embedding_size=620,
        source_embedding_size=None,
        begin_symbol=False,
        read_end_symbol=True,
        hidden_size=1000,
        alignment_size=1000,
        maxout_size=500,
        readout="maxout",
        output_rank=620,
        decoder_order="look_generate_update",
        decoder_transitions=2,
        encoder_transitions=1,
        first_state="backward",
        biases="groundhog",
        initialization="paper",
        tie_target_embeddings=False,
        scale_embeddings=False,
        embedding_dropout=0.0,
        hidden_dropout=0.0,
        readout_dropout=0.0,
    ),
    "training": dict(
        optimizer="adadelta",
        learning_rate=1.0,
        rho=0.95,
        epsilon=1e-06,
        beta_1=0.9,
        beta_2=0.999,
        momentum=0.0,
        schedule="constant",
        halve_after=5.0,
        warmup_updates=0,
        global_clipnorm=1.0,
        loss_reduction="sum",
        label_smoothing=0.0,
        guided_alignment_weight=0.0,
        worker_gradients="exact",
        accumulate=1,
        non_finite_gradient="error",
        precision="float32",
        epochs=5,
        maximum_updates=None,
        maximum_minutes=None,
        evaluate_every=None,
        evaluate_sentences=1000,
        evaluate_beam_size=1,
        best_by="bleu",
        keep_evaluated=4,
        average=0,
        evaluate_after=0,
        checkpoint_every_minutes=10.0,
        patience=None,
        tensorboard=False,
        jit_compile=False,
        deterministic=False,
        seed=1234,
    ),
    "search": dict(
        beam_size=12,
        nbest=1,
        shrinking_beam=False,
        search_again=True,
        length_penalty=1.0,
        normalize_after=False,
        coverage_penalty=0.0,
        minimum_length_ratio=0.0,
        maximum_length_ratio=3.0,
        extra_length=0,
        allow_unknown=True,
        no_repeat_ngram=0,
        replace_unknown=False,
        lexicon=None,
        shortlist=None,
        shortlist_frequent=1000,
        shortlist_translations=20,
        batch_size=64,
    ),
}

COMPANY = [
    # option, what it needs beside it, what it has no effect with: the other option named in the
    # message is the first of these
    ("source.minimum_count=3", "source.tokenization=space", "source.tokenization=sentencepiece"),
    ("target.minimum_count=3", "target.tokenization=moses", "target.tokenization=sentencepiece"),
    ("source.minimum_count=3", "source.vocabulary=null", "source.vocabulary=f"),
    ("source.vocabulary_size=99", "source.vocabulary=null", "source.vocabulary=f"),
    (
        "target.vocabulary_size=99",
        "target.vocabulary=null",
        "target.vocabulary=f target.tokenization=sentencepiece",
    ),
    ("source.escape=true", "source.tokenization=moses", "source.tokenization=space"),
    ("target.escape=true", "target.tokenization=moses", "target.tokenization=sentencepiece"),
    ("source.split_hyphens=true", "source.tokenization=moses", "source.tokenization=sentencepiece"),
    ("target.split_hyphens=true", "target.tokenization=moses", "target.tokenization=space"),
    ("source.truecase=f", "source.tokenization=space", "source.tokenization=sentencepiece"),
    ("target.truecase=f", "target.lowercase=false", "target.lowercase=true"),
    ("source.bpe_codes=f", "source.tokenization=moses", "source.tokenization=sentencepiece"),
    ("target.bpe_codes=f", "target.tokenization=space", "target.tokenization=sentencepiece"),
    ("source.sampling=0.3", "source.tokenization=sentencepiece", "source.tokenization=moses"),
    ("target.sampling=0.3", "target.tokenization=sentencepiece", "target.tokenization=space"),
    ("data.folder=d", "data.corpus=phrase_table", "data.corpus=phrasebook"),
    ("data.train_source=f", "data.corpus=files", "data.corpus=phrasebook"),
    ("data.train_target=f", "data.corpus=files", "data.corpus=phrase_table"),
    ("data.corpora=[{source: a, target: b}]", "data.corpus=files", "data.corpus=phrasebook"),
    ("data.prepared=d", "data.corpus=files", "data.corpus=phrase_table"),
    (
        "data.train_alignments=f",
        "training.guided_alignment_weight=1",
        "training.guided_alignment_weight=0",
    ),
    (
        "data.train_alignments=f",
        "training.guided_alignment_weight=1",
        "data.corpus=phrasebook training.guided_alignment_weight=1",
    ),
    ("data.development_source=f", "data.corpus=phrase_table", "data.corpus=phrasebook"),
    ("data.development_target=f", "data.corpus=files", "data.corpus=phrasebook"),
    ("data.phrase_table=f", "data.corpus=phrase_table", "data.corpus=files"),
    ("data.phrasebook_size=99", "data.corpus=phrasebook", "data.corpus=files"),
    ("data.phrasebook_seed=2", "data.corpus=phrasebook", "data.corpus=phrase_table"),
    ("data.on_bad_line=skip", "data.corpus=phrase_table", "data.corpus=phrasebook"),
    ("data.batches_read_ahead=3", "data.batching=paper", "data.batching=bucketed"),
    ("data.bucket_width=3", "data.batching=bucketed", "data.batching=paper"),
    ("data.bucket_width=3", "data.batching=bucketed", "data.prepared=d data.batching=bucketed"),
    ("model.unit=lstm", "model.system=stacked", "model.system=deep_lstm"),
    ("model.layer_normalization=true", "model.system=deep_lstm", "model.system=encoder_decoder"),
    ("model.forget_bias=1", "model.biases=all", "model.biases=groundhog"),
    ("model.forget_bias=1", "model.unit=lstm", "model.biases=none model.unit=lstm"),
    ("model.forget_bias=1", "model.system=deep_lstm", "model.biases=none model.system=deep_lstm"),
    (
        "model.forget_bias=1",
        "model.system=encoder_decoder model.biases=all",
        "model.system=cslm model.biases=all",
    ),
    ("model.peepholes=true", "model.system=deep_lstm", "model.system=rnnsearch model.unit=lstm"),
    (
        "model.peepholes=true",
        "model.system=luong model.unit=lstm",
        "model.unit=gru model.system=luong",
    ),
    ("model.layers=2", "model.system=luong", "model.system=rnnsearch"),
    ("model.normalized=all", "model.layer_normalization=true", "model.layer_normalization=false"),
    (
        "model.normalized=all",
        "model.layer_normalization=true",
        "model.attention=coverage model.layer_normalization=true",
    ),
    (
        "model.normalized=together",
        "model.layer_normalization=true",
        "model.layer_normalization=false",
    ),
    (
        "model.encoder_directions=stacks",
        "model.system=luong model.bridge=zero",
        "model.system=stacked",
    ),
    (
        "model.encoder_directions=layers",
        "model.system=luong model.bridge=zero",
        "model.reverse_source=true model.system=luong",
    ),
    (
        "model.encoder_size=8",
        "model.encoder_directions=layers model.system=luong model.bridge=tanh",
        "model.encoder_directions=forward model.system=luong",
    ),
    ("model.encoder_layers=2", "model.system=luong model.bridge=zero", "model.system=deep_lstm"),
    ("model.bridge=zero", "model.system=luong", "model.system=deep_lstm"),
    ("model.residual=true", "model.system=deep_lstm", "model.system=stacked"),
    (
        "model.first_residual=3",
        "model.residual=true model.system=gnmt model.layers=3",
        "model.residual=false model.system=gnmt model.layers=3",
    ),
    (
        "model.predict_from=state",
        "model.system=luong model.input_feeding=true",
        "model.system=gnmt",
    ),
    (
        "model.predict_from=state",
        "model.system=luong model.input_feeding=true",
        "model.input_feeding=false model.system=luong",
    ),
    ("model.upper_context=current", "model.system=gnmt", "model.system=luong"),
    (
        "model.encoder_directions=first",
        "model.system=gnmt model.layers=2",
        "model.system=deep_lstm",
    ),
    ("model.residual=true", "model.system=gnmt", "model.system=stacked"),
    ("model.bridge=zero", "model.system=gnmt", "model.system=stacked"),
    ("model.encoder_layers=2", "model.system=gnmt model.bridge=zero", "model.system=stacked"),
    (
        "model.encoder_size=8",
        "model.encoder_directions=stacks model.system=gnmt model.bridge=zero",
        "model.encoder_directions=first model.system=gnmt model.layers=2",
    ),
    ("model.attention_score=dot", "model.system=gnmt", "model.system=stacked"),
    (
        "model.alignment_size=9",
        "model.system=gnmt model.attention_score=concat",
        "model.attention_score=general model.system=gnmt",
    ),
    ("model.attentional_bias=true", "model.system=luong", "model.system=gnmt"),
    ("model.input_feeding=true", "model.system=luong", "model.system=gnmt"),
    ("model.readout_dropout=0.1", "model.system=luong", "model.system=gnmt"),
    ("search.coverage_penalty=0.2", "model.system=gnmt", "model.system=stacked"),
    ("model.attentional_bias=true", "model.system=luong", "model.system=rnnsearch"),
    ("model.attentional_activation=linear", "model.system=luong", "model.system=deep_lstm"),
    ("model.source_embedding_size=8", "model.system=stacked", "model.system=rnnsearch"),
    ("model.begin_symbol=true", "model.system=luong", "model.system=encoder_decoder"),
    ("model.read_end_symbol=false", "model.system=deep_lstm", "model.system=rnnencdec"),
    ("model.readout=tanh", "model.system=rnnencdec", "model.system=encoder_decoder"),
    ("model.decoder_transitions=3", "model.decoder_order=conditional", "model.decoder_order=paper"),
    ("model.encoder_transitions=2", "model.system=rnnsearch", "model.system=rnnencdec"),
    ("model.first_state=mean", "model.system=rnnsearch", "model.system=rnnencdec"),
    ("model.reverse_source=true", "model.system=stacked", "model.system=rnnencdec"),
    ("model.attention=coverage", "model.system=rnnsearch", "model.system=luong"),
    ("model.windows=3", "model.attention=gaussian_window", "model.attention=content"),
    ("model.attention_score=dot", "model.system=luong", "model.system=rnnsearch"),
    ("model.input_feeding=true", "model.system=luong", "model.system=stacked"),
    ("model.ngram_order=3", "model.system=cslm", "model.system=rnnsearch"),
    ("model.second_hidden_size=9", "model.system=cslm", "model.system=rnnencdec"),
    ("model.alignment_size=9", "model.attention=coverage", "model.attention=gaussian_window"),
    (
        "model.alignment_size=9",
        "model.system=luong model.attention_score=concat",
        "model.attention_score=dot model.system=luong",
    ),
    ("model.maxout_size=9", "model.system=encoder_decoder", "model.system=luong"),
    ("model.output_rank=9", "model.system=rnnencdec", "model.system=deep_lstm"),
    ("model.decoder_order=paper", "model.system=rnnencdec", "model.system=encoder_decoder"),
    (
        "model.tie_target_embeddings=true",
        "model.system=deep_lstm model.hidden_size=620",
        "model.system=stacked",
    ),
    ("model.readout_dropout=0.1", "model.system=luong", "model.system=deep_lstm"),
    ("training.rho=0.5", "training.optimizer=adadelta", "training.optimizer=adam"),
    ("training.epsilon=1e-3", "training.optimizer=adam", "training.optimizer=sgd"),
    ("training.beta_1=0.5", "training.optimizer=adam", "training.optimizer=adadelta"),
    ("training.beta_2=0.5", "training.optimizer=adam", "training.optimizer=sgd"),
    ("training.momentum=0.5", "training.optimizer=sgd", "training.optimizer=adam"),
    ("training.halve_after=2", "training.schedule=halving", "training.schedule=constant"),
    (
        "training.guided_alignment_weight=1",
        "data.corpus=phrasebook",
        "model.system=stacked data.corpus=phrasebook",
    ),
    (
        "training.guided_alignment_weight=1",
        "data.corpus=phrasebook",
        "model.read_end_symbol=false model.system=luong data.corpus=phrasebook",
    ),
    ("training.evaluate_beam_size=5", "model.system=rnnencdec", "model.system=cslm"),
    ("training.best_by=loss", "model.system=stacked", "model.system=cslm"),
    ("search.search_again=false", "search.shrinking_beam=true", "search.shrinking_beam=false"),
    ("search.normalize_after=true", "search.shrinking_beam=false", "search.shrinking_beam=true"),
    ("search.normalize_after=true", "search.length_penalty=0.5", "search.length_penalty=0"),
    ("search.coverage_penalty=0.2", "model.system=luong", "model.system=deep_lstm"),
    ("search.no_repeat_ngram=3", "model.system=luong", "model.system=cslm"),
    ("search.replace_unknown=true", "model.system=luong", "model.system=rnnencdec"),
    ("search.lexicon=f", "search.replace_unknown=true", "search.replace_unknown=false"),
    (
        "search.lexicon=f",
        "search.replace_unknown=true source.tokenization=space",
        "source.tokenization=sentencepiece search.replace_unknown=true",
    ),
    (
        "search.lexicon=f",
        "search.replace_unknown=true source.bpe_codes=null",
        "source.bpe_codes=f search.replace_unknown=true",
    ),
    ("search.shortlist_frequent=9", "search.shortlist=f", "search.shortlist=null"),
    ("search.shortlist_translations=9", "search.shortlist=f", "search.shortlist=null"),
]

ALWAYS = {  # these have an effect beside every other
    "": ["preset"],
    "source": [
        "language",
        "tokenization",
        "unicode_form",
        "lowercase",
        "remove_invisible",
        "vocabulary",
    ],
    "target": [
        "language",
        "tokenization",
        "unicode_form",
        "lowercase",
        "remove_invisible",
        "vocabulary",
    ],
    "data": [
        "corpus",
        "held_out",
        "maximum_source_length",
        "maximum_target_length",
        "batching",
        "batch_size",
        "shuffle_buffer",
        "shuffle_batches",
    ],
    "model": [
        "system",
        "embedding_size",
        "hidden_size",
        "biases",
        "initialization",
        "scale_embeddings",
        "embedding_dropout",
        "hidden_dropout",
    ],
    "training": [
        "optimizer",
        "learning_rate",
        "schedule",
        "warmup_updates",
        "global_clipnorm",
        "loss_reduction",
        "label_smoothing",
        "worker_gradients",
        "accumulate",
        "non_finite_gradient",
        "precision",
        "epochs",
        "maximum_updates",
        "maximum_minutes",
        "evaluate_every",
        "keep_evaluated",
        "evaluate_after",
        "checkpoint_every_minutes",
        "tensorboard",
        "jit_compile",
        "deterministic",
        "seed",
        # worker_gradients: with several workers:
        # test_gradients_between_workers_need_several_workers
        "evaluate_sentences",
        "average",
        "patience",  # with a development text: test_evaluations_without_a_development_text
    ],
    "search": [  # of a language model too: translate, sample and export search with it
        "beam_size",
        "nbest",
        "shrinking_beam",
        "length_penalty",
        "minimum_length_ratio",
        "maximum_length_ratio",
        "extra_length",
        "allow_unknown",
        "shortlist",
        "batch_size",
    ],
}


def test_every_default():
    expected = {
        f"{section}.{key}".lstrip("."): value
        for section, keys in DEFAULTS.items()
        for key, value in keys.items()
    }
    config = as_dictionary(Config())
    found = {"preset": config.pop("preset")}
    found |= {
        f"{section}.{key}": value for section, keys in config.items() for key, value in keys.items()
    }
    assert found == expected


def test_an_option_is_refused_where_it_has_no_effect_and_only_there():
    for option, company, none in COMPANY:
        load_config(overrides=[option, *company.split()])
        name = option.partition("=")[0]
        other = none.partition("=")[0]
        with pytest.raises(UsageError) as error:
            load_config(overrides=[option, *none.split()])
        message = str(error.value)
        assert f"{name}: has no effect with {other}=" in message, message
        assert f"; set {other}" in message and f"or leave {name} at its default, " in message, (
            message
        )


def test_all_options_were_thought_of():
    asked = {option.partition("=")[0] for option, _, _ in COMPANY}
    always = {
        f"{section}.{name}".lstrip(".") for section, names in ALWAYS.items() for name in names
    }
    assert asked.isdisjoint(always)
    assert asked | always == {name for name, _ in option_fields()}


def test_the_default_is_taken_anywhere():
    """It is what a RUN's effective configuration has."""
    for option, _, none in COMPANY:
        section, _, name = option.partition("=")[0].partition(".")
        default = DEFAULTS[section][name]
        values = {section: {name: default}} if default is not None else {}
        assert (
            getattr(getattr(load_config(values=values, overrides=none.split()), section), name)
            == default
        )


def test_what_a_preset_or_a_run_has_is_not_refused():
    config = load_config(overrides=["preset=paper", "model.system=luong"])
    assert config.model.output_rank == 620  # the preset's null would have no effect
    below = {
        "training": {"optimizer": "adam", "beta_1": 0.5},
        "search": {"replace_unknown": True, "lexicon": "f"},
    }
    config = load_config(overrides=["training.optimizer=sgd", "model.system=stacked"], below=below)
    assert (config.training.beta_1, config.search.replace_unknown, config.search.lexicon) == (
        0.9,
        False,
        None,
    )
    with pytest.raises(UsageError, match="training.beta_1: has no effect"):
        load_config(overrides=["training.optimizer=sgd", "training.beta_1=0.4"], below=below)


def test_a_file_loses_its_options_of_evaluations_with_its_development_text(tmp_path):
    """What --set names itself stays, and so does what the file has without a development text: a
    training refuses both.
    """
    path = tmp_path / "f.yaml"
    none = ["data.development_source=null", "data.development_target=null"]
    tree = {
        "data": {"development_source": "a", "development_target": "b"},
        "training": {"evaluate_sentences": 9, "patience": 3},
    }

    def loaded(tree, *overrides):
        path.write_text(yaml.safe_dump(tree))
        training = load_config(path, overrides).training
        return training.evaluate_sentences, training.patience

    assert (
        loaded(tree)
        == loaded(tree, "data.batch_size=7")
        == loaded(tree, *none, "data.held_out=5")
        == (9, 3)
    )
    assert loaded(tree, *none) == (1000, None)
    assert loaded(tree, *none, "training.patience=4") == (1000, 4)
    assert loaded({"training": tree["training"]}, *none) == (9, 3)
    assert loaded({"data": {"held_out": 7}, "training": tree["training"]}, "data.held_out=0") == (
        1000,
        None,
    )
    assert loaded(
        {"data": {"corpus": "phrasebook"}, "training": tree["training"]}, "data.corpus=files"
    ) == (1000, None)
    assert loaded(tree, *none, "data.prepared=p") == (9, 3), "it may have a development text"


def test_a_run_of_an_earlier_version_loads(tmp_path):
    path = tmp_path / "config.yaml"
    tree = as_dictionary(load_config(overrides=["training.optimizer=adam", "training.beta_1=0.5"]))
    tree["training"]["rho"] = 0.5
    tree["data"]["bucket_width"] = 7
    path.write_text(yaml.safe_dump(tree))
    config = saved_config(path)
    assert (config.training.beta_1, config.training.rho, config.data.bucket_width) == (0.5, 0.95, 2)
    save_config(config, tmp_path / "again.yaml")
    assert load_config(tmp_path / "again.yaml") == config
    with pytest.raises(
        UsageError, match=f"{path}: data.bucket_width: has no effect with data.batching=paper"
    ):
        load_config(path)


def test_shipped_configurations_load():
    for path in shipped_configs().values():
        load_config(path)


def test_models_refuse_them_too():
    sizes = dict(
        embedding_size=4, hidden_size=5, source_vocabulary_size=9, target_vocabulary_size=9
    )
    with pytest.raises(UsageError, match="model.layers: has no effect with model.system=rnnsearch"):
        RNNSearch(layers=2, **sizes)
    with pytest.raises(
        UsageError, match="model.alignment_size: has no effect with model.attention_score=general"
    ):
        config = dataclasses.replace(Config().model, system="luong", alignment_size=7)
        LuongModel(config, source_vocabulary_size=9, target_vocabulary_size=9)
