# Every target does its own set-up in .venv. Needed beforehand: Python 3.11 or newer with venv, make and git.
#
# What can hurt: a set-up that was interrupted, a checkout that was moved (a virtual environment knows its place), and two
# makes at once. So a mark stands while .venv is being made, .venv notes where it lies, and a lock lets one in at a time.

PYTHON ?= python3
# `make test PYTEST_ARGS="-x -k texts"` runs what you name, one test after the other.
# Four workers also on two cores: half of the time a test waits for a process. The tests do not depend on their order, so
# a worker that has none left takes over some of another's.
PYTEST_ARGS ?= -n 4 --dist worksteal

VENV := .venv
BIN := $(VENV)/bin
SETUP := .venv-setup
READY_TO_RUN := $(VENV)/ready-to-run
READY_TO_DEVELOP := $(VENV)/ready-to-develop
ifneq ($(shell test ! -e $(SETUP)/unfinished && test -x $(BIN)/python && cat $(VENV)/place 2>/dev/null),$(CURDIR))
AGAIN := again
endif

# Without byte code each of the thousand processes that the tests start would compile all of the package anew.
unexport PYTHONDONTWRITEBYTECODE
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test test-fast soak check format bench picture clean again

# What takes more than its CI size with FLOWER_SOAK=1. FLOWER_KILLS and FLOWER_HANDOFFS set two of the sizes by themselves.
SOAK := tests/core/test_fuzz.py tests/workbench/test_many_writers.py \
	tests/e2e/test_kill_matrix.py tests/e2e/test_many_handoffs.py

help:
	@echo "make demo       a whole handoff on this machine, no account needed"
	@echo "make test       all tests"
	@echo "make test-fast  without the real CLI and without building packages"
	@echo "make soak       the long ones: 200 kills, 1,000 handoffs, full fuzz; hours"
	@echo "make check      format, lint, types, layers, tests: what CI runs"
	@echo "make format     format and mend what can be mended"
	@echo "make bench      all measurements; writes benchmarks/results.md"
	@echo "make picture    record the demo again for docs/handoff.svg"
	@echo "make clean      remove caches and build output; .venv stays"

demo: $(READY_TO_RUN)
	@$(BIN)/flower demo

test: $(READY_TO_DEVELOP)
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

test-fast: $(READY_TO_DEVELOP)
	@$(BIN)/python -m pytest -m "not e2e and not slow" --ignore=tests/test_packaging.py $(PYTEST_ARGS)

soak: $(READY_TO_DEVELOP)
	@FLOWER_SOAK=1 $(BIN)/python -m pytest $(SOAK) $(PYTEST_ARGS)

# pytest comes last: its closing line is the last line of the output.
check: $(READY_TO_DEVELOP)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

format: $(READY_TO_DEVELOP)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(READY_TO_DEVELOP)
	@$(BIN)/python -m benchmarks

picture: $(READY_TO_DEVELOP)
	@$(BIN)/python docs/recording.py

clean:
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find flower_mcp tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY_TO_RUN): pyproject.toml $(AGAIN)
	$(call set_up,-e '.[run]',$@)

$(READY_TO_DEVELOP): pyproject.toml $(AGAIN)
	$(call set_up,-e '.[run]' --group dev,$(READY_TO_RUN) $@)

# $(1): what pip installs; $(2): what .venv is ready for then.
# A .venv that works and was not left half-made is kept and added to; any other is made anew.
define set_up
@set -eu; \
mkdir -p $(SETUP); exec 9>$(SETUP)/lock; \
if command -v flock >/dev/null; then flock 9; fi; \
here() { [ ! -e $(VENV)/place ] || [ "$$(cat $(VENV)/place)" = "$(CURDIR)" ]; }; \
recent() { $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
sound() { [ ! -e $(SETUP)/unfinished ] && here && recent; }; \
if [ $@ -nt pyproject.toml ] && sound; then exit 0; fi; \
sound || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "flower-mcp needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1 || true)." >&2; \
	echo "Name another one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }; \
echo "Setting up $(VENV) (once; the Claude Code CLI in it is about 180 MB) ..."; \
sound || { touch $(SETUP)/unfinished; rm -rf $(VENV); $(PYTHON) -m venv $(VENV); }; \
touch $(SETUP)/unfinished; \
PIP_USER=0; export PIP_USER; \
pip() { $(BIN)/python -m pip -qq --no-input --disable-pip-version-check install "$$@"; }; \
pip 'pip>=25.1' && pip $(1) || { \
	rm -f $(SETUP)/unfinished; echo "The set-up failed; the reason stands above. The next make tries again." >&2; exit 1; }; \
printf '%s\n' "$(CURDIR)" >$(VENV)/place; \
touch $(2); rm -f $(SETUP)/unfinished
endef
