"""Planted faults of how training begins and what it is regularized with; see mutants.py."""

from mutants import Mutant

START = "equations/test_variance_preserving.py"
DROPS = "equations/test_dropout_places.py"
BLOCKS = f"{START}::test_every_matrix_by_its_own_sizes"
ALIKE = f"{START}::test_no_two_matrices_begin_alike"
SCALED = f"{START}::test_scaled_embeddings"
FORGET = f"{START}::test_the_forget_bias_is_added_to_that_bias_alone"
PLACES = f"{DROPS}::test_places"
KEPT = f"{START}::test_a_forget_bias_of_f_keeps_the_share_sigmoid_of_f"
DRIVER = "training/test_driver.py"
SCHEDULE = "training/test_schedule.py"
MIXED = "data/test_mixture.py"
DRAWN = "data/test_sampling.py"
WORDS = "evaluation/test_words.py"
AVERAGE = f"{DRIVER}::test_the_average_is_kept_where_it_scores_better"
BY_LOSS = f"{DRIVER}::test_best_by_loss_is_the_models_own_loss"

INITIALIZATION = [
    Mutant(
        "layers/initializers.py",
        "one uniform distribution for every matrix",
        "limit = np.sqrt(6 / (size + (columns or shape[1])) / terms)",
        "limit = 0.05",
        (BLOCKS,),
    ),
    Mutant(
        "layers/initializers.py",
        "a sum of products has their variances together",
        "(size + (columns or shape[1])) / terms)",
        "(size + (columns or shape[1])))",
        (BLOCKS,),
    ),
    Mutant(
        "layers/initializers.py",
        "blocks side by side count as one matrix",
        "(columns or shape[1])",
        "shape[1]",
        (BLOCKS,),
    ),
    Mutant(
        "layers/initializers.py",
        "blocks below one another count as one matrix",
        "for size in rows or shape[:1]:",
        "for size in shape[:1]:",
        (BLOCKS,),
    ),
    Mutant(
        "layers/encoder.py",
        "both directions from one seed",
        "unit(seed=next(seeds), name=direction)",
        "unit(seed=5, name=direction)",
        (ALIKE,),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "W is not cut into blocks",
        "next(seeds), rows, n, terms)",
        "next(seeds), rows, None, terms)",
        (BLOCKS,),
    ),
    Mutant(
        "layers/initializers.py",
        "words of length one",
        "return keras.initializers.RandomNormal(stddev=1.0, seed=seed)",
        "return keras.initializers.RandomNormal(stddev=0.15, seed=seed)",
        (BLOCKS, SCALED),
    ),
    Mutant(
        "layers/embedding.py",
        "scaled by m",
        "embedding_size**0.5 if self.scaled",
        "embedding_size if self.scaled",
        (SCALED,),
    ),
    Mutant(
        "layers/embedding.py",
        "the tied matrix scaled, what is looked up not",
        "vectors * self.factor if self.scaled else vectors",
        "vectors",
        ("equations/test_whole_sentence.py::test_tied_embeddings",),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "the input gate's bias is raised",
        '"lstm": ("_forget", 1)',
        '"lstm": ("_input", 1)',
        (FORGET, KEPT),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "a gated unit's forget bias makes it forget",
        '"gru": ("_z", -1)',
        '"gru": ("_z", 1)',
        (FORGET, KEPT),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "Cho's unit has z the other way round",
        '"cho": ("_z", 1)',
        '"cho": ("_z", -1)',
        (FORGET, KEPT),
    ),
    Mutant(
        "models/encoder_decoder.py",
        "the decoder has no forget bias",
        '"cho", seed=next(seeds), name="decoder", **unit',
        '"cho", seed=next(seeds), name="decoder", **common',
        (FORGET,),
    ),
]

DROPOUT = [
    Mutant(
        "layers/output.py",
        "readout dropout before maxout",
        'maxout(hidden) if self.readout == "maxout"',
        'maxout(self.drop(hidden, training=training)) if self.readout == "maxout"',
        (PLACES,),
    ),
    Mutant(
        "models/rnnsearch.py",
        "decoder states never dropped",
        "states = self.drop_hidden(states, training=training)\n        return",
        "return",
        (PLACES,),
    ),
    Mutant(
        "models/rnnsearch.py",
        "s_0 from dropped annotations",
        "        annotations = self.encoder(words, mask, training=training)\n",
        "        annotations = self.drop_hidden(self.encoder(words, mask, training=training),"
        " training=training)\n",
        (PLACES,),
    ),
    Mutant(
        "models/rnnsearch.py",
        "annotations never dropped",
        "self.decoder.alignment_model.memory(\n            self.drop_hidden(annotations,"
        " training=training), mask\n        )",
        "self.decoder.alignment_model.memory(annotations, mask)",
        (PLACES,),
    ),
    Mutant(
        "layers/recurrent_stack.py",
        "one mask for all layers",
        "* factors[..., k, :]",
        "* factors[..., 0, :]",
        (PLACES,),
    ),
    Mutant(
        "models/luong.py",
        "none below attention under feeding",
        "self.attention.attend(\n            self.decoder.output(layers) * state_factors, memory\n "
        "       )",
        "self.attention.attend(self.decoder.output(layers), memory)",
        (PLACES,),
    ),
    Mutant(
        "models/luong.py",
        "what is fed is dropped",
        "return self._features(states)[:, :, 0],",
        "return self.drop_readout(self._features(states)[:, :, 0], training=training),",
        (PLACES,),
    ),
    Mutant(
        "models/layered.py",
        "the output sees undropped states",
        "return self.drop_hidden(self.decoder.output(states), training=training)",
        "return self.decoder.output(states)",
        (PLACES,),
    ),
    Mutant(
        "models/encoder_decoder.py",
        "the mean word is not dropped",
        "mean_of_words(words, mask)",
        "mean_of_words(self.source_embedding(source_ids), mask)",
        (PLACES,),
    ),
]

