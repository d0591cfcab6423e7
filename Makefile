# Each target sets up $(VENV) itself. Needs Python 3.10 or later and, for everything that runs Spark, Java 17 or 21.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
PYTHON ?= $(firstword $(foreach python,python3 python3.13 python3.12 python3.11 python3.10,\
	$(if $(shell $(python) -c 'import sys; print("yes" if sys.version_info >= (3, 10) else "")' 2>/dev/null),$(python))))
TESTS ?= tests/unit tests/packaging tests/functional
# two processes, each with a Spark of its own, which run one test file after another in the order of their folders
IN_TWO := --numprocesses 2 --dist loadfile --no-loadscope-reorder --durations 30 --durations-min 5
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CODE := adapter dbt tests setup.py $(wildcard benchmarks integration_tests)
SQL := $(wildcard $(addprefix integration_tests/,models macros tests))

.PRECIOUS: .venv-%/.ready
.PHONY: help demo test test-all bench chaos fuzz unit lint format lock compat clean check-python check-java

help:  ## show the targets
	@sed -n 's/^\([a-z-]*\):.*##\(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: check-java $(READY)  ## dbt on real flights: what each run reads, and what a watermark loses
	$(BIN)/python integration_tests/demo.py

test: check-java lint  ## lint, then the tests; unit tests first
	$(BIN)/pytest tests/unit
	$(BIN)/pytest $(IN_TWO) -m "not nightly and not thorough" tests/packaging tests/functional

test-all: check-java lint  ## the same, and the tests that take long: each layout, kills, random histories, dbt's own
	$(BIN)/pytest tests/unit
	$(BIN)/pytest $(IN_TWO) tests/packaging tests/functional

bench: check-java $(READY)  ## measure what a run costs; writes docs/benchmarks.md. BENCH="capture files_read" for some only
	$(BIN)/python -m benchmarks $(BENCH)

chaos: check-java $(READY)  ## kill dbt 100 times and more, run it in several processes at once, have servers fail
	CHAOS_KILLS=80 CHAOS_ROUNDS=20 CATALOG_FAULTS=$${CATALOG_FAULTS:-250} \
		$(BIN)/pytest tests/functional/chaos tests/functional/faults

# The output has the seed, the number of rounds and the history, with which to replay a failure.
fuzz: check-java $(READY)  ## hundreds of random histories on real tables, from a new seed. FUZZ_HISTORIES, FUZZ_SEED
	export FUZZ_SEED=$${FUZZ_SEED:-$$RANDOM} FUZZ_HISTORIES=$${FUZZ_HISTORIES:-300} FUZZ_ROUNDS=$${FUZZ_ROUNDS:-6} FUZZ_MOVES=$${FUZZ_MOVES:-100}; \
	echo "FUZZ_SEED=$$FUZZ_SEED FUZZ_HISTORIES=$$FUZZ_HISTORIES FUZZ_ROUNDS=$$FUZZ_ROUNDS FUZZ_MOVES=$$FUZZ_MOVES"; \
	$(BIN)/pytest -m "nightly or not nightly" tests/functional/fuzz

unit: $(READY)  ## the tests that need no Java
	$(BIN)/pytest tests/unit

lint: $(READY)  ## style, layers, types and formats
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy -p dbt.adapters.spark_iceberg -p dbt.include.spark_iceberg -p tests -p benchmarks
	$(BIN)/sqlfluff lint $(SQL)
	$(BIN)/yamllint --strict .

format: $(READY)  ## format Python and SQL
	$(BIN)/ruff check --fix-only $(CODE)
	$(BIN)/ruff format $(CODE)
	$(BIN)/sqlfluff fix --quiet $(SQL)

lock: $(READY)  ## update the versions pinned for requirements/dev.in and pyproject.toml
	$(BIN)/uv pip compile pyproject.toml requirements/dev.in -o requirements/dev.txt --upgrade --quiet \
		--universal --python-version 3.10 --no-header --no-annotate \
		--extra session --extra pandas --extra PyHive --extra postgres --extra hive --extra glue --extra s3

clean:  ## remove everything that was built, the environment too
	rm -rf $(VENV) .venv-* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

compat: $(addprefix compat-,$(basename $(notdir $(wildcard requirements/compat/*.txt))))  ## all tests on other versions

# other versions give other warnings, which are not errors of this project
compat-%: .venv-%/.ready check-java
	.venv-$*/bin/pytest -W ignore $(IN_TWO) $(TESTS)

# Later lists replace what earlier ones installed.
define make_environment
$(PYTHON) -m venv $(@D)
$(@D)/bin/python -m pip install --quiet --upgrade pip
for list in $(filter %.txt,$^); do $(@D)/bin/python -m pip install --quiet --requirement $$list; done
$(@D)/bin/python -m pip install --quiet --quiet --no-deps --no-build-isolation --editable .
touch $@
endef

$(READY): requirements/dev.txt setup.py pyproject.toml adapter/__version__.py | check-python
	$(make_environment)

.venv-%/.ready: requirements/dev.txt requirements/compat/%.txt setup.py pyproject.toml adapter/__version__.py | check-python
	$(make_environment)

check-python:
	@[[ -n "$(PYTHON)" ]] || { echo "error: no Python 3.10 or later found: install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: $(PYTHON) has no venv module: install it (Debian: apt-get install python3-venv)" >&2; exit 1; }

# Spark takes JAVA_HOME before the path
check-java:
	@version="$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')" || true; \
	case "$$version" in \
		17 | 21) ;; \
		*) echo "error: Spark needs Java 17 or 21, found $${version:-none}: install it (Debian: apt-get install" \
			"default-jre-headless) or point JAVA_HOME to it" >&2; exit 1 ;; \
	esac
