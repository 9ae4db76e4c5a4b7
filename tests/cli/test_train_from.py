"""``train --from RUN --new-words N``: the flags reach the training, and the card says so."""

from tiny_run import write_run

from rnnsearch_tf.cli.main import run

SYSTEM = [  # the smallest one, whose training is traced in no time
    "model.system=cslm",
    "model.alignment_size=1000",
    "model.maxout_size=500",
    "model.output_rank=620",
    "model.second_hidden_size=8",
]
SOURCE = "The zebra sees a green door ."


def test_a_training_starts_from_another_with_new_words(tmp_path, capsys):
    general = write_run(tmp_path / "general", SYSTEM, unknown_words=None)
    words = ["train", "--from", str(general), "--output", str(tmp_path / "mine")]
    words += ["--new-words", "5", "--config", str(general / "config.yaml")]
    settings = ["data.corpus=files", "training.maximum_updates=3", "data.maximum_length=50"]
    for side, line in (("source", SOURCE), ("target", "Le zèbre voit une porte verte .")):
        (tmp_path / side).write_text(f"{line}\n" * 50, encoding="utf-8")
        settings += [f"data.train_{side}={tmp_path / side}"]
    words += [word for setting in settings for word in ("--set", setting)]
    assert run(words) == 0
    known = (general / "vocabulary.source.txt").read_text(encoding="utf-8").split("\n")
    new = [word for word in SOURCE.split() if word not in known]
    said = capsys.readouterr().err
    assert 0 < len(new) < 5
    assert f"starting from the best weights of {general}, with {len(new)} new source and" in said
    card = (tmp_path / "mine" / "model_card.md").read_text(encoding="utf-8")
    assert f"began from: the best weights of `{general}`" in card
