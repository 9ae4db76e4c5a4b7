"""Select the pairs of a large corpus that resemble a domain, by cross-entropy difference on both
sides.

Moore and Lewis (2010), Axelrod, He and Gao (2011): the score of a pair is H_in(s) − H_out(s) +
H_in(t) − H_out(t): the cross-entropy, in nats a token, under an n-gram model of the domain, minus
that under a model of equally many pairs drawn from the corpus. The pairs with the lowest scores are
kept, in their original order, byte for byte. A thousand pairs of the domain are enough to start
with. Without --output-source and --output-target the pairs go to standard output, one a line with a
tab in between (a tab in a text becomes a space).

Pairs with an empty side, and those beyond --maximum-length, are never kept. The number of pairs
kept is printed. Case is ignored.
"""

import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.config import TextConfig, check_value
from rnnsearch_tf.data.pairs import SIDES
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.files.writing import (
    Output,
    check_output,
    check_outputs,
    check_own_file,
    whole_file,
)


def arguments(parser: ArgumentParser) -> None:
    for name, meaning in (
        ("in-domain-", "text of the domain"),
        ("", "text to select from, plain or .gz; read several times"),
    ):
        for side in SIDES:
            parser.add_argument(
                f"--{name}{side}", required=True, metavar="F", help=f"{meaning}, {side} side"
            )
    parser.add_argument(
        "--keep",
        type=flags.number(
            "a share of the pairs above 0 and at most 1", lambda share: 0 < share <= 1
        ),
        required=True,
        metavar="X",
        help="share of the pairs to keep, such as 0.2",
    )
    flags.add_whole_number(
        parser,
        "--target-words",
        "stop when the kept pairs have N target tokens together (default: no limit)",
    )
    for side in SIDES:
        parser.add_argument(
            f"--output-{side}",
            metavar="F",
            help=f"write the {side} side of the kept pairs to this file (.gz: compressed)",
        )
    parser.add_argument(
        "--scores",
        metavar="F",
        help="also write the score of every pair to this file, one a line; inf: never kept",
    )
    flags.add_whole_number(
        parser, "--maximum-length", "skip pairs with more tokens on a side (default: no limit)"
    )
    flags.add_switch(
        parser,
        "--tokenized",
        "the lines are tokens separated by spaces (default: tokenize by Moses rules)",
    )
    for side in SIDES:
        parser.add_argument(
            f"--{side}-language",
            metavar="CODE",
            help=f"language of the Moses rules for the {side} side (default: en)",
        )
    flags.add_whole_number(
        parser,
        "--order",
        "order of the n-gram models, 1 to 6; the papers use 4",
        maximum=6,
        default=2,
    )
    flags.add_whole_number(
        parser,
        "--rounds",
        "2: select again, with the better half of the kept pairs added to the domain text;"
        " for a corpus that has at least as much text of the domain as you keep",
        maximum=9,
        default=1,
    )
    flags.add_whole_number(
        parser, "--seed", "random seed for drawing pairs from the corpus", minimum=0, default=1
    )


def run(arguments: Namespace) -> None:
    in_domain, files, outputs, languages = (
        [getattr(arguments, name.format(side)) for side in SIDES]
        for name in ("in_domain_{}", "{}", "output_{}", "{}_language")
    )
    outputs = [None if name == "-" else name for name in outputs]
    if (outputs[0] is None) != (outputs[1] is None):
        raise UsageError(
            "--output-source, --output-target: expected two files, or neither, got one; name the"
            " file of the other side"
        )
    if outputs[0] is None:
        others = "the pairs (without --output-source and --output-target)"
        check_own_file("--scores", arguments.scores, others)
    for side, code in zip(SIDES, languages):
        if arguments.tokenized and code is not None:
            raise UsageError(f"--{side}-language: has no effect with --tokenized; leave it out")
        check_value(f"{side}.language", code or "en", f"--{side}-language")
    written = {f"--output-{side}": name for side, name in zip(SIDES, outputs)}
    check_outputs(written | {"--scores": arguments.scores}, [*in_domain, *files])
    for name in outputs:
        check_output(name, whole=True)
    import_tensorflow()
    from rnnsearch_tf.data.inspection.selection import kept_pairs, select, write_kept

    tokenization = "space" if arguments.tokenized else "moses"
    configs = [
        TextConfig(language=language or "en", tokenization=tokenization, lowercase=True)
        for language in languages
    ]
    selection = select(
        in_domain,
        files,
        arguments.keep,
        configs,
        arguments.order,
        arguments.maximum_length,
        arguments.seed,
        arguments.rounds,
        arguments.target_words,
    )
    if outputs[0]:
        write_kept(files, selection.kept, outputs)
    else:
        with whole_file(None) as stream:
            stream.writelines(
                source + b"\t" + target + b"\n"
                for source, target in kept_pairs(files, selection.kept)
            )
    if arguments.scores:
        with Output(arguments.scores) as output:
            output.write(f"{score:.6f}" for score in selection.scores)
    pairs = len(selection.scores)
    kept = int(selection.kept.sum())
    report = sys.stdout if outputs[0] else sys.stderr  # otherwise standard output has the pairs
    print(f"kept       {kept} of {pairs} pairs ({100 * kept / pairs:.1f} %)", file=report)
    print(f"left out   {selection.left_out} with an empty side or too long", file=report)
    print(f"cut-off    {selection.cut_off:.4f} nats a token", file=report)
