"""Importing TensorFlow for a verb."""

import gc

from rnnsearch_tf.cli.quiet import SELDOM, _garbage_left_alone


def test_garbage_is_searched_for_as_often_as_ever_once_all_is_imported():
    """Else a training of short epochs grows by what each of them leaves in circles."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        with _garbage_left_alone():
            assert gc.get_threshold() == SELDOM
        assert gc.get_threshold() == before and gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()
