"""A RUN folder with random weights: what comes out is nonsense, but always the same."""

SETTINGS = [
    "model.embedding_size=8",
    "model.hidden_size=8",
    "model.alignment_size=8",
    "model.maxout_size=8",
    "model.output_rank=null",
    "search.beam_size=3",
    "search.batch_size=4",
    "search.maximum_length_ratio=1.5",
    "data.corpus=phrasebook",
    "data.phrasebook_size=200",
    "data.maximum_length=5",
]


def write_run(folder, settings=(), seed=5, unknown_words=3.5):
    """Write it and return its path.

    Args:
        folder: path that does not exist yet.
        settings: strings ``section.key=value`` beyond SETTINGS.
        seed: of the weights.
        unknown_words: bias of the unknown word, so that some translations have one; None leaves all
            weights random.
    """
    import numpy as np

    from rnnsearch_tf.config import UNKNOWN_ID, load_config, save_config
    from rnnsearch_tf.data.phrasebook import phrasebook
    from rnnsearch_tf.models import build_model
    from rnnsearch_tf.runs.folder import Run
    from rnnsearch_tf.text.pipeline import build_text

    run = Run(folder)
    run.path.mkdir(parents=True)
    named = {setting.partition("=")[0] for setting in settings}
    own = [
        setting
        for setting in SETTINGS
        if "data.corpus" not in named or not setting.startswith("data.phrasebook")
    ]
    config = load_config(overrides=[*own, *settings])
    save_config(config, run.config)
    sizes = []
    for side, lines in zip(("source", "target"), phrasebook(200, "train")):
        text = build_text(getattr(config, side), lines)
        text.save(folder, side)
        sizes.append(text.vocabulary.size)
    model = build_model(config, *sizes)
    generator = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(generator.normal(scale=0.7, size=variable.shape))
    if unknown_words is not None:
        output = model.output_layer
        output.W_o.assign(0.3 * output.W_o)
        output.b_softmax.assign([unknown_words * (word == UNKNOWN_ID) for word in range(sizes[1])])
    run.write_weights(model)
    return folder
