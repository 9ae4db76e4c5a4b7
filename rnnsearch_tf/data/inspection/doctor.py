"""What is wrong with the data, found before an hour of training is lost: the engine of `rnnsearch
doctor`.
"""

import collections
import dataclasses
import math
import re
import shlex
import unicodedata

import tensorflow as tf

from rnnsearch_tf.config import END_ID, UNKNOWN_ID
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.inspection.fitting import quantile
from rnnsearch_tf.data.inspection.swapped import swapped
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import is_utf8
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.characters import INVISIBLE_CHARACTERS
from rnnsearch_tf.text.encodings import guess
from rnnsearch_tf.text.pipeline import shortfall
from rnnsearch_tf.text.vocabulary import batches

REMEMBERED_PAIRS = 1_000_000
"""Pairs looked at for duplicates; beyond them memory would grow with the corpus."""

LOSS = {"train": 0.5, "development": 0.1}
"""Share of the pairs from which on their loss is an error: another development text would be scored
than was meant.
"""

_LINES = 512
_INVALID = 200  # lines from which an encoding is guessed
_LINE_ENDS = (  # what str.splitlines and some editors break lines at
    "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
)


_invisible = re.compile(f"[{re.escape(INVISIBLE_CHARACTERS)}]").search


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing found: severity "error" (training would stop, or be of no use), "warning" or
    "note"; where; and a sentence.
    """

    severity: str
    part: str
    message: str

    def __str__(self):
        return f"{self.severity}: {self.part}: {self.message}"


def check_data(config, source_text=None, target_text=None) -> list[Finding]:
    """Read the training and the development pairs of a configuration and report what is unusual.

    Line counts, invalid UTF-8, empty lines, lengths, what the length limits
    leave out, pairs of very unequal length, lengths that do not go together
    (shifted lines), sides that have changed places, copies, duplicates, characters that
    nobody sees, lines in another Unicode normal form,
    development sentences that training contains, and, with the two Texts,
    how large the vocabularies are and how much of the text they cover.

    Args:
        config: Config.
        source_text, target_text: Text of each side; None counts words between
            spaces and says nothing of vocabularies.

    Returns:
        list of Finding, in the order above, training first; memory does not grow with the files.

    Example:
        >>> from rnnsearch_tf.config import load_config
        >>> config = load_config(overrides=["data.corpus=phrasebook", "data.phrasebook_size=100"])
        >>> check_data(config)[0].message
        '100 lines on both sides'
    """
    findings = []
    training = None
    for part in ("train", "development"):
        try:
            pairs = open_corpus(config, part)
            if pairs is None:
                findings.append(
                    Finding(
                        "warning",
                        part,
                        "no development files are named: no BLEU while training, no best"
                        " checkpoint",
                    )
                )
                continue
            seen = _Seen(config, source_text, target_text)
            seen.read(pairs)
        except UserError as error:
            findings.append(Finding("error", part, str(error)))
            continue
        findings += [
            Finding(severity, part, message)
            for severity, message in _findings(seen, pairs, config, part)
        ]
        if training is not None:
            findings += _leaks(training, seen)
        training = seen if part == "train" else training
    return findings


class _Seen:
    """Counts taken in one pass over the pairs of one part."""

    def __init__(self, config, source_text, target_text):
        data = config.data
        self.sides = {"source": config.source, "target": config.target}
        self.limits = (data.maximum_source_length, data.maximum_target_length)
        self.texts = (source_text, target_text)
        lines = tf.TensorSpec([None], tf.string)
        self.encode = [
            text and tf.function(text.encode, autograph=False, input_signature=[lines])
            for text in self.texts
        ]
        self.lines = self.good = self.dropped = self.copies = self.duplicates = self.unequal = 0
        self.bad = collections.Counter()
        self.invalid = ([], [])  # of each side the first lines that are not UTF-8
        self.places = collections.defaultdict(list)  # kind of problem: the first three places
        self.lengths = (collections.Counter(), collections.Counter())
        self.tokens = [0, 0]
        self.unknown = [0, 0]
        self.moments = [
            0
        ] * 6  # sums of 1, x, y, xx, yy, xy over the lengths of pairs within the limits
        self.pair_hashes, self.source_hashes = set(), set()

    def read(self, pairs):
        for group in batches(self._good(pairs), _LINES):
            numbers, sources, targets = zip(*group)
            lengths = [self._lengths(side, texts) for side, texts in enumerate((sources, targets))]
            for counted in zip(numbers, sources, targets, *lengths):
                self._count(pairs, *counted)

    def _good(self, pairs):
        """(line number, source, target) of the good pairs, as the bad ones are counted."""
        for scanned in progress(pairs.scan(), doing="looking at the pairs", unit="lines"):
            if scanned.kind is None:
                self.lines += 1
                yield scanned.number, *scanned.texts
            else:
                self.lines += scanned.kind != "unpaired"
                self.bad[scanned.kind] += scanned.lines
                self._remember(scanned.kind, scanned.problem)
                for lines, line in zip(self.invalid, (scanned.source, scanned.target)):
                    if scanned.kind == "invalid" and len(lines) < _INVALID and not is_utf8(line):
                        lines.append(line)

    def _lengths(self, side, texts):
        """Tokens of each text, and the side's token and unknown counts kept."""
        text = self.texts[side]
        if text is None:
            return [len(line.split()) for line in texts]
        ids = self.encode[side](tf.constant([line.encode("utf-8") for line in texts]))
        flat = ids.flat_values.numpy()
        self.tokens[side] += int((flat != END_ID).sum())
        self.unknown[side] += int((flat == UNKNOWN_ID).sum())
        return [int(length) - 1 for length in ids.row_lengths()]

    def _count(self, pairs, number, source, target, x, y):
        """A good pair of x source and y target tokens."""
        self.good += 1
        self.lengths[0][x] += 1
        self.lengths[1][y] += 1
        if x > self.limits[0] or y > self.limits[1]:
            self.dropped += 1
        else:  # one line of thousands of words would drown all others
            self.moments = [
                total + term for total, term in zip(self.moments, (1, x, y, x * x, y * y, x * y))
            ]
        longer = max(x, y)
        shorter = min(x, y)
        if longer > 3 * shorter and longer - shorter >= 6:
            self.unequal += 1
            self._remember("unequal", f"{pairs.name('source')}:{number} ({x} and {y} tokens)")
        if source == target:
            self.copies += 1
            self._remember("copy", f"{pairs.name('source')}:{number}")
        if any(end in line for line in (source, target) for end in _LINE_ENDS):
            self.bad["line ends"] += 1
            self._remember("line ends", f"{pairs.name('source')}:{number}")
        for (side, settings), line in zip(self.sides.items(), (source, target)):
            place = f"{pairs.name(side)}:{number}"
            found = _invisible(line)
            if found:
                self.bad[f"invisible {side}"] += 1
                self._remember(f"invisible {side}", f"{place} (U+{ord(found[0]):04X})")
            if not unicodedata.is_normalized(_form(settings), line):
                self.bad[f"form {side}"] += 1
                self._remember(f"form {side}", place)
        if self.good <= REMEMBERED_PAIRS:
            pair = hash((source, target))  # 64 bits a pair
            self.duplicates += pair in self.pair_hashes
            self.pair_hashes.add(pair)
            self.source_hashes.add(hash(source))

    def _remember(self, kind, place):
        if len(self.places[kind]) < 3:
            self.places[kind].append(place)

    def correlation(self):
        """Pearson's correlation of the two sides' lengths, of pairs within the limits; None where
        one of them hardly varies.
        """
        number, *sums = self.moments
        x, y, xx, yy, xy = (total / max(number, 1) for total in sums)
        spread = (xx - x * x) * (yy - y * y)
        return (xy - x * y) / math.sqrt(spread) if spread > 0.01 else None


