# Bare `make` explains itself: every target with a comment behind two hashes is listed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Hundreds of processes are started by the tests: what one of them compiled, the others read, whatever the machine says.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format stubs bench kafka-up kafka-down clean

help: ## show this list
	@echo "Sluice: streaming video analytics whose work follows the content of the stream."
	@echo
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1 \2/p' $(MAKEFILE_LIST) | awk '{printf "  make %-11s", $$2; $$1=$$2=""; print $$0}'

setup: $(VENV)/.installed-dev ## create .venv with Sluice and everything to develop it

demo: $(VENV)/.installed ## set up, then analyse a clip of a street: no broker, no camera, no downloads of models
	$(BIN)/sluice demo

test: $(VENV)/.installed-dev ## set up, then run all tests; starts a real Kafka broker and a real RTSP camera
	@sh tests/real/install.sh
	@$(BIN)/python -m tests.real.kafka ready
	@$(BIN)/python -m tests.real.helm
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder --reruns 1 --only-rerun "in vain|Timeout(Exception|Error|Expired)"

check: $(VENV)/.installed-dev ## lint, format check, types, import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## put the code into the house's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

stubs: $(VENV)/.installed-dev ## generate what speaks to servers of networks from its definition
	$(BIN)/python -m grpc_tools.protoc -I. --pyi_out=. \
		--descriptor_set_out=serving/remote/protocol/inference.binpb serving/remote/protocol/inference.proto

bench: $(VENV)/.installed-dev ## run every benchmark and rewrite benchmarks/results (long)
	@set -e; for script in $$(ls benchmarks/*.py | grep -vE '/(__init__|harness|claims|stale)\.py$$'); do \
		name=$$(basename $$script .py); echo "== $$name"; $(BIN)/python -m benchmarks.$$name; done

kafka-up: $(VENV)/.installed-dev ## start a Kafka broker on 127.0.0.1:9092 (Java and Maven needed)
	$(BIN)/python -m tests.real.kafka up

kafka-down: $(VENV)/.installed-dev ## stop that broker
	$(BIN)/python -m tests.real.kafka down

clean: ## remove .venv and everything that was made here
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis out

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

# --no-compile: Python compiles what it imports, once; compiling all of it first doubles the time to install.
$(VENV)/.installed: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --no-compile --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --no-compile --editable '.[dev]'
	@touch $@ $(VENV)/.installed
