import pytest
from imported_models import MODELS, Imported


@pytest.fixture(scope="module", params=MODELS)
def imported(request):
    return Imported(request.param)