def _form(settings):
    """The Unicode normal form that lines of a side should have."""
    return "NFC" if settings.unicode_form == "none" else settings.unicode_form


def _characters(seen):
    """(severity, message) of lines whose characters are not what they seem."""
    for side, settings in seen.sides.items():
        count = seen.bad[f"invisible {side}"]
        places = "; ".join(seen.places[f"invisible {side}"])
        if count:
            share = _share(count, seen.good)
            what = (
                f"{share} of the {side} lines have characters that nobody sees, and that the model"
                f" would take for letters: {places}"
            )
            if settings.remove_invisible:
                yield (
                    "note",
                    (
                        f"{share} of the {side} lines have characters that nobody sees, which"
                        f" {side}.remove_invisible takes out: {places}"
                    ),
                )
            else:
                yield (
                    "warning",
                    f"{what}; set {side}.remove_invisible=true, or take them out of the text",
                )
        count = seen.bad[f"form {side}"]
        places = "; ".join(seen.places[f"form {side}"])
        if count:
            what = (
                f"{_share(count, seen.good)} of the {side} lines are not in the Unicode normal form"
                f" {_form(settings)}: {places}"
            )
            if settings.unicode_form == "none":
                yield (
                    "warning",
                    (
                        f"{what}; {side}.unicode_form=NFC makes one letter of é, whether it is one"
                        " code point or two"
                    ),
                )
            else:
                yield (
                    "note",
                    (
                        f"{what}; {side}.unicode_form brings them to it, other programs may score"
                        " them otherwise"
                    ),
                )


