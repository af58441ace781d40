# `make help` lists the targets. Needs GNU make, sh and Python 3.11 or newer; nothing else.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

is_supported := import sys; sys.exit(sys.version_info < (3, 11))
is_oldest_supported := import sys; sys.exit(sys.version_info[:2] != (3, 11))

# A name on the PATH may be a shim that cannot run, so each candidate is tried, not looked up.
PYTHON ?= $(shell for candidate in python3.11 python3.12 python3.13 python3; do \
  if "$$candidate" -c '$(is_supported)' 2>/dev/null; then echo "$$candidate"; break; fi; done)

venv_python := .venv/bin/python
train_python := .venv-train/bin/python
# Without --no-compile pip writes byte code for every module, 77 MB; Python writes it for those in use.
pip_install := -m pip install -qq --disable-pip-version-check --no-compile
PYTEST_ARGS ?= -n auto --maxprocesses 4

.PHONY: help install dev extras browser screenshots practice check test test-all soak coverage format docs lock organisms measure-organisms recogniser bench-organisms bench-resume bench-budget bench-likelihood bench-sorting bench-statistics bench-injections bench-view clean demo

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

install: .venv/.installed ## make .venv with what a user needs, and get the small model
	@$(venv_python) -m uncensoring_chinese_models model get smollm2-135m-instruct || \
	  echo 'Installed all the same; the first use of an organism tries again.' >&2

.venv/.installed: requirements.lock pyproject.toml
	@"$(PYTHON)" -c '$(is_supported)' 2>/dev/null || { \
	  echo 'This project needs Python 3.11 or newer: install one, or name it with make install PYTHON=/path/to/python.' >&2; \
	  exit 1; }
	@echo 'Installing into .venv; this takes about a minute.'
	@$(venv_python) -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv
	@$(venv_python) $(pip_install) --require-hashes -r requirements.lock
	@$(venv_python) $(pip_install) --no-build-isolation --no-deps -e .
	@touch $@
	@echo 'Ready: make demo, or .venv/bin/ucm --help'

dev: .venv/.installed-dev ## also the linters and test tools

.venv/.installed-dev: .venv/.installed requirements-dev.lock
	@echo 'Installing the linters and test tools; this takes about a minute.'
	@$(venv_python) $(pip_install) --require-hashes -r requirements-dev.lock
	@touch $@

extras: .venv/.installed-full ## also pandas, Parquet, Inspect, DuckDB, notebooks and playwright

.venv/.installed-full: .venv/.installed-dev requirements-full.lock
	@echo 'Installing pandas, Inspect, playwright and other extras; this takes about two minutes.'
	@$(venv_python) $(pip_install) --require-hashes -r requirements-full.lock
	@touch $@

browser: ## install a Chromium and a Chinese font for the browser tests, or say what to install
	@sh tools/browser.sh

demo: install ## a real audit of a small model with planted secrets, without a key
	@$(venv_python) -m uncensoring_chinese_models demo

practice: .venv/.installed ## run a whole audit without a key, against scripted models
	@$(venv_python) tools/practice.py

check: dev ## formatting, lint, types and import layers
	$(venv_python) -m ruff format --check .
	$(venv_python) -m ruff check .
	$(venv_python) -m mypy
	.venv/bin/lint-imports --no-logo

test: dev check ## check, then the fast tests: no browser and no model
	$(venv_python) -m pytest $(PYTEST_ARGS) -m 'not soak and not model and not browser'

test-all: install extras check ## check, then the tests with a browser and the small model too
	$(venv_python) -m pytest $(PYTEST_ARGS) -m 'not soak'

soak: install extras ## the long tests: full matrices, all organisms, fuzzing, simulations
	UCM_HYPOTHESIS=soak $(venv_python) -m pytest $(PYTEST_ARGS) -m soak

coverage: install extras ## the tests of test-all again, with the lines and branches they miss
	$(venv_python) -m pytest $(PYTEST_ARGS) -m 'not soak' --cov --cov-report=term-missing

format: dev ## format the code and fix what can be fixed
	$(venv_python) -m ruff format .
	$(venv_python) -m ruff check --fix .

docs: .venv/.installed ## write the generated pages and the picture of the screen anew
	$(venv_python) tools/write_docs.py
	$(venv_python) tools/picture.py docs/practice-run.svg

