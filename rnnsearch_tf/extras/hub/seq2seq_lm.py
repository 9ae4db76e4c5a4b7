"""The task model of keras-nlp: fit on pairs of strings, generate translations."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import keras_nlp
import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import END_ID, PAD_ID, Config, load_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone, cannot_quantize
from rnnsearch_tf.extras.hub.checksums import CONFIGURATIONS, record_files, verify_files
from rnnsearch_tf.extras.hub.preprocessor import RNNSearchSeq2SeqLMPreprocessor
from rnnsearch_tf.translation import Translator

OWN_SEARCH = "rnnsearch"
"""Name of the sampler that uses this package's beam search."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchSeq2SeqLM(keras_nlp.models.Seq2SeqLM):
    """A translation model for keras-nlp.

    With the default sampler ``"rnnsearch"``, ``generate`` uses the beam search of this package and
    returns the same text as ``Translator``. keras-nlp's samplers (``compile(sampler="beam")``,
    ``"top_k"``, …) differ: they do not normalize by length, and continue hypotheses after the end
    symbol.

    Args:
        backbone: RNNSearchBackbone.
        preprocessor: RNNSearchSeq2SeqLMPreprocessor; None: inputs and outputs are ids.
        search: options of the section ``search`` (``rnnsearch options search.``).

    Example:
        model = RNNSearchSeq2SeqLM.from_preset("presets/demo")
        model.compile(optimizer=keras.optimizers.Adam(1e-3))
        model.fit(source_texts, target_texts, batch_size=64)
        model.generate(["My sister sells an old book."])
    """

    backbone_cls = RNNSearchBackbone
    preprocessor_cls = RNNSearchSeq2SeqLMPreprocessor
    sampler: Any  # OWN_SEARCH, or a sampler of keras-nlp

    def __init__(
        self,
        backbone: RNNSearchBackbone,
        preprocessor: RNNSearchSeq2SeqLMPreprocessor | None = None,
        search: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        inputs = backbone.input
        self.backbone = backbone
        self.preprocessor = preprocessor
        super().__init__(inputs=inputs, outputs=backbone(inputs)["logits"], **keywords)
        self.search = dict(search or {})

    def compile(
        self,
        optimizer: Any = "auto",
        loss: Any = "auto",
        *,
        weighted_metrics: Any = "auto",
        sampler: Any = OWN_SEARCH,
        **keywords: Any,
    ) -> None:
        """Like ``keras_nlp.models.Seq2SeqLM.compile``; the default metric is perplexity.

        Args:
            sampler: ``"rnnsearch"``, or the name of a sampler of keras-nlp, or a sampler.

        Raises:
            UsageError: the sampler is keras-nlp's ``"contrastive"`` or ``"speculative"``, which
                need more than the logits of the next token, or it returns several translations of a
                text.
        """
        if weighted_metrics == "auto":
            weighted_metrics = [keras_nlp.metrics.Perplexity(from_logits=True, name="perplexity")]
        own = sampler == OWN_SEARCH
        sampler = _sampler("greedy" if own else sampler)
        super().compile(
            optimizer, loss, weighted_metrics=weighted_metrics, sampler=sampler, **keywords
        )
        self.sampler = OWN_SEARCH if own else self.sampler

    def generate(
        self,
        inputs: Any,
        max_length: int | None = None,
        stop_token_ids: Any = "auto",
        strip_prompt: bool = False,
    ) -> Any:
        """Translate texts.

        Args:
            inputs: str, list of str, string tensor, or a tf.data.Dataset of strings or of batches
                of them; or {"encoder_text": texts, "decoder_text": texts}, where decoder_text is
                the prompt of keras-nlp's samplers, the first words of the translations. Without a
                preprocessor: ids, as in keras-nlp.
            max_length: maximum number of tokens of a translation as counted by keras-nlp, with
                start symbol and end symbol; a longer one is cut. It overrides
                ``decoder_sequence_length``.
            stop_token_ids: for keras-nlp's samplers.
            strip_prompt: whether to remove the prompt from the translations.

        Returns:
            str for a single str, otherwise list of str.

        Raises:
            UsageError: ``inputs`` are not texts, ``max_length`` is below 2, or the sampler
                ``"rnnsearch"`` got a prompt or ``stop_token_ids``, or has no preprocessor.
        """
        if max_length is not None and max_length < 2:
            raise UsageError(
                f"max_length: expected at least 2, the start symbol and a token, got {max_length}"
            )
        if self.preprocessor is None and self.sampler != OWN_SEARCH:
            if strip_prompt:
                raise UsageError(
                    "strip_prompt: expected a preprocessor, got none; cut the given words off"
                    " the ids"
                )
            return super().generate(inputs, max_length, stop_token_ids)
        self.require_preprocessor()
        texts, prompts, one = _texts(inputs)
        if self.sampler == OWN_SEARCH:
            generated = self._searched(texts, prompts, max_length, stop_token_ids)
        else:
            generated = self._sampled(texts, prompts, max_length, stop_token_ids, strip_prompt)
        return generated[0] if one else generated

    def _searched(self, texts, prompts, max_length, stop_token_ids) -> list:
        """Translate with this package's beam search."""
        if any(prompts):
            raise UsageError(
                'decoder_text: expected none with the sampler "rnnsearch", which searches whole'
                ' translations, got a prompt; for prompts, compile(sampler="greedy") or "beam"'
            )
        if stop_token_ids not in ("auto", [END_ID], (END_ID,)):
            raise UsageError(
                'stop_token_ids: expected "auto" with the sampler "rnnsearch", whose translations'
                f" end with </s>, got {stop_token_ids}; compile with a sampler of keras-nlp"
            )
        search = dataclasses.asdict(self.run_config().search)
        translations = self.translator.translate(texts, **search)
        if max_length is None:
            return [translation.text for translation in translations]
        tokens = [translation.tokens[: max_length - 1] for translation in translations]
        cut = self.translator.target_text.detokenize(tf.ragged.constant(tokens, tf.string, 1))
        return [text.decode() for text in cut.numpy()]

    def _sampled(self, texts, prompts, max_length, stop_token_ids, strip_prompt) -> list:
        """Translate with a sampler of keras-nlp."""
        preprocessor = self.require_preprocessor()
        generate = self.make_generate_function()
        stop_token_ids = [END_ID] if stop_token_ids == "auto" else stop_token_ids
        size = self.run_config().search.batch_size
        generated = []
        for start in range(0, len(texts), size):
            rows = slice(start, start + size)
            prompt = {"encoder_text": texts[rows], "decoder_text": prompts[rows]}
            prompt = preprocessor.generate_preprocess(prompt, sequence_length=max_length)
            given = prompt["decoder_padding_mask"]
            output = generate(prompt, stop_token_ids=stop_token_ids)
            mask = output["decoder_padding_mask"]
            if strip_prompt:
                mask &= ~given
            words = tf.reduce_sum(tf.cast(prompt["encoder_padding_mask"], tf.int32), axis=1) > 1
            # a text without words has no translation, as in this package's search
            mask &= given | words[:, tf.newaxis]
            generated += preprocessor.generate_postprocess(output | {"decoder_padding_mask": mask})
        return generated

    # AutoGraph would turn a UsageError into a StagingError
    @tf.autograph.experimental.do_not_convert
    def preprocess_samples(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Like keras-nlp's method, without AutoGraph."""
        return super().preprocess_samples(x, y, sample_weight)

    def score(self, *arguments: Any, **keywords: Any) -> None:
        """Raise UsageError: keras-nlp passes only one side. ``translator.score`` computes
        log-probabilities of pairs of texts, ``model(inputs)`` logits.
        """
        raise UsageError(
            "score: expected pairs of texts; translator.score(sources, targets) gives their"
            " log-probabilities, model(inputs) the logits of ids"
        )

    def quantize(self, mode: str, config: Any = None, **keywords: Any) -> None:
        """Raise UsageError: this package's layers cannot be quantized in place."""
        raise cannot_quantize(mode)

    @classmethod
    def from_preset(
        cls, preset: str | os.PathLike[str], load_weights: bool = True, **keywords: Any
    ) -> RNNSearchSeq2SeqLM:
        """Like keras-nlp's method, but verifies the preset's checksums.

        Args:
            preset: path of a folder, or a preset as in keras-nlp.
            load_weights: False: initial weights.
            keywords: ``dtype``, by default that of a saved folder; and arguments of this class
                that override the preset's.

        Raises:
            UserError: a file of the preset differs from the one that was saved.
            UsageError: RNNSearchBackbone does not support ``dtype``.
        """
        preset = os.fspath(preset)
        verify_files(preset, CONFIGURATIONS)
        keywords.setdefault("dtype", _saved_dtype(preset))
        return super().from_preset(preset, load_weights, **keywords)

    def save_to_preset(self, preset_dir: str, max_shard_size: float = 10) -> None:
        """Like keras-nlp's method, with checksums."""
        super().save_to_preset(preset_dir, max_shard_size=max_shard_size)
        record_files(preset_dir, ("task.json",))

    @functools.cached_property
    def translator(self) -> Translator:
        """A Translator with this model's weights, for n-best lists, alignments, scores, samples."""
        preprocessor = self.require_preprocessor()
        source = preprocessor.source_tokenizer.text
        target = preprocessor.tokenizer.text
        return Translator(self.backbone.system, source, target, self.run_config())

    def require_preprocessor(self) -> RNNSearchSeq2SeqLMPreprocessor:
        """The preprocessor; UsageError if there is none."""
        if self.preprocessor is None:
            raise UsageError(
                'expected a preprocessor, which the sampler "rnnsearch" needs, got none; give one,'
                ' or compile with sampler="greedy"'
            )
        return self.preprocessor

    def run_config(self) -> Config:
        """The Config of a RUN with this model; UserError if the size of a vocabulary does not match
        the model.
        """
        preprocessor = self.require_preprocessor()
        system = self.backbone.system
        for side, tokenizer in (
            ("source", preprocessor.source_tokenizer),
            ("target", preprocessor.tokenizer),
        ):
            size = tokenizer.vocabulary_size()
            expected = getattr(system, f"{side}_vocabulary_size")
            if size != expected:
                raise UserError(
                    f"{side} vocabulary: expected the model's {expected:,} tokens, got {size:,};"
                    " use the vocabulary that it was trained with"
                )
        return load_config(
            values={
                "source": preprocessor.source_tokenizer.config,
                "target": preprocessor.tokenizer.config,
                "model": dataclasses.asdict(system.config),
                "data": {  # lengths without the end symbol
                    "maximum_source_length": preprocessor.encoder_sequence_length - 1,
                    "maximum_target_length": preprocessor.decoder_sequence_length - 1,
                },
                "training": {"precision": self.backbone.dtype_policy.name},
                "search": self.search,
            }
        )

    def generate_step(
        self, inputs: Mapping[str, tf.Tensor], stop_token_ids: Sequence[int] | None = None
    ) -> dict[str, tf.Tensor]:
        """Generate ids of a batch with a sampler of keras-nlp, which requests the logits of one
        position at a time.
        """
        system = self.backbone.system
        mask = tf.cast(inputs["encoder_padding_mask"], tf.bool)
        state, memory = system.start(
            tf.where(mask, tf.cast(inputs["encoder_token_ids"], tf.int32), PAD_ID)
        )
        prompt = tf.cast(inputs["decoder_token_ids"], tf.int32)
        prompt_mask = tf.cast(inputs["decoder_padding_mask"], tf.bool)
        batch_size = tf.shape(prompt)[0]

        def next(prompt, cache, index):
            rows = tf.shape(prompt)[0]  # the hypotheses of a sentence are consecutive
            row_memory = tf.nest.map_structure(
                lambda leaf: tf.repeat(leaf, rows // batch_size, axis=0), memory
            )
            # PAD_ID: no previous word
            previous = tf.where(index == 1, PAD_ID, prompt[:, index - 1])[:, tf.newaxis]
            logits, _, after = system.step(
                previous, tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], cache), row_memory
            )
            # <pad> is never generated, as in this package's search
            no_padding = tf.fill([rows, 1], logits.dtype.min)
            logits = tf.concat([no_padding, logits[:, 0, PAD_ID + 1 :]], axis=1)
            return (
                logits,
                None,
                tf.nest.map_structure(
                    lambda new, old: tf.ensure_shape(new[:, 0], old.shape), after, cache
                ),
            )

        # The beam search starts at the end of the shortest prompt; before, all its hypotheses would
        # become the same.
        first = tf.reduce_min(tf.reduce_sum(tf.cast(prompt_mask, tf.int32), axis=1))
        _, state = tf.while_loop(
            lambda index, _: index < first,
            lambda index, state: (index + 1, next(prompt, state, index)[2]),
            (1, state),
        )
        token_ids = self.sampler(
            next=next,
            prompt=prompt,
            cache=state,
            index=first,
            mask=prompt_mask,
            stop_token_ids=stop_token_ids,
            model=self,
        )
        before = tf.ones_like(token_ids, tf.bool)
        if stop_token_ids is not None:
            stops = tf.reduce_any([token_ids == stop for stop in stop_token_ids], axis=0)
            stops &= ~prompt_mask
            before = tf.cumsum(tf.cast(stops, tf.int32), axis=1, exclusive=True) == 0
        return {"decoder_token_ids": token_ids, "decoder_padding_mask": before}

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_config() | {"search": self.search}


def _saved_dtype(preset):
    """The dtype in a folder's config.json, which keras-hub ignores or fails on; None for another
    preset.
    """
    path = pathlib.Path(preset) / "config.json"
    return (
        json.loads(path.read_text(encoding="utf-8"))["config"]["dtype"]["config"]["name"]
        if path.is_file()
        else None
    )


def _sampler(sampler):
    """A sampler of keras-nlp; UsageError if these models do not support it."""
    name = sampler
    sampler = keras_nlp.samplers.get(sampler)
    if not callable(sampler) or type(sampler).__name__ in (
        "ContrastiveSampler",
        "SpeculativeSampler",
    ):
        raise UsageError(
            f'sampler: expected "{OWN_SEARCH}", "greedy", "beam", "top_k", "top_p", "random" or a'
            f" sampler that needs the logits of the next token alone, got {name!r}"
        )
    if getattr(sampler, "return_all_beams", False):
        raise UsageError(
            "sampler: expected one translation of a text, got return_all_beams;"
            " translator.translate(texts, nbest=…) gives several"
        )
    return sampler


def _texts(inputs):
    """(texts, prompts, whether the input is a single text) of the inputs of ``generate``; str, or
    bytes of UTF-8.
    """
    if isinstance(inputs, tf.data.Dataset):
        rows = [_texts(element) for element in inputs]
        return (
            [text for texts, _, _ in rows for text in texts],
            [prompt for _, prompts, _ in rows for prompt in prompts],
            False,
        )
    if isinstance(inputs, dict):
        if "encoder_text" not in inputs or inputs.keys() - {"encoder_text", "decoder_text"}:
            raise UsageError(
                'inputs: expected "encoder_text" and perhaps "decoder_text", got'
                f" {', '.join(map(repr, inputs))}"
            )
        texts, one = _listed(inputs["encoder_text"])
        prompts = inputs.get("decoder_text")
        prompts = [""] * len(texts) if prompts is None else _listed(prompts)[0]
        if len(prompts) != len(texts):
            raise UsageError(
                f"decoder_text: expected {len(texts)} texts, one for each of encoder_text, got"
                f" {len(prompts)}"
            )
        return texts, prompts, one
    if isinstance(inputs, tuple) and any(not isinstance(text, (str, bytes)) for text in inputs):
        raise UsageError(
            "inputs: expected texts only, got a tuple, like the (x, y) of fit; leave y out"
        )
    texts, one = _listed(inputs)
    return texts, [""] * len(texts), one


def _listed(texts):
    """(texts as a list, whether it was a single text)."""
    if isinstance(texts, list) and all(isinstance(text, (str, bytes)) for text in texts):
        return texts, False  # in an array, every string would take the space of the longest
    texts = np.asarray(texts, object).tolist()
    if isinstance(texts, (str, bytes)):
        return [texts], True
    if not isinstance(texts, list):
        raise UsageError(f"inputs: expected texts, got {type(texts).__name__} {texts!r}")
    return texts, False
