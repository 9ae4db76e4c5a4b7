"""What it costs and brings to demand words: phrases of the references, in a RUN's translations of a
test text.

    python benchmarks/constraints.py --model RUN --source test.en --reference test.fr [--phrases 1
    2] [--words 1 3]

For each sentence a random number of phrases, each a random number of words that stand side by side
in the reference, none inside another. Prints the share of phrases and of sentences whose phrases
stand in the translation, as words and in the spelling of the reference; BLEU with and without; the
time of one whole translation of the text each.
"""

import random
import time

import measuring


def drawn(reference, generator, numbers, lengths):
    """Phrases of a reference: list of str."""
    words = reference.split()
    phrases = []
    free = set(range(len(words)))
    for _ in range(generator.randint(*numbers)):
        length = min(generator.randint(*lengths), len(words))
        starts = [
            k for k in range(len(words) - length + 1) if free.issuperset(range(k, k + length))
        ]
        if length and starts:
            start = generator.choice(starts)
            free -= set(range(start, start + length))
            phrases.append(" ".join(words[start : start + length]))
    return phrases


def stands(phrase, text):
    """Whether the phrase stands in the text, not as a part of a longer word."""
    for start in (k for k in range(len(text)) if text.startswith(phrase, k)):
        before = text[:start][-1:]
        after = text[start + len(phrase) :][:1]
        if not (before.isalnum() and phrase[0].isalnum()) and not (
            after.isalnum() and phrase[-1].isalnum()
        ):
            return True
    return False


def timed(compute):
    start = time.perf_counter()
    return compute(), time.perf_counter() - start


def main():
    parser = measuring.parser(__doc__, repeats=False)
    parser.add_argument("--model", required=True, metavar="RUN")
    parser.add_argument("--source", required=True, metavar="F")
    parser.add_argument("--reference", required=True, metavar="F")
    parser.add_argument(
        "--phrases", type=int, nargs=2, default=[1, 2], help="fewest and most for a sentence (1 2)"
    )
    parser.add_argument(
        "--words", type=int, nargs=2, default=[1, 3], help="fewest and most in a phrase (1 3)"
    )
    parser.add_argument("--beam-size", type=int, default=12, help="(%(default)s)")
    parser.add_argument("--sentences", type=int, help="only the first so many")
    parser.add_argument(
        "--show", type=int, default=0, help="print so many sentences that miss a phrase"
    )
    arguments = measuring.parse(parser)
    from rnnsearch_tf.evaluation.bleu import bleu
    from rnnsearch_tf.files.reading import read_all
    from rnnsearch_tf.translation import Translator

    count = 8 if arguments.quick else arguments.sentences
    sources, references = (
        read_all(name)[:count] for name in (arguments.source, arguments.reference)
    )
    generator = random.Random(1)
    constraints = [
        drawn(reference, generator, arguments.phrases, arguments.words) for reference in references
    ]
    translator = Translator.load(arguments.model)
    for phrases in (None, constraints):  # traces the graphs
        translator.translate(sources[:2], phrases and phrases[:2], beam_size=arguments.beam_size)
    with measuring.printed(
        ["constraints", "phrases met", "sentences met", "BLEU", "seconds"]
    ) as rows:
        for name, phrases in (("without", None), ("with", constraints)):
            found, seconds = timed(
                lambda: translator.translate(sources, phrases, beam_size=arguments.beam_size)
            )
            texts = [translation.text for translation in found]
            met = [
                [stands(phrase, text) for phrase in wanted]
                for wanted, text in zip(constraints, texts)
            ]

            def share(values):
                return f"{100 * sum(values) / max(len(values), 1):.2f} %"

            rows.append(
                [
                    name,
                    share(sum(met, [])),
                    share([all(row) for row in met]),
                    bleu(texts, references).score,
                    seconds,
                ]
            )
            missing = [
                (wanted, text) for wanted, text, row in zip(constraints, texts, met) if not all(row)
            ]
    for wanted, text in missing[: arguments.show]:
        print(wanted, text)


if __name__ == "__main__":
    main()
