import pytest
from imported_models import MODELS, of_fixture


@pytest.fixture(scope="module", params=MODELS)
def imported(request):
    return of_fixture(request.param)