# The oldest Python that is supported needs the most packages, so the lock is made with it. Some
# packages need 3.11.5; a lock made with 3.11.2 (Debian 12) installs with every 3.11.
# Pins are kept where they still fit; LOCK_ARGS=--upgrade takes the newest of everything.
lean_extras := --extra analysis --extra figures --extra local --extra view
lock: ## write the three locks anew from pyproject.toml
	@"$(PYTHON)" -c '$(is_oldest_supported)' 2>/dev/null || { \
	  echo 'The lock is made with Python 3.11: name one with make lock PYTHON=/path/to/python3.11.' >&2; \
	  exit 1; }
	@set -e; work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	"$(PYTHON)" -m venv "$$work/venv"; \
	"$$work/venv/bin/python" $(pip_install) pip-tools==7.6.2 dependency-groups==1.3.2; \
	compile() { \
	  lock=$$1; title=$$2; groups=$$3; shift 3; \
	  "$$work/venv/bin/python" -m dependency_groups $$groups > "$$work/groups.in"; \
	  cp "$$lock" "$$work/pins" 2>/dev/null || true; \
	  "$$work/venv/bin/python" -m piptools compile --quiet --generate-hashes --allow-unsafe \
	    --no-strip-extras --no-header --no-emit-options --no-emit-index-url --no-emit-find-links \
	    --no-emit-trusted-host $(LOCK_ARGS) "$$@" --output-file "$$work/pins" pyproject.toml - < "$$work/groups.in"; \
	  { echo "# $$title, pinned with hashes."; \
	    echo '# Made by `make lock` from pyproject.toml; not edited by hand.'; \
	    sed "s/ -r -$$/ dependency groups (pyproject.toml)/; s/ -c .*requirements-full.lock$$/ requirements-full.lock/" "$$work/pins"; } > "$$work/lock"; \
	  cp "$$work/lock" "$$lock"; rm "$$work/pins"; }; \
	compile requirements-full.lock 'Everything: what make extras installs' \
	  'dev full' $(lean_extras) --extra export --extra inspect; \
	compile requirements-dev.lock 'What a user needs, with linters and test tools: what make dev installs' \
	  dev $(lean_extras) --constraint requirements-full.lock; \
	compile requirements.lock 'What a user needs: what make install installs' \
	  build $(lean_extras) --constraint requirements-full.lock

bench-organisms: install ## audit every organism five times with the baseline auditor and write the table
	$(venv_python) tools/organism_bench.py

bench-resume: dev ## kill an audit at 200 random moments and resume it each time
	$(venv_python) tools/kill_trials.py --trials 200

bench-budget: .venv/.installed ## check by trial that no run spends past its budget
	$(venv_python) tools/budget_trials.py

bench-likelihood: install ## score the facts of every organism's world by likelihood alone and write the table
	$(venv_python) tools/likelihood_bench.py

bench-statistics: .venv/.installed ## count how often each interval is right and each test wrong, and write the tables
	$(venv_python) tools/statistics_bench.py

bench-sorting: install ## ask six organisms for their facts five times, and write how many were sorted right
	$(venv_python) -m tools.sorting_bench --out outputs/sorting

bench-injections: .venv/.installed ## try texts that want to move a judge, and write the table of what they moved
	$(venv_python) tools/injection_table.py

# RUN names a run directory; else a demo is run.
screenshots: extras ## take the README's pictures from a real run
	$(venv_python) -m tools.screenshots $(RUN)

bench-view: extras ## measure how large and how fast reports and the viewer are, and write the table
	$(venv_python) -m tools.view_bench

# ORGANISMS names some of them. BUILD_ARGS goes to organisms.build, such as --device cuda.
organisms: .venv-train/.installed ## train the organisms anew and put them into the package
	$(train_python) -m organisms.build $(ORGANISMS) $(BUILD_ARGS)

# An environment of its own: torch is large, and its build depends on the machine.
.venv-train/.installed: pyproject.toml
	@echo 'Installing what training needs into .venv-train; torch is large.'
	@$(train_python) -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv-train
	@$(train_python) $(pip_install) -e '.[train]'
	@touch $@

measure-organisms: install ## sample the organisms and write their figures into docs/measurements/organisms.md
	$(venv_python) -m organisms.measure $(ORGANISMS)

# REPLIES names the labelled real replies; recogniser/README.md says where they come from.
recogniser: .venv/.installed ## train the model of stances anew, and write its weights and its figures
	@test -n "$(REPLIES)" || { \
	  echo 'Name the labelled replies: make recogniser REPLIES=/path/to/train.jsonl.gz' >&2; exit 1; }
	$(venv_python) -m recogniser --replies "$(REPLIES)"

clean: ## remove the environment, caches and build results
	rm -rf .venv .venv-train .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.* htmlcov dist build
	find organisms recogniser src tests tools -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
