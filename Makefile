# One target a habit; `make` alone lists them. PYTHON=... chooses the interpreter of another environment.
PYTHON ?= python
RUN := $(PYTHON) -P -m
TREE := build/tree
FUZZ_SECONDS ?= 300

.DEFAULT_GOAL := help
.PHONY: help install check lint format typecheck layers test long fuzz coverage bench bench-sandbox sanitize clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install:  ## editable install with everything that development needs
	$(PYTHON) -m pip install -e '.[dev]'

check: lint typecheck layers test  ## everything that has to pass before a commit

lint:  ## style and common mistakes (ruff)
	$(RUN) ruff check .
	$(RUN) ruff format --check .

format:  ## rewrite the sources in the house format
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

$(TREE): FORCE
	@rm -rf $@ && .ci/link-tree $@
FORCE:

typecheck: $(TREE)  ## mypy, strict, over the sources under their import names
	cd $(TREE) && $(abspath $(shell command -v $(PYTHON))) -m mypy --config-file $(CURDIR)/pyproject.toml -p evocore

layers: $(TREE)  ## who may import whom (import-linter)
	cd $(TREE) && lint-imports --no-logo --no-cache $(CURDIR)/pyproject.toml

test:  ## the test suite
	pytest

long:  ## the tests that take minutes as well
	pytest -m 'long or not long'

fuzz:  ## every parser of foreign bytes under a coverage-guided fuzzer, FUZZ_SECONDS (300) each
	@for target in $(patsubst tests/fuzz/fuzz_%.py,%,$(wildcard tests/fuzz/fuzz_*.py)); do \
	echo "== $$target"; $(PYTHON) -P tests/fuzz/run.py $$target -max_total_time=$(FUZZ_SECONDS) || exit 1; done

coverage:  ## the test suite with branch coverage over the four folders
	pytest --cov --cov-report=term-missing:skip-covered

bench:  ## the kernels beside other libraries (extra `bench`), into bench/RESULTS.md; a few minutes on a quiet machine
	mkdir -p build
	$(RUN) evocore.cli.main bench all > build/RESULTS.md
	mv build/RESULTS.md bench/RESULTS.md

bench-sandbox:  ## what an evaluation costs, survives and leaves behind, into bench/SANDBOX.md; PEERS=interpreter with the peers
	mkdir -p build
	$(RUN) evocore.bench.bench_sandbox --peers $(or $(PEERS),$(PYTHON)) > build/SANDBOX.md
	echo >> build/SANDBOX.md
	$(RUN) evocore.bench.bench_sandbox --evaluations 100000 >> build/SANDBOX.md
	mv build/SANDBOX.md bench/SANDBOX.md

sanitize:  ## kernel tests under the address and undefined-behaviour sanitizers (a build of its own, nothing installed)
	rm -rf build/sanitize build/lib* build/temp*
	EVOCORE_SANITIZE=address,undefined $(PYTHON) -m pip install -q --no-deps --no-build-isolation --target build/sanitize .
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	UBSAN_OPTIONS=halt_on_error=1 PYTHONPATH=build/sanitize $(RUN) pytest -q -s tests/kernels
	rm -rf build/lib* build/temp*

clean:  ## remove what builds and tools leave behind
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +
	rm -f kernels/_*.c
