# Each target sets up $(VENV) first. This needs Python 3.10 or later. Targets that run Spark need Java 17 or 21.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
PYTHON ?= $(firstword $(foreach python,python3 python3.13 python3.12 python3.11 python3.10,\
	$(if $(shell $(python) -c 'import sys; print("yes" if sys.version_info >= (3, 10) else "")' 2>/dev/null),$(python))))
# two processes, each with a separate Spark, which run the test files in the order of their folders
IN_TWO := --numprocesses 2 --dist loadfile --no-loadscope-reorder --durations 30 --durations-min 5
SHORT := not nightly and not thorough
BIN := $(VENV)/bin
LOCK := $(BIN)/uv pip compile pyproject.toml --upgrade --quiet --no-header --no-annotate $(addprefix --extra ,\
	session PyHive catalogs)
READY := $(VENV)/.ready
SCHEDULERS := --upgrade --quiet --no-header --no-annotate --universal --python-version 3.10
# Polars requires Python 3.11
ENGINES_LOCK := --upgrade --quiet --no-header --no-annotate --universal --python-version 3.11
CODE := iceberg_incremental adapter dbt tests website setup.py $(wildcard benchmarks examples integration_tests)
SQL := $(wildcard $(addprefix integration_tests/,models macros tests))

.PHONY: help demo test readme test-more test-all engines checks warm bench chaos soak fuzz unit lint package release-check release-notes sbom format docs reference pictures lock compat clean check-python check-java

help:  ## show the targets
	@sed -n 's/^\([a-z-]*\):.*##\(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(READY)  ## run dbt on real flight data: show what each run reads, and which rows a watermark misses
	$(BIN)/python integration_tests/demo.py

test: check-java checks warm  ## run the linters, the unit tests, and a core of the other tests that covers each feature once
	$(BIN)/pytest $(IN_TWO) -m "core and $(SHORT)" tests/packaging tests/browser tests/functional

readme: check-java $(READY)  ## run the other commands of the README as written, in an empty home folder and environment
	$(BIN)/pytest -m "nightly or not nightly" tests/packaging/test_first_commands.py

test-more: check-java checks warm  ## run the tests of `make test`, and further cases of each feature
	$(BIN)/pytest $(IN_TWO) -m "$(SHORT)" tests/packaging tests/browser tests/functional

test-all: check-java checks warm  ## run all tests, including slow ones: each layout, kills, random histories, dbt's own suite
	$(BIN)/pytest $(IN_TWO) tests/packaging tests/browser tests/functional

engines: check-java warm  ## let other engines write the sources of models and read their tables. ENGINES="duckdb or daft" selects engines
	$(BIN)/pytest $(IN_TWO) -m "nightly or not nightly" $(if $(ENGINES),-k "$(ENGINES)") tests/functional/engines

# each test that starts Spark then starts in half the time
warm: $(READY)
	$(BIN)/dbt-spark-iceberg warm-up

checks: $(READY)
	$(MAKE) --jobs=2 --output-sync lint unit

bench: check-java $(READY)  ## measure the cost of runs, and write docs/benchmarks.md. BENCH="capture files_read" selects benchmarks
	$(BIN)/python -m benchmarks $(BENCH)

chaos: check-java $(READY)  ## kill dbt and watch more than 100 times, run dbt in several processes at once, and inject server faults
	CHAOS_KILLS=80 CHAOS_ROUNDS=20 CATALOG_FAULTS=$${CATALOG_FAULTS:-250} WATCH_COMMITS=1000 WATCH_KILLS=10 \
		$(BIN)/pytest tests/functional/chaos tests/functional/faults tests/functional/watch/test_kills.py

soak: check-java $(READY)  ## watch a project with every kind of node for 10 minutes (WATCH_MINUTES), with a writer and failures
	WATCH_MINUTES=$${WATCH_MINUTES:-10} $(BIN)/pytest tests/functional/watch/test_every_kind.py -k long

# To repeat a failure, use the seed, the number of rounds and the history in the output.
fuzz: check-java $(READY)  ## run models on hundreds of random table histories, from a new seed. FUZZ_HISTORIES, FUZZ_SEED
	export FUZZ_SEED=$${FUZZ_SEED:-$$RANDOM} FUZZ_HISTORIES=$${FUZZ_HISTORIES:-300} FUZZ_ROUNDS=$${FUZZ_ROUNDS:-6} FUZZ_MOVES=$${FUZZ_MOVES:-100}; \
	echo "FUZZ_SEED=$$FUZZ_SEED FUZZ_HISTORIES=$$FUZZ_HISTORIES FUZZ_ROUNDS=$$FUZZ_ROUNDS FUZZ_MOVES=$$FUZZ_MOVES"; \
	$(BIN)/pytest -m "nightly or not nightly" tests/functional/fuzz

unit: $(READY)  ## run the tests that do not need Java
	$(BIN)/pytest --numprocesses 2 --durations 30 --durations-min 1 tests/unit

lint: $(READY)  ## check style, layers, types and formats
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy -p iceberg_incremental -p dbt.adapters.spark_iceberg -p dbt.include.spark_iceberg -p tests -p benchmarks -p website
	$(BIN)/sqlfluff lint $(SQL)
	$(BIN)/yamllint --strict .
	$(BIN)/zizmor --offline --quiet --persona pedantic .github
	NO_NETWORK=1 $(BIN)/validate-pyproject pyproject.toml
	$(MAKE) package

