import pytest
from imported_models import MODELS, of_fixture


SLOW = {"joeynmt-gru-tied", "joeynmt-lstm-last", "joeynmt-lstm-zero"}
"""Each traces a graph for every length of its sentences; the fourth of Joey NMT remains."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in MODELS],
)
def imported(request):
    return of_fixture(request.param)
