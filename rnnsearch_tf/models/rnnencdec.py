"""RNNencdec (Bahdanau, Cho, Bengio 2015, §4.2 and A.2): RNNsearch with one context for the whole sentence.

    c_i = →h_{T_x} for every i,   s_0 = tanh(W_s →h_{T_x})

There is no backward encoder and no alignment model; everything else is RNNsearch. Cho et al.
2014a's own RNN Encoder–Decoder, which Bahdanau et al. name as the model, has another unit,
c = tanh(V h) and another output layer: system ``encoder_decoder``.
"""

from rnnsearch_tf.backend import keras
from rnnsearch_tf.models.rnnsearch import RNNSearch


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNEncDec(RNNSearch):
    """Encoder, fixed context, decoder and deep output; arguments and results as in :class:`TranslationModel`.

    Search's alignments are zeros.

    Example:
        >>> from rnnsearch_tf.config import ModelConfig
        >>> sizes = dict(embedding_size=4, hidden_size=5, maxout_size=3, output_rank=None)
        >>> model = RNNEncDec(ModelConfig(system="rnnencdec", **sizes), 10, 12)
        >>> model.encoder.bidirectional, model.has_attention
        (False, False)
    """

    system = "rnnencdec"
    has_attention = False
