"""Make a RUN of a model that another program trained.

  rnnsearch import nematus model.npz model.npz.json vocab.en.json vocab.de.json --output RUN
  rnnsearch import nematus model-30000.index model.json vocab.en.json vocab.de.json --output RUN
  rnnsearch import groundhog search_model.npz search_state.pkl vocab.en.pkl vocab.fr.pkl \\
      --output RUN

Vocabularies: source first. The RUN reads and writes the tokens of the other program, separated by
spaces, until --set says how text becomes tokens, such as source.tokenization=moses. A model with a
part that this package lacks is refused; the error names the option of the other program.
"""

import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import check_inputs
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.runtime.tensorflow import import_tensorflow

PROGRAMS = ("groundhog", "nematus", "marian", "joeynmt", "opennmt-tf", "tensorflow-nmt")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("program", metavar="FORMAT", choices=PROGRAMS, help=", ".join(PROGRAMS))
    parser.add_argument(
        "files", metavar="FILES", nargs="+", help="weights, options and vocabularies of the model"
    )
    flags.add_folder(parser, "folder to write; it must not exist, or be empty", metavar="RUN")
    flags.add_settings(parser, "change one setting of the RUN; repeatable")
    parser.add_argument(
        "--check",
        metavar="F",
        help="compare with lines `source TAB translation TAB log-probability` of the other program"
        " (the log-probability may be left out); exit code 1 if log-probabilities differ",
    )


def run(arguments: Namespace) -> None:
    if arguments.check:
        check_inputs([arguments.check])
    import_tensorflow()
    from rnnsearch_tf.extras.importing.check import compare, read_sentences
    from rnnsearch_tf.extras.importing.importer import import_model

    sentences = read_sentences(arguments.check) if arguments.check else None
    with announced(f"importing a model of {arguments.program}"):
        translator, found = import_model(
            arguments.program, arguments.files, arguments.output, arguments.set
        )
    print("\n".join(found), file=sys.stderr)
    print(arguments.output)
    if sentences is not None:
        lines, near = compare(translator, sentences)
        print("\n".join(lines))
        if not near:
            raise UserError(
                f"{arguments.output}: the log-probabilities are not those of {arguments.check}; is"
                " it of the same model, in the same tokens?"
            )
    is_tokens = translator.config.source.tokenization == "space"
    print(
        f"Next: rnnsearch translate --model {shlex.quote(arguments.output)} F; with lines of"
        f" {'tokens separated by spaces' if is_tokens else 'text'}",
        file=sys.stderr,
    )
