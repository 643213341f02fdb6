# Two commands for newcomers: `make demo` and `make test`. Both build their own environment in .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo screenshots test test-slow test-package check lint types imports pytest docs bench bench-quick bench-sparse bench-theory bench-metrics bench-online bench-scale clean

check_python = $(PYTHON) -c "import sys; sys.exit('auctor needs Python 3.11 or newer; got ' + sys.version.split()[0] + '. Set PYTHON=python3.11.' if sys.version_info < (3, 11) else 0)"

$(BIN)/.demo: pyproject.toml
	@$(check_python)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cli]"
	@touch $@

$(BIN)/.dev: pyproject.toml
	@$(check_python)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cli,dev,docs]"
	@touch $@

demo: $(BIN)/.demo
	$(BIN)/auctor demo

docs: $(BIN)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The pictures of the README and the site, from a real run; needs Chromium.
screenshots: $(BIN)/.dev
	$(BIN)/python docs/screenshots.py

# A group of files goes to one worker whole, and the slowest group first (tests/conftest.py).
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadscope

# mypy and the import contract take one core: they run beside the tests, not before them.
test: $(BIN)/.dev lint
	$(MAKE) --no-print-directory --jobs 3 imports types pytest

pytest: $(BIN)/.dev
	$(PYTEST) -m "not slow"

# What takes long and rarely breaks alone: the site, the gallery, fuzzing, millions of rows, processes.
test-slow: $(BIN)/.dev
	$(PYTEST) -m slow

# Wheel and sdist, built, installed elsewhere and used.
test-package: $(BIN)/.dev
	.ci/package $(BIN)/python

check: lint types imports

lint: $(BIN)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.dev
	$(BIN)/mypy

imports: $(BIN)/.dev
	$(BIN)/lint-imports

bench-quick: $(BIN)/.dev
	$(BIN)/python -m benchmarks run quick

bench: $(BIN)/.dev
	$(BIN)/python -m benchmarks run spine

# adelie needs an older numpy, so it lives in an environment of its own.
$(BIN)/.bench: $(BIN)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	$(PYTHON) -m venv .venv-adelie
	.venv-adelie/bin/python -m pip install --quiet --disable-pip-version-check adelie
	@touch $@

bench-sparse: $(BIN)/.bench
	AUCTOR_ADELIE_PYTHON=.venv-adelie/bin/python $(BIN)/python -m benchmarks run sparse --budget 25

bench-theory: $(BIN)/.dev
	$(BIN)/python -m benchmarks run theory

# LibAUC needs PyTorch, so it lives in an environment of its own.
.venv-libauc/.ready:
	$(PYTHON) -m venv .venv-libauc
	.venv-libauc/bin/python -m pip install --quiet --disable-pip-version-check libauc
	@touch $@

bench-metrics: $(BIN)/.dev .venv-libauc/.ready
	$(BIN)/python -m benchmarks run metrics

# River and Vowpal Wabbit live in an environment of their own.
.venv-online/.ready:
	$(PYTHON) -m venv .venv-online
	.venv-online/bin/python -m pip install --quiet --disable-pip-version-check river vowpalwabbit
	@touch $@

bench-online: $(BIN)/.dev .venv-online/.ready
	$(BIN)/python -m benchmarks run online --budget 60

# dask-ml brings packages that nothing else here needs, so it lives in an environment of its own.
.venv-dask-ml/.ready:
	$(PYTHON) -m venv .venv-dask-ml
	.venv-dask-ml/bin/python -m pip install --quiet --disable-pip-version-check -e . dask-ml distributed
	@touch $@

# Dask and Spark are measured where they are installed; Spark needs Java, too.
bench-scale: $(BIN)/.dev .venv-dask-ml/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dask,spark]"
	$(BIN)/python -m benchmarks run scale

clean:
	rm -rf $(VENV) .venv-adelie .venv-libauc .venv-online .venv-dask-ml build *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
