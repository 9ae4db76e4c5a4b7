"""Make a model that comes with the package out of a run folder: its best weights in eight bits, its
texts, its card.

    python benchmarks/pack_model.py RUN NAME --title … --data … --licence … --score …

The folder is rnnsearch_tf/runs/shipped/NAME. The folder of the training's data is taken out of its
config.yaml. The run of Tatoeba is trained by:

    rnnsearch train --config tatoeba-en-fr --output runs/tatoeba --set training.precision=float32
"""

import pathlib
import shutil

import measuring
import rnnsearch_tf
from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.runs.eight_bit import save_weights
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.translation.loading import load_run

CARD = """# {name}

{title}

- trained on: {data}
- licence: {licence}
- BLEU: {score}
- model: {model}, {parameters:,} parameters, in eight bits; text: {tokenization}, \
{vocabulary:,} symbols a side

All settings are in `config.yaml` of the run.
"""


def pack(run, name, **words):
    run = Run.open(run)
    model, source, target, config = load_run(run)
    packed = Run(pathlib.Path(rnnsearch_tf.__file__).parent / "runs" / "shipped" / name)
    shutil.rmtree(packed.path, ignore_errors=True)
    packed.eight_bit_weights.parent.mkdir(parents=True)
    save_weights(packed.eight_bit_weights, model.trainable_variables)
    config = load_config(run.config, overrides=["data.folder=null"])
    save_config(config, packed.config)
    for path in filter(pathlib.Path.exists, [*run.text_files(), run.examples]):
        shutil.copy(path, packed.path / path.name)
    words |= dict(
        model=type(model).__name__,
        parameters=model.count_params(),
        tokenization=config.source.tokenization,
    )
    packed.model_card.write_text(
        CARD.format(name=name, vocabulary=source.vocabulary.size, **words), encoding="utf-8"
    )
    return packed


def main():
    parser = measuring.plain_parser(__doc__)
    parser.add_argument("run")
    parser.add_argument("name")
    for option in ("--title", "--data", "--licence", "--score"):
        parser.add_argument(option, required=True)
    arguments = vars(parser.parse_args())
    packed = pack(arguments.pop("run"), arguments.pop("name"), **arguments)
    size = sum(path.stat().st_size for path in packed.path.rglob("*") if path.is_file())
    print(f"{packed}: {size:,} bytes")


if __name__ == "__main__":
    main()
