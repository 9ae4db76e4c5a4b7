"""The task: fit on raw string pairs, generate translations."""

import dataclasses
import functools

import keras_nlp
import numpy as np
import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import PAD_ID, load_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.hub.preprocessor import RNNSearchSeq2SeqLMPreprocessor
from rnnsearch_tf.translation import Translator

OWN_SEARCH = "rnnsearch"
"""The sampler that is this package's beam search."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearchSeq2SeqLM(keras_nlp.models.Seq2SeqLM):
    """A translation model as keras-nlp has them.

    With the default sampler ``"rnnsearch"``, ``generate`` is the beam search of this package and gives the text that
    ``Translator`` gives. keras-nlp's samplers (``compile(sampler="beam")``, ``"top_k"``, …) search in their own way: without
    length normalization, among hypotheses that go on after their end.

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

    def compile(self, optimizer="auto", loss="auto", *, weighted_metrics="auto", sampler=OWN_SEARCH, **keywords):
        """As ``keras_nlp.models.Seq2SeqLM.compile``; the default metric is perplexity.

        Args:
            sampler: ``"rnnsearch"``, or the name of a sampler of keras-nlp, or one itself.
        """
        if weighted_metrics == "auto":
            weighted_metrics = [keras_nlp.metrics.Perplexity(from_logits=True, name="perplexity")]
        own = sampler == OWN_SEARCH
        super().compile(optimizer, loss, weighted_metrics=weighted_metrics, sampler="greedy" if own else sampler, **keywords)
        self.sampler = OWN_SEARCH if own else self.sampler

    def generate(self, inputs, max_length=None, stop_token_ids="auto", strip_prompt=False):
        """Translate.

        Args:
            inputs: str, list of str, string tensor, or a tf.data.Dataset of batches of strings.
            max_length, stop_token_ids, strip_prompt: for keras-nlp's samplers, as there; this package's search
                limits lengths by ``search``.

        Returns:
            str for one str, else list of str.

        Raises:
            UsageError: one of the last three with the sampler ``"rnnsearch"``, or that one without a preprocessor.
        """
        if self.sampler != OWN_SEARCH:
            return super().generate(inputs, max_length, stop_token_ids, strip_prompt)
        if max_length is not None or stop_token_ids != "auto" or strip_prompt:
            raise UsageError(
                'generate: expected only inputs with the sampler "rnnsearch", got max_length, stop_token_ids or strip_prompt; '
                "set search options, or compile with a sampler of keras-nlp"
            )
        texts = _texts(inputs)
        one, search = isinstance(texts, (str, bytes)), dataclasses.asdict(self.run_config().search)
        translated = [translation.text for translation in self.translator.translate([texts] if one else texts, **search)]
        return translated[0] if one else translated

    @functools.cached_property
    def translator(self):
        """A Translator with this model's weights, for n-best lists, alignments, scores and samples."""
        if self.preprocessor is None:
            raise UsageError('expected a preprocessor, which the sampler "rnnsearch" needs, got none; give one, or compile with sampler="greedy"')
        source, target = self.preprocessor.source_tokenizer.text, self.preprocessor.tokenizer.text
        return Translator(self.backbone.system, source, target, self.run_config())

    def run_config(self):
        """The Config of a RUN with this model."""
        preprocessor = self.preprocessor
        return load_config(values={
            "source": preprocessor.source_tokenizer.config,
            "target": preprocessor.tokenizer.config,
            "model": dataclasses.asdict(self.backbone.system.config),
            "data": {  # lengths without the end symbol
                "maximum_source_length": preprocessor.encoder_sequence_length - 1,
                "maximum_target_length": preprocessor.decoder_sequence_length - 1,
            },
            "training": {"precision": self.backbone.dtype_policy.name},
            "search": self.search,
        })

    def generate_step(self, inputs, stop_token_ids=None):
        """Ids of a batch by a sampler of keras-nlp, which asks for the logits of one position at a time."""
        system = self.backbone.system
        mask = tf.cast(inputs["encoder_padding_mask"], tf.bool)
        state, memory = system.start(tf.where(mask, inputs["encoder_token_ids"], PAD_ID))
        prompt, prompt_mask = inputs["decoder_token_ids"], inputs["decoder_padding_mask"]
        batch_size = tf.shape(prompt)[0]

        def next(prompt, cache, index):
            rows = tf.shape(prompt)[0]  # hypotheses of one sentence stand one after the other
            own = tf.nest.map_structure(lambda leaf: tf.repeat(leaf, rows // batch_size, axis=0), memory)
            previous = tf.where(index == 1, PAD_ID, prompt[:, index - 1])[:, tf.newaxis]  # PAD_ID: no word yet
            logits, _, after = system.step(
                tf.cast(previous, tf.int32), tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], cache), own
            )
            return logits[:, 0], None, tf.nest.map_structure(lambda new, old: tf.ensure_shape(new[:, 0], old.shape), after, cache)

        token_ids = self.sampler(
            next=next, prompt=prompt, cache=state, index=1, mask=prompt_mask, stop_token_ids=stop_token_ids, model=self
        )
        if stop_token_ids is None:
            return {"decoder_token_ids": token_ids, "decoder_padding_mask": tf.ones_like(token_ids, tf.bool)}
        stops = tf.reduce_any([token_ids == stop for stop in stop_token_ids], axis=0) & ~tf.cast(prompt_mask, tf.bool)
        before = tf.cumsum(tf.cast(stops, tf.int32), axis=1, exclusive=True) == 0
        return {"decoder_token_ids": token_ids, "decoder_padding_mask": before}

    def get_config(self):
        return super().get_config() | {"search": self.search}


def _texts(inputs):
    """One text, str or bytes of UTF-8, or a list of them, of whatever generate was given."""
    if isinstance(inputs, tf.data.Dataset):
        return [text for batch in inputs for text in _texts(batch)]
    if isinstance(inputs, dict):
        inputs = inputs["encoder_text"]
    if isinstance(inputs, list) and all(isinstance(text, (str, bytes)) for text in inputs):
        return inputs  # as an array of strings each would be as long as the longest
    return np.asarray(inputs).tolist()
