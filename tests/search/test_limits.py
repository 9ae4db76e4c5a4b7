"""Length limits, against exact fractions."""

import numpy as np
import pytest
import search_reference as reference

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.hypotheses import maximum_lengths, minimum_lengths


@pytest.mark.parametrize(
    "ratio, extra", [(0.29, 0), (0.5, 3), (0.7, 0), (1.1, 1), (3.0, 0), (0.01, 0)]
)
def test_limits_are_the_fractions_that_were_written(ratio, extra):
    config = SearchConfig(
        minimum_length_ratio=ratio, maximum_length_ratio=ratio, extra_length=extra
    )
    lengths = np.arange(1, 301, dtype=np.int32)
    expected = [reference.limits(int(length), config) for length in lengths]
    found = zip(minimum_lengths(lengths, config).numpy(), maximum_lengths(lengths, config).numpy())
    assert [tuple(map(int, pair)) for pair in found] == expected
    assert expected[0][1] >= 1