DRIVING = [
    Mutant(
        "training/learning_rate.py",
        "schedules run ahead of the updates",
        "return state.batches // config.accumulate",
        "return state.batches / config.accumulate",
        (
            f"{SCHEDULE}::test_warm_up_counts_updates",
            f"{SCHEDULE}::test_cosine_by_updates_counts_accumulated_batches_once",
        ),
    ),
    Mutant(
        "training/learning_rate.py",
        "warm-up by batches",
        "(updates_done(state, config) + 1) / max(1, config.warmup_updates)",
        "(state.batches + 1) / max(1, config.warmup_updates)",
        (f"{SCHEDULE}::test_warm_up_counts_updates",),
    ),
    Mutant(
        "training/development.py",
        "evaluations by batches",
        "(every * self.config.training.accumulate)",
        "every",
        (f"{DRIVER}::test_evaluations_count_updates_not_batches",),
    ),
    Mutant(
        "training/development.py",
        "a finished training is evaluated again",
        "if state.evaluated != state.batches:",
        "if True:",
        (f"{DRIVER}::test_a_finished_training_is_not_evaluated_again",),
    ),
    Mutant(
        "training/development.py",
        "averaged again at every resume",
        "and state.averaged != state.batches",
        "",
        (f"{DRIVER}::test_a_finished_training_is_not_evaluated_again",),
    ),
    Mutant(
        "training/development.py",
        "the average is always the best",
        "        if better:\n",
        '        if better or "average" in which:\n',
        (AVERAGE,),
    ),
    Mutant(
        "training/development.py",
        "a training resumes from the average",
        "            weight.assign(value)\n",
        "            pass\n",
        (AVERAGE,),
    ),
    Mutant(
        "training/development.py",
        "the average of the first kept",
        "kept = self.run.evaluated_weights()[-number:]",
        "kept = self.run.evaluated_weights()[:number]",
        (AVERAGE,),
    ),
    Mutant(
        "training/development.py",
        "greedy whatever the option",
        "beam_size=self.config.training.evaluate_beam_size",
        "beam_size=1",
        (f"{DRIVER}::test_the_sentences_and_the_beam_of_development_translations",),
    ),
    Mutant(
        "training/development.py",
        "the largest loss is the best",
        "loss < best)",
        "loss > best)",
        (BY_LOSS,),
    ),
    Mutant(
        "training/development.py",
        "the mean of the batches' losses",
        'float(sum(v.sum(dtype="float64") for v in values) / sum(v.size for v in values))',
        "float(sum(v.sum() for v in values) / len(values))",
        (BY_LOSS,),
    ),
    Mutant(
        "training/checkpoint.py",
        "the best is forgotten at a stop",
        "    best_bleu: float | None = None\n",
        "    best_bleu: float | None = None\n\n    def __post_init__(self):\n        self.best_bleu"
        " = None\n\n",
        (f"{DRIVER}::test_the_best_bleu_outlives_a_stop",),
    ),
]

TEXT = [
    Mutant(
        "data/mixture.py",
        "weights rounded down",
        "    if share:\n",
        "    if False:\n",
        (f"{MIXED}::test_weights_are_times_an_epoch",),
    ),
    Mutant(
        "data/mixture.py",
        "the same share in every epoch",
        "if generator.random() < share:",
        "if hash(str(pair[0])) % 100 < 100 * share:",
        (f"{MIXED}::test_weights_are_times_an_epoch",),
    ),
    Mutant(
        "data/mixture.py",
        "one corpus after the other",
        "drawn = int(generator.choice(",
        "drawn = 0 and int(generator.choice(",
        (f"{MIXED}::test_corpora_run_out_together",),
    ),
    Mutant(
        "text/sampling.py",
        "alpha has no effect",
        "logarithms = self.alpha *",
        "logarithms = 1.0 *",
        (f"{DRAWN}::test_frequencies_are_the_formulas",),
    ),
    Mutant(
        "text/sampling.py",
        "the last segmentation never comes",
        "np.cumsum(weights / weights.sum())[:-1]",
        "np.cumsum(weights / weights.sum())[:-2]",
        (f"{DRAWN}::test_frequencies_are_the_formulas",),
    ),
    Mutant(
        "data/dataset.py",
        "the development text is drawn too",
        "ids = [\n        text.encode(tf.constant(side, tf.string)).to_list()\n        for",
        "ids = [[text.sampler().encode(line, np.random.default_rng(1)) for line in side] if"
        " text.sampler() else text.encode(side).to_list() for",
        (f"{DRAWN}::test_one_side_alone_and_never_the_development_text",),
    ),
    Mutant(
        "data/dataset.py",
        "every epoch draws the same",
        "_generator(seed, this_epoch, 3)",
        "_generator(seed, 0, 3)",
        (f"{DRAWN}::test_every_epoch_has_other_pieces_of_the_same_sentences",),
    ),
    Mutant(
        "evaluation/words.py",
        "the line end is not seen",
        'line.lower() + "\\n"',
        "line.lower()",
        (f"{WORDS}::test_known_lines",),
    ),
    Mutant(
        "evaluation/words.py",
        "no escapes",
        "return_str=True)\n        for line",
        "return_str=True, escape=False) for line",
        (f"{WORDS}::test_known_lines",),
    ),
]
