# make run and make test each set everything up on a machine with python3, make and git.
SHELL := /bin/bash
PYTHON ?= python3
CORES ?= 2
VENV := .venv
BIN := $(VENV)/bin
CONFIG ?= config/config.yaml
STAMP := $(VENV)/.installed
# Every job of the workflow imports a lot: without bytecode files each starts five times slower.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run smoke test lint ui report doctor env clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else "groupcf needs Python 3.11 to 3.13, this is %d.%d; set PYTHON=" % v)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

env: $(STAMP) ## create or update the environment in .venv

run: $(STAMP) ## everything: data, classifiers, studies, figures, tracking, report
	$(BIN)/python -m groupcf.pipeline.run --cores $(CORES) --configfile $(CONFIG)

smoke: ## the same on a small selection, about a minute
	$(MAKE) run CONFIG=config/smoke.yaml

test: $(STAMP) ## lint, types, import directions, and all tests
	$(MAKE) lint
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile -q

lint: $(STAMP) ## style, types, import directions, workflow style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint --configfile $(CONFIG)

ui: $(STAMP) ## browse the runs in the MLflow UI
	$(BIN)/groupcf track --serve

report: $(STAMP) ## write summary and report again from the records at hand
	$(BIN)/snakemake --cores 1 --configfile $(CONFIG) --forcerun report -- report

doctor: $(STAMP) ## what works on this machine
	$(BIN)/groupcf doctor

clean: ## remove results (the environment and downloaded data stay)
	rm -rf results logs .snakemake