def _held_out(data, part):
    """Why there are not as many lines as in the files, in words."""
    if not data.held_out:
        return ""
    return (
        ", without the pairs that data.held_out takes out for development"
        if part == "train"
        else ", held out of the training text"
    )


def _findings(seen, pairs, config, part):
    """(severity, message) of one part."""
    data = config.data
    bad_line = "error" if data.on_bad_line == "error" else "warning"
    if seen.bad["unpaired"]:
        yield bad_line, seen.places["unpaired"][0]
    else:
        yield "note", f"{seen.lines:,} lines on both sides{_held_out(data, part)}"
    for kind, words in (("invalid", "not UTF-8"), ("empty", "empty on one side or both")):
        if seen.bad[kind]:
            yield (
                bad_line,
                (
                    f"{_share(seen.bad[kind], seen.lines)} of the pairs are {words}:"
                    f" {'; '.join(seen.places[kind])}"
                    f"{_encodings(seen, pairs, config) if kind == 'invalid' else ''}"
                ),
            )
    lost = seen.bad["invalid"] + seen.bad["empty"] + seen.bad["unpaired"]
    if data.on_bad_line == "skip" and lost > LOSS[part] * (seen.good + lost):
        yield (
            "error",
            (
                f"{_share(lost, seen.good + lost)} of the pairs are lost to bad lines: correct the"
                " files"
            ),
        )
    if not seen.good:
        yield (
            "error",
            (
                f"{pairs.name('source')}, {pairs.name('target')}: expected at least one sentence"
                " pair, got none"
            ),
        )
        return
    unit = "tokens" if seen.texts[0] is not None else "words"
    for side, lengths in zip(("source", "target"), seen.lengths):
        yield (
            "note",
            (
                f"{side} lengths in {unit}: median {quantile(lengths, 0.5)}, 95 % within"
                f" {quantile(lengths, 0.95)}, longest {max(lengths)}"
            ),
        )
    if part == "train" and seen.dropped:
        severity = (
            "error"
            if seen.dropped == seen.good
            else "warning"
            if seen.dropped > 0.05 * seen.good
            else "note"
        )
        limits = (
            f"data.maximum_source_length={seen.limits[0]} and"
            f" data.maximum_target_length={seen.limits[1]}"
        )
        yield (
            severity,
            (
                f"{_share(seen.dropped, seen.good)} of the pairs are longer than {limits} and left"
                " out of training"
            ),
        )
    yield from _oddities(seen)
    yield from _characters(seen)
    yield from _changed_places(pairs, seen)
    if part == "train":
        yield from _small_vocabularies(seen, config)
    for side, text in zip(("source", "target"), seen.texts):
        if text is not None:
            unknown = seen.unknown[side == "target"]
            tokens = seen.tokens[side == "target"]
            severity = "warning" if unknown > 0.1 * tokens else "note"
            yield (
                severity,
                (
                    f"{side} vocabulary of {text.vocabulary.size:,}: {_share(unknown, tokens)} of"
                    " the tokens are unknown"
                ),
            )


