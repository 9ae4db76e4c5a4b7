# Two commands do everything:  make demo   and   make test.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo lint test test-all faults gpu-check docs setup clean
demo: setup
	$(BIN)/rnnsearch demo --output runs/demo

# A test that takes ten minutes hangs: where it stands is printed, and the others go on.
test: setup
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" --timeout 600 --timeout-method thread \
	    --durations 10

# Format, common mistakes and types; .venv/bin/ruff format . and ruff check --fix . correct most of
# the first two.
lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# With those that take minutes each.
test-all: setup
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Plants known faults one by one; the tests must catch each.
faults: setup
	$(BIN)/python tests/faults.py

# For whoever has a GPU: the tests that say something about one, and its speed.
gpu-check: setup
	$(BIN)/python benchmarks/gpu_check.py

# The documents as pages, in site/.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

setup: .venv/installed

.venv/installed: setup.py pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv runs site
