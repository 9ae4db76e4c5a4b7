"""Length limits, against exact fractions."""

import dataclasses

import numpy as np
import pytest
import search_reference as reference

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.hypotheses import maximum_lengths, minimum_lengths


@pytest.mark.parametrize("ratio", [0.29, 0.5, 0.7, 1.1, 3.0, 0.01])
def test_limits_are_the_fractions_that_were_written(ratio):
    config = SearchConfig(minimum_length_ratio=ratio, maximum_length_ratio=ratio)
    lengths = np.arange(1, 301, dtype=np.int32)
    expected = [reference.limits(int(length), config) for length in lengths]
    found = zip(minimum_lengths(lengths, config).numpy(), maximum_lengths(lengths, config).numpy())
    assert [tuple(map(int, pair)) for pair in found] == expected
    assert expected[0][1] >= 1


def test_the_largest_options_do_not_overflow():
    """int32, for sentences of 500,000 tokens."""
    fields = {field.name: field.metadata for field in dataclasses.fields(SearchConfig)}
    names = "minimum_length_ratio", "maximum_length_ratio"
    config = SearchConfig(**{name: fields[name]["maximum"] for name in names})
    assert int(minimum_lengths(np.array([500_000]), config)[0]) == 500_000_000
    assert int(maximum_lengths(np.array([500_000]), config)[0]) == 500_000_000
