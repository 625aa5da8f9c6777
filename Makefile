# make demo   set up, run the main job on the shipped example, and say what to look at
# make test   set up, then lint and all tests
# A second run of either finds everything installed and starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-slow lint format bench lock clean

demo: $(INSTALLED)
	$(BIN)/textspectra demo

test: lint
	$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -n auto -m slow

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/text.py

$(INSTALLED): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; try: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(MAKE) --no-print-directory venv-package
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade --constraint requirements.lock pip
	$(PIP) install --quiet --constraint requirements.lock --editable '.[all]' --group dev
	@touch $@

$(VENV)/.bench: $(INSTALLED)
	$(PIP) install --quiet --constraint requirements.lock --group bench
	@touch $@

# Debian keeps venv in a package of its own.
.PHONY: venv-package
venv-package:
	@test "$$(id -u)" = 0 || { echo "Python's venv module is missing. On Debian or Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	apt-get update -qq && apt-get install -y -qq python3-venv

# Writes down the versions that a fresh install of everything resolves to today.
lock:
	rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/lock/bin/python -m pip install --quiet --editable '.[all]' --group dev --group bench
	$(VENV)/lock/bin/python -m pip freeze --all --exclude-editable --exclude setuptools > requirements.lock
	rm -rf $(VENV)/lock

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