def _encodings(seen, pairs, config):
    """What the lines that are no UTF-8 look like, and how to convert the file."""
    words = ""
    for side, lines in zip(("source", "target"), seen.invalid):
        encoding = lines and guess(lines, getattr(config, side).language)
        if encoding:
            path = shlex.quote(pairs.name(side))
            words += (
                f"; it looks like {encoding}: iconv -f {encoding} -t utf-8 {path} > {path}.utf-8"
            )
    return words


def _changed_places(pairs, seen):
    """(severity, message) of pairs whose languages are the wrong way round."""

    def good():
        return (
            (scanned.number, *scanned.texts) for scanned in pairs.scan() if scanned.kind is None
        )

    numbers = swapped(good, REMEMBERED_PAIRS)
    if numbers:
        places = "; ".join(f"{pairs.name('source')}:{number}" for number in numbers[:3])
        yield (
            "warning",
            (
                f"{_share(len(numbers), min(seen.good, REMEMBERED_PAIRS))} of the pairs have their"
                f" languages the wrong way round, as all other lines tell: {places}"
            ),
        )


def _small_vocabularies(seen, config):
    """(severity, message) of vocabularies smaller than was asked for."""
    for side, text in zip(("source", "target"), seen.texts):
        settings = getattr(config, side)
        message = text and shortfall(text, side, settings)
        if message:
            far = (
                settings.tokenization == "sentencepiece"
                and text.vocabulary.size < 0.75 * settings.vocabulary_size
            )
            yield "warning" if far else "note", message


def _oddities(seen):
    """(severity, message) of pairs that are well-formed and yet look wrong."""
    if seen.unequal:
        yield (
            "warning",
            (
                f"{_share(seen.unequal, seen.good)} of the pairs have one side over three times the"
                f" other: {'; '.join(seen.places['unequal'])}"
            ),
        )
    correlation = seen.correlation()
    if seen.good >= 100 and correlation is not None and correlation < 0.3:
        yield (
            "warning",
            (
                f"lengths of the two sides do not go together (correlation {correlation:.2f}): the"
                " lines may be shifted or shuffled"
            ),
        )
    if seen.copies:
        severity = "warning" if seen.copies > 0.01 * seen.good else "note"
        yield (
            severity,
            (
                f"{_share(seen.copies, seen.good)} of the pairs have the same text on both sides:"
                f" {'; '.join(seen.places['copy'])}"
            ),
        )
    if seen.duplicates:
        severity = "warning" if seen.duplicates > 0.05 * seen.good else "note"
        among = f" among the first {REMEMBERED_PAIRS:,}" if seen.good > REMEMBERED_PAIRS else ""
        yield (
            severity,
            (
                f"{_share(seen.duplicates, min(seen.good, REMEMBERED_PAIRS))} of the pairs{among}"
                " occur before"
            ),
        )
    if seen.bad["line ends"]:
        places = "; ".join(seen.places["line ends"])
        yield (
            "note",
            (
                f"{seen.bad['line ends']:,} pairs have a character within that some programs take"
                f" for a line end: {places}"
            ),
        )


def _leaks(training, development):
    """Development sentences that the training text contains."""
    both = len(training.source_hashes & development.source_hashes)
    different = len(development.source_hashes)
    if both:
        severity = "warning" if both > 0.02 * different else "note"
        message = (
            f"{_share(both, different)} of the different source sentences occur in the training"
            " text too"
        )
        yield Finding(severity, "development", message)


def _share(count, total) -> str:
    percent = 100 * count / max(total, 1)
    return f"{count:,} of {total:,} ({percent:{'.0f' if percent >= 10 else '.2g'}} %)"
