"""Draw translations at random from the model, and count the duplicates.

For each source sentence the distinct samples, most probable first, one a line:
sentence number from 0, log-probability, count, text, separated by tabs. The
log-probability is the model's own (temperature 1): a natural logarithm, the end
symbol included, higher is better, not length-normalized. Table 3 of Cho et al. 2014a is
`-n 50 --top 5`.
"""

import collections

from rnnsearch_tf.cli.lines import Output, read_lines
from rnnsearch_tf.cli.shared import add_model, add_output, load_translator, whole_number
from rnnsearch_tf.errors import UsageError


def arguments(parser):
    add_model(parser)
    parser.add_argument("-n", "--number", metavar="N", default="50", help="samples for each sentence (default: %(default)s)")
    parser.add_argument(
        "--temperature", metavar="T", default="1", help="logits are divided by it: below 1 nearer the best (default: %(default)s)"
    )
    parser.add_argument("--top", metavar="N", help="only the N most probable of the distinct samples (default: all)")
    parser.add_argument("--seed", metavar="N", default="1", help="the same seed gives the same samples (default: %(default)s)")
    parser.add_argument("--source", metavar="F", help="file of source sentences, plain or .gz")
    add_output(parser)
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE", help="source sentences; none: --source or standard input")


def run(arguments):
    number = whole_number(arguments.number, "-n", minimum=1)
    seed = whole_number(arguments.seed, "--seed")
    top = None if arguments.top is None else whole_number(arguments.top, "--top", minimum=1)
    temperature = _temperature(arguments.temperature)
    if arguments.source and arguments.sentences:
        raise UsageError("expected sentences either as words of the command or in --source, got both")
    translator = load_translator(arguments)
    texts = arguments.sentences or read_lines(arguments.source)
    with Output(arguments.output) as output:
        for index, samples in enumerate(translator.sample(texts, number, temperature=temperature, seed=seed)):
            output.write(f"{index}\t{value:.6f}\t{count}\t{text}" for text, value, count in distinct(samples)[:top])


def distinct(samples) -> list:
    """(text, log-probability, count) of each distinct sample (by its tokens), most probable first."""
    counts = collections.Counter(tuple(sample.tokens) for sample in samples)
    first = {tuple(sample.tokens): sample for sample in reversed(samples)}
    rows = [(first[tokens].text, first[tokens].log_probability, count) for tokens, count in counts.items()]
    return sorted(rows, key=lambda row: -row[1])


def _temperature(text) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise UsageError(f"--temperature: expected a number above 0, got {text!r}")
    return value
