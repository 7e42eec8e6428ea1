# Every recipe that CI runs. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
# A GPU is asked about without torch: the kernel shows its control device.
GPU := $(wildcard /dev/nvidiactl)
GPUS = $(shell nvidia-smi -L 2>/dev/null | grep -c '^GPU')
# The tested torch on a CPU; on a GPU the one that is there, if any, is kept.
CPU_TORCH := torch==2.13.0
GPU_TORCH := torch>=2.11
EXAMPLE := src/cacheon/examples/good/torch_silu_and_mul
RECORDS ?= records/gpu
PYTEST_ARGS ?=
# Hangs and their deadlines are waited for: one more than there are processors has no idle one.
WORKERS ?= $(shell echo $$(($$(nproc) + 1)))
# Groups of ranks that share the GPUs wait for each other: their tests run one by one.
RANKS_ARGS ?=
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
COVERAGE = $(foreach room,records rules contract bundle scan evidence,--cov=cacheon.$(room)) \
  --cov-report=term-missing:skip-covered --cov-fail-under=100
GPU_PYTEST = PYTHONPATH=src$${PYTHONPATH:+:$$PYTHONPATH} CACHEON_STRICT=1 \
  CACHEON_RECORDS=$${CACHEON_RECORDS:-$(RECORDS)} $(PYTHON) -m pytest tests/engine

export PYTHONDONTWRITEBYTECODE := 1

.PHONY: help verify test check lint types imports coverage gpu-test bench fuzz crash mutants reference environment clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

environment: $(STAMP) ## make .venv with everything that the other targets need

$(STAMP): pyproject.toml
ifeq ($(GPU),)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet '$(CPU_TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[engine,dev]'
else
	# An installed torch fits its driver: it is used, not replaced.
	test -x $(BIN)/python || $(PYTHON) -m venv --system-site-packages $(VENV)
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet '$(GPU_TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[engine,cuda,dev]'
endif
	touch $@

verify: $(STAMP) ## verify a shipped example, on the GPU where there is one
	$(BIN)/cacheon verify $(EXAMPLE)

check: lint types imports ## ruff, mypy and the import contracts

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports

test: check ## the checks, then every test that needs no GPU
	@command -v strace >/dev/null || echo 'make test: without strace the tests that kill a publisher at every' \
	  'system call are skipped; CACHEON_STRICT=1 makes a skip a failure' >&2
	@# Hundreds of processes start: none compiles the package anew. Bundles stay as they are.
	$(BIN)/python -m compileall -q -x /examples/ src/cacheon
	$(PYTEST) -m covering tests/paper $(COVERAGE) $(PYTEST_ARGS)
	$(PYTEST) -m 'not gpu and not ranks and not covering' $(PYTEST_ARGS)

coverage: $(STAMP) ## the paper wing's tests, which must cover all of it
	$(PYTEST) -m covering tests/paper $(COVERAGE)

gpu-test: ## the GPU's tests in the active environment, offline; a skip is a failure
	@test "$(GPUS)" -ge 1 || { echo 'make gpu-test needs a GPU: nvidia-smi shows none' >&2; exit 2; }
	mkdir -p $(RECORDS)
	failed=0; \
	$(GPU_PYTEST) -m 'gpu and not ranks' $(PYTEST_ARGS) || failed=1; \
	$(if $(filter 0 1,$(GPUS)),,CACHEON_RUN=rank- $(GPU_PYTEST) -m ranks $(RANKS_ARGS) || failed=1;) \
	exit $$failed

bench: $(STAMP) ## the budgets, as ratios against a bare process in the same run
	$(BIN)/python benchmarks/verify.py

fuzz: $(STAMP) ## hostile bytes for every parser, five minutes (FUZZ_SECONDS= for each target)
	$(BIN)/python -m tests.fuzz.run $(if $(FUZZ_SECONDS),--seconds $(FUZZ_SECONDS)) $(FUZZ_TARGETS)

crash: $(STAMP) ## kill and fail a publish and an intake at every single system call (ten minutes)
	CACHEON_EVERY_CALL=1 CACHEON_STRICT=1 $(BIN)/python -m pytest -n auto --dist load tests/paper/evidence/store/test_crash.py \
	  tests/paper/evidence/store/test_crash_intake.py

mutants: $(STAMP) ## change the modules that decide, and see that the tests notice (half an hour)
	$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	$(BIN)/python tests/mutants/run.py

reference: $(STAMP) ## write the pages that are made from the code again: command line, reason codes
	$(BIN)/python docs/reference/generate.py
	$(BIN)/python docs/rules/generate.py
	$(BIN)/python docs/evidence/generate.py
	$(BIN)/python docs/evidence/generate_records.py

clean: ## remove the environment and every cache
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
