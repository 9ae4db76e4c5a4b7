"""The task: fit on raw string pairs, generate translations."""

import dataclasses
import functools
import json
import os
import pathlib

import keras_nlp
import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import END_ID, PAD_ID, load_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone, cannot_quantize
from rnnsearch_tf.extras.hub.checksums import CONFIGURATIONS, record_files, verify_files
from rnnsearch_tf.extras.hub.preprocessor import RNNSearchSeq2SeqLMPreprocessor
from rnnsearch_tf.translation import Translator

OWN_SEARCH = "rnnsearch"
"""The sampler that is this package's beam search."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchSeq2SeqLM(keras_nlp.models.Seq2SeqLM):
    """A translation model as keras-nlp has them.

    With the default sampler ``"rnnsearch"``, ``generate`` is the beam search of this package and
    gives the text that ``Translator`` gives. keras-nlp's samplers (``compile(sampler="beam")``,
    ``"top_k"``, …) search in their own way: without length normalization, among hypotheses that go
    on after their end.

    Args:
        backbone: RNNSearchBackbone.
        preprocessor: RNNSearchSeq2SeqLMPreprocessor, or None to work with ids.
        search: dictionary of the options of ``search`` (``rnnsearch options search.``).

    Example:
        model = RNNSearchSeq2SeqLM.from_preset("presets/demo")
        model.compile(optimizer=keras.optimizers.Adam(1e-3))
        model.fit(source_texts, target_texts, batch_size=64)
        model.generate(["My sister sells an old book."])
    """

    backbone_cls = RNNSearchBackbone
    preprocessor_cls = RNNSearchSeq2SeqLMPreprocessor

    def __init__(self, backbone, preprocessor=None, search=None, **keywords):
        inputs = backbone.input
        self.backbone = backbone
        self.preprocessor = preprocessor
        super().__init__(inputs=inputs, outputs=backbone(inputs)["logits"], **keywords)
        self.search = dict(search or {})

    def compile(
        self,
        optimizer="auto",
        loss="auto",
        *,
        weighted_metrics="auto",
        sampler=OWN_SEARCH,
        **keywords,
    ):
        """As ``keras_nlp.models.Seq2SeqLM.compile``; the default metric is perplexity.

        Args:
            sampler: ``"rnnsearch"``, or the name of a sampler of keras-nlp, or one itself.

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

    def generate(self, inputs, max_length=None, stop_token_ids="auto", strip_prompt=False):
        """Translate.

        Args:
            inputs: str, list of str, string tensor, or a tf.data.Dataset of strings or of batches
                of them; or {"encoder_text": such, "decoder_text": such}: the latter are the first
                words of the translations, which keras-nlp's samplers begin with. Without a
                preprocessor, what keras-nlp takes: ids.
            max_length: int, tokens of a translation as keras-nlp counts them: the start symbol
                included, and the end symbol. It takes the place of ``search.maximum_length_ratio``
                and of ``decoder_sequence_length``.
            stop_token_ids: for keras-nlp's samplers, as there.
            strip_prompt: whether to leave out the first words that were given.

        Returns:
            str for one str, else list of str.

        Raises:
            UsageError: ``inputs`` are no texts, ``max_length`` is below 2, or the sampler
                ``"rnnsearch"`` got first words or ``stop_token_ids``, or has no preprocessor.
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
        self._require_preprocessor()
        texts, prompts, one = _texts(inputs)
        if self.sampler == OWN_SEARCH:
            generated = self._searched(texts, prompts, max_length, stop_token_ids)
        else:
            generated = self._sampled(texts, prompts, max_length, stop_token_ids, strip_prompt)
        return generated[0] if one else generated

    def _searched(self, texts, prompts, max_length, stop_token_ids) -> list:
        """Translations by this package's beam search."""
        if any(prompts):
            raise UsageError(
                'decoder_text: expected none with the sampler "rnnsearch", which searches whole'
                ' translations, got first words; compile(sampler="greedy") or "beam" goes on from'
                " them"
            )
        if stop_token_ids not in ("auto", [END_ID], (END_ID,)):
            raise UsageError(
                'stop_token_ids: expected "auto" with the sampler "rnnsearch", whose translations'
                f" end with </s>, got {stop_token_ids}; compile with a sampler of keras-nlp"
            )
        search = dataclasses.asdict(self.run_config().search)
        if max_length is not None:
            # The ratio is above 0, so that the steps are the extra ones alone. What the limit cuts
            # off is not searched for again.
            search |= {"maximum_length_ratio": 1e-9, "extra_length": max_length - 1}
            # without effect, it has to stay as it is by default
            search["search_again"] = not search["shrinking_beam"]
        return [translation.text for translation in self.translator.translate(texts, **search)]

    def _sampled(self, texts, prompts, max_length, stop_token_ids, strip_prompt) -> list:
        """Translations by a sampler of keras-nlp."""
        generate = self.make_generate_function()
        stop_token_ids = [END_ID] if stop_token_ids == "auto" else stop_token_ids
        size = self.run_config().search.batch_size
        generated = []
        for start in range(0, len(texts), size):
            rows = slice(start, start + size)
            prompt = {"encoder_text": texts[rows], "decoder_text": prompts[rows]}
            prompt = self.preprocessor.generate_preprocess(prompt, sequence_length=max_length)
            given = prompt["decoder_padding_mask"]
            output = generate(prompt, stop_token_ids=stop_token_ids)
            mask = output["decoder_padding_mask"]
            if strip_prompt:
                mask &= ~given
            words = tf.reduce_sum(tf.cast(prompt["encoder_padding_mask"], tf.int32), axis=1) > 1
            # a text without words has no translation, as in this package's search
            mask &= given | words[:, tf.newaxis]
            generated += self.preprocessor.generate_postprocess(
                output | {"decoder_padding_mask": mask}
            )
        return generated

    @tf.autograph.experimental.do_not_convert  # AutoGraph would make a StagingError of a UsageError
    def preprocess_samples(self, x, y=None, sample_weight=None):
        return super().preprocess_samples(x, y, sample_weight)

    def score(self, *arguments, **keywords):
        """Refused: ids alone are no pair. ``translator.score`` has the log-probabilities of texts,
        ``model(inputs)`` logits.
        """
        raise UsageError(
            "score: expected pairs of texts; translator.score(sources, targets) gives their"
            " log-probabilities, model(inputs) the logits of ids"
        )

    def quantize(self, mode, config=None, **keywords):
        """Refused: no layer of this package can be quantized in place."""
        raise cannot_quantize(mode)

    @classmethod
    def from_preset(cls, preset, load_weights=True, **keywords):
        """As keras-nlp's; a folder with checksums is compared with them.

        Args:
            preset: path of a folder, or what keras-nlp takes.
            load_weights: False: initial weights.
            keywords: ``dtype``; without it a folder's model has that which it was saved with. Or
                arguments of this class in place of the preset's.

        Raises:
            UserError: a file of the preset is not what was saved.
            UsageError: ``dtype`` is none of RNNSearchBackbone's.
        """
        preset = os.fspath(preset)
        verify_files(preset, CONFIGURATIONS)
        keywords.setdefault("dtype", _saved_dtype(preset))
        return super().from_preset(preset, load_weights, **keywords)

    def save_to_preset(self, preset_dir, max_shard_size=10):
        """As keras-nlp's, with checksums."""
        super().save_to_preset(preset_dir, max_shard_size=max_shard_size)
        record_files(preset_dir, ("task.json",))

    @functools.cached_property
    def translator(self):
        """A Translator with this model's weights, for n-best lists, alignments, scores, samples."""
        self._require_preprocessor()
        source = self.preprocessor.source_tokenizer.text
        target = self.preprocessor.tokenizer.text
        return Translator(self.backbone.system, source, target, self.run_config())

    def _require_preprocessor(self):
        if self.preprocessor is None:
            raise UsageError(
                'expected a preprocessor, which the sampler "rnnsearch" needs, got none; give one,'
                ' or compile with sampler="greedy"'
            )

    def run_config(self):
        """The Config of a RUN with this model; UserError where a vocabulary is not of the model's
        size.
        """
        preprocessor = self.preprocessor
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
                    " take the vocabulary it learned with"
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

    def generate_step(self, inputs, stop_token_ids=None):
        """Ids of a batch by a sampler of keras-nlp, which asks for the logits of one position at a
        time.
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
            rows = tf.shape(prompt)[0]  # hypotheses of one sentence stand one after the other
            own = tf.nest.map_structure(
                lambda leaf: tf.repeat(leaf, rows // batch_size, axis=0), memory
            )
            # PAD_ID: no word yet
            previous = tf.where(index == 1, PAD_ID, prompt[:, index - 1])[:, tf.newaxis]
            logits, _, after = system.step(
                previous, tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], cache), own
            )
            # as in this package's search: <pad> is no word
            no_padding = tf.fill([rows, 1], logits.dtype.min)
            logits = tf.concat([no_padding, logits[:, 0, PAD_ID + 1 :]], axis=1)
            return (
                logits,
                None,
                tf.nest.map_structure(
                    lambda new, old: tf.ensure_shape(new[:, 0], old.shape), after, cache
                ),
            )

        # A beam begins where the shortest of the given first words end: before, its hypotheses
        # would all become the same.
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
        if stop_token_ids is None:
            return {
                "decoder_token_ids": token_ids,
                "decoder_padding_mask": tf.ones_like(token_ids, tf.bool),
            }
        stops = tf.reduce_any([token_ids == stop for stop in stop_token_ids], axis=0) & ~prompt_mask
        before = tf.cumsum(tf.cast(stops, tf.int32), axis=1, exclusive=True) == 0
        return {"decoder_token_ids": token_ids, "decoder_padding_mask": before}

    def get_config(self):
        return super().get_config() | {"search": self.search}


def _saved_dtype(preset):
    """The dtype that a folder's config.json names, in whose place keras-hub takes Keras's own or
    fails; None of another preset.
    """
    path = pathlib.Path(preset) / "config.json"
    return (
        json.loads(path.read_text(encoding="utf-8"))["config"]["dtype"]["config"]["name"]
        if path.is_file()
        else None
    )


def _sampler(sampler):
    """The sampler of keras-nlp, if it is one that can work here."""
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
    """(texts, their first words, whether it is one text by itself) of whatever generate was given;
    str, or bytes of UTF-8.
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
        prompts, _ = _listed(inputs.get("decoder_text", [""] * len(texts)))
        if len(prompts) != len(texts):
            raise UsageError(
                f"decoder_text: expected {len(texts)} texts, one for each of encoder_text, got"
                f" {len(prompts)}"
            )
        return texts, prompts, one
    if isinstance(inputs, tuple) and any(not isinstance(text, (str, bytes)) for text in inputs):
        raise UsageError(
            "inputs: expected texts alone, got a tuple, as of (x, y) for fit; leave y out"
        )
    texts, one = _listed(inputs)
    return texts, [""] * len(texts), one


def _listed(texts):
    """(texts as a list, whether it was one text by itself)."""
    if isinstance(texts, list) and all(isinstance(text, (str, bytes)) for text in texts):
        return texts, False  # as an array of strings each would be as long as the longest
    texts = np.asarray(texts).tolist()
    return ([texts], True) if isinstance(texts, (str, bytes)) else (texts, False)
