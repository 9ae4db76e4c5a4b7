"""Write the model card of a trained model: RUN/model_card.md."""

from __future__ import annotations

import itertools

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.corpus import training_files
from rnnsearch_tf.evaluation.bleu import tokenizer_for
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training.schedule import TrainingState
from rnnsearch_tf.translation.saving import described, made_with, write_card


def write_model_card(
    run: Run, config: Config, model: TranslationModel, state: TrainingState
) -> None:
    """Write a page with the model, its training text, training time and scores."""
    data = config.data
    training = config.training

    text = "the built-in phrasebook"
    if data.corpus == "files":
        weights = data.train_weights or itertools.repeat(1)
        text = "; ".join(
            f"`{source}` and `{target}`{'' if weight == 1 else f', weight {weight:g}'}"
            for (source, target), weight in zip(training_files(data), weights)
        )
        text = text or "pairs given in Python"
    best = "none"
    if state.best is not None and model.reads_source:
        case = ", without case" if config.target.lowercase else ""
        best = (
            f"BLEU {state.best:.2f} (sacreBLEU {tokenizer_for(config.target.language)}{case}, the"
            f" first {training.evaluate_sentences:,} sentences at most, greedy search)"
        )
    elif state.best is not None:
        best = f"loss {state.best:.4f} nats a target token"
    rows = {
        **described(config, model),
        **({} if state.began_from is None else {"began from": state.began_from}),
        "trained on": text,
        "training": (
            f"{state.batches:,} batches, {state.seconds / 60:.1f} minutes, {training.optimizer},"
            f" {training.precision}, seed {training.seed}"
        ),
        "best development score": best,
        **made_with(),
    }
    write_card(run, rows)