package: $(READY)  ## build the sdist and the wheel in dist/ from the files that Git would commit, and check them
	rm -rf build/package dist
	mkdir -p build/package
	git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read | \
		tar --extract --directory build/package
	$(BIN)/python -m build --no-isolation --outdir dist build/package >build/package.log || { cat build/package.log; exit 1; }
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

release-check: check-java package  ## rehearse a release: install dist/ into empty environments on Python 3.10 and 3.13
	$(BIN)/pytest -m "nightly or not nightly" tests/packaging/test_release.py tests/functional/connect/test_thin_client.py

sbom: package  ## write build/sbom.cdx.json, the software bill of materials of an installation with `session`
	$(BIN)/uv venv --quiet --clear build/sbom
	$(BIN)/uv pip install --quiet --python build/sbom "$$(echo dist/*.whl)[session]" --constraint requirements/dev.txt
	$(BIN)/uv venv --quiet --clear build/release
	$(BIN)/uv pip install --quiet --python build/release --require-hashes --requirement requirements/release.txt
	build/release/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
		--output-file build/sbom.cdx.json build/sbom

release-notes:  ## write build/release-notes.md, from the changelog of this version. TAG, if set, must be its tag
	@mkdir -p build
	@version="$$(sed -n 's/^version = "\(.*\)"$$/\1/p' adapter/__version__.py)"; \
	[[ "$${TAG:-v$$version}" == "v$$version" ]] || { \
		echo "error: the tag is $$TAG, but adapter/__version__.py has $$version: change one of them" >&2; exit 1; }; \
	awk -v head="## [$$version] - " 'index($$0, head) == 1 { found = 1; next } /^## / { found = 0 } found' CHANGELOG.md \
		>build/release-notes.md; \
	[[ -s build/release-notes.md ]] || { \
		echo "error: CHANGELOG.md has no section '## [$$version] - <date>': add it" >&2; exit 1; }

format: $(READY)  ## format Python and SQL
	$(BIN)/ruff check --fix-only $(CODE)
	$(BIN)/ruff format $(CODE)
	$(BIN)/sqlfluff fix --quiet $(SQL)

docs: $(READY)  ## build the documentation site from README.md and docs/ in build/site
	@# with --quiet, --strict would not detect warnings
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file website/mkdocs.yml
	@echo "build/site/index.html"

reference: $(READY)  ## write the generated pages (reference, errors, benchmarks) and the package's index of errors
	$(BIN)/python -m website
	$(BIN)/python -m benchmarks.report

pictures: $(READY)  ## create the pictures of the status page in docs/pictures with Chromium
	STATUS_PAGE_PICTURES=docs/pictures $(BIN)/pytest tests/browser -k picture

lock: $(READY)  ## update the versions pinned for requirements/dev.in and pyproject.toml
	$(LOCK) requirements/dev.in -o requirements/dev.txt --universal --python-version 3.10
	$(LOCK) -o requirements/compat/oldest.txt --resolution lowest-direct --python-version 3.10
	$(BIN)/uv pip compile requirements/schedulers/airflow.in -o requirements/schedulers/airflow.txt $(SCHEDULERS)
	$(BIN)/uv pip compile pyproject.toml requirements/schedulers/dagster.in -o requirements/schedulers/dagster.txt $(SCHEDULERS)
	$(BIN)/uv pip compile pyproject.toml requirements/schedulers/cosmos.in -o requirements/schedulers/cosmos.txt $(SCHEDULERS)
	$(BIN)/uv pip compile requirements/engines/small.in -o requirements/engines/small.txt $(ENGINES_LOCK)
	$(BIN)/uv pip compile requirements/engines/large.in -o requirements/engines/large.txt $(ENGINES_LOCK)
	$(BIN)/uv pip compile requirements/engines/trino.in -o requirements/engines/trino.txt $(ENGINES_LOCK)
	$(BIN)/uv pip compile requirements/engines/flink.in -o requirements/engines/flink.txt $(ENGINES_LOCK)
	$(BIN)/uv pip compile requirements/engines/spark35.in -o requirements/engines/spark35.txt $(ENGINES_LOCK)
	$(BIN)/uv pip compile requirements/release.in -o requirements/release.txt $(SCHEDULERS) --generate-hashes
	$(LOCK) -o requirements/compat/newest.txt --python-version 3.13
	$(BIN)/python -m tests.compat.locks

clean:  ## remove all build results, including the environment
	rm -rf $(VENV) .venv-* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

compat: check-java $(READY)  ## run the tests on other versions, each in a separate environment. COMPAT="oldest dbt-1.12"
	$(BIN)/python -m tests.compat $(COMPAT) $(addprefix --tests ,$(TESTS)) --pytest="$(IN_TWO)"

$(READY): requirements/dev.txt setup.py pyproject.toml adapter/__version__.py | check-python
	$(PYTHON) -m venv $(@D)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --requirement $<
	$(BIN)/python -m pip install --quiet --quiet --no-deps --no-build-isolation --editable .
	touch $@

check-python:
	@[[ -n "$(PYTHON)" ]] || { echo "error: no Python 3.10 or later found: install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: $(PYTHON) has no venv module: install it (Debian: apt-get install python3-venv)" >&2; exit 1; }

# Spark prefers JAVA_HOME over PATH
check-java:
	@version="$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')" || true; \
	case "$$version" in \
		17 | 21) ;; \
		*) echo "error: Spark needs Java 17 or 21, found $${version:-none}: install it (Debian: apt-get install" \
			"default-jre-headless) or point JAVA_HOME to it" >&2; exit 1 ;; \
	esac
