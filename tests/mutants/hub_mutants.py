"""Planted faults of the models of keras-nlp; see mutants.py."""

from mutants import Mutant

FIT = "hub/test_hub_fit.py"
GENERATE = "hub/test_seq2seq_lm.py"
PRESETS = "hub/test_presets.py"
BY_HAND = f"{FIT}::test_ids_labels_and_weights_of_two_pairs"
LIMIT = f"{FIT}::test_text_of_the_limit_fits_and_a_word_more_is_cut"
REFUSED = f"{FIT}::test_a_refused_method_changes_nothing"
DAMAGE = f"{PRESETS}::test_damage_is_an_error_that_names_the_file"
ITS_LOADER = f"{PRESETS}::test_keras_hubs_own_loader_sees_damage"
AGREE = f"{GENERATE}::test_samplers_of_keras_nlp_agree_with_this_packages_search"
FIRST_WORDS = f"{GENERATE}::test_first_words_are_gone_on_from"

HUB = [
    Mutant(
        "extras/hub/preprocessor.py",
        "targets are a token shorter than their limit",
        "(sequence_length or self.decoder_sequence_length) + 1",
        "(sequence_length or self.decoder_sequence_length)",
        (BY_HAND, LIMIT),
    ),
    Mutant(
        "extras/hub/preprocessor.py",
        "the weights of the inputs, not of the labels",
        "tf.cast(padding_mask[..., 1:], tf.float32)",
        "tf.cast(padding_mask[..., :-1], tf.float32)",
        (BY_HAND, f"{FIT}::test_evaluate_is_the_weighted_loss_of_the_reference"),
    ),
    Mutant(
        "extras/hub/preprocessor.py",
        "weights of pairs are dropped",
        "weights *= _of_pairs(sample_weight, weights)",
        "_of_pairs(sample_weight, weights)",
        (BY_HAND, f"{FIT}::test_pairs_of_weight_0_move_nothing"),
    ),
    Mutant(
        "extras/hub/preprocessor.py",
        "weights of words are taken for those of pairs",
        "if sample_weight.shape.rank != weights.shape.rank - 1:",
        "if False:",
        (f"{FIT}::test_what_fit_cannot_use_is_refused_in_words",),
    ),
    Mutant(
        "extras/hub/preprocessor.py",
        "first words are dropped",
        "self._inputs(source, prompt, length,",
        'self._inputs(source, tf.fill(tf.shape(source), ""), length,',
        (LIMIT, FIRST_WORDS),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "the limit of the target from the encoder's",
        "preprocessor.decoder_sequence_length - 1",
        "preprocessor.encoder_sequence_length - 1",
        (f"{PRESETS}::test_a_run_goes_to_a_preset_and_back",),
    ),
    Mutant(
        "extras/hub/backbone.py",
        "no dropout under fit",
        '"target_ids": target_ids}, training=training\n        )',
        '"target_ids": target_ids}, training=False)',
        (f"{FIT}::test_dropout_is_active_under_fit_and_not_under_evaluate",),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "max_length does not count the start symbol",
        '"extra_length": max_length - 1',
        '"extra_length": max_length',
        (AGREE,),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "first words are not stripped",
        "mask &= ~given",
        "pass",
        (FIRST_WORDS,),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "a beam begins before the first words end",
        "cache=state,\n            index=first,",
        "cache=system.start(tf.where(mask, inputs['encoder_token_ids'], PAD_ID))[0], index=1,",
        (FIRST_WORDS,),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "an empty text is translated",
        "given | words[:, tf.newaxis]",
        "given | True | words[:, tf.newaxis]",
        (AGREE,),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "hypotheses read the source of another text",
        "tf.repeat(leaf, rows // batch_size, axis=0), memory",
        "tf.concat([leaf] * (rows // batch_size), axis=0), memory",
        (f"{GENERATE}::test_first_words_are_gone_on_from",),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "a contrastive sampler is taken",
        '(\n        "ContrastiveSampler",\n        "SpeculativeSampler",\n    )',
        '("SpeculativeSampler",)',
        (f"{GENERATE}::test_samplers_that_cannot_work_are_refused_with_those_that_do",),
    ),
    Mutant(
        "extras/hub/backbone.py",
        "LoRA freezes first",
        '        raise UsageError(\n            "enable_lora',
        '        super().enable_lora(rank)\n        raise UsageError(\n            "enable_lora',
        (REFUSED,),
    ),
    Mutant(
        "extras/hub/tokenizer.py",
        "ids count from the end",
        "if not 0 <= number < size:",
        "if not number < size:",
        (f"{GENERATE}::test_a_tokenizer_says_what_its_text_says",),
    ),
    Mutant(
        "extras/hub/checksums.py",
        "damage is overlooked",
        "if found not in digests:",
        "if False:",
        (DAMAGE, ITS_LOADER),
    ),
    Mutant(
        "extras/hub/checksums.py",
        "downloads are not compared",
        "else _downloaded(preset, CHECKSUMS)",
        "else None",
        (f"{PRESETS}::test_damage_to_what_is_downloaded_is_seen",),
    ),
    Mutant(
        "extras/hub/tokenizer.py",
        "vocabularies are not compared",
        "        verify_files(preset, self._preset_files())\n",
        "",
        (DAMAGE, ITS_LOADER),
    ),
    Mutant(
        "extras/hub/backbone.py",
        "weights are not compared",
        "            verify_files(folder, WEIGHTS)\n",
        "            pass\n",
        (DAMAGE, ITS_LOADER),
    ),
    Mutant(
        "extras/hub/backbone.py",
        "weights that are saved again keep the old checksum",
        '        record_files(preset_dir, ("metadata.json", *WEIGHTS))\n',
        "",
        (f"{PRESETS}::test_save_to_preset_writes_checksums_of_all_files",),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "a vocabulary of another size is taken",
        "if size != expected:",
        "if False:",
        (f"{PRESETS}::test_a_preset_without_checksums_loads_with_one_warning",),
    ),
    Mutant(
        "extras/hub/seq2seq_lm.py",
        "a preset loses its precision",
        '        keywords.setdefault("dtype", _saved_dtype(preset))\n',
        "",
        (f"{PRESETS}::test_save_to_preset_writes_checksums_of_all_files",),
    ),
]
