# Two commands for a fresh machine: `make demo` and `make test`. Each makes its own environment in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PACKAGES := rfactor tests benchmarks examples

.PHONY: demo test lint bench gallery fuzz fuzz-loops clean

demo: $(VENV)/demo.stamp
	$(BIN)/rfactor demo

test: $(VENV)/test.stamp
	$(BIN)/pytest -n auto

lint: $(VENV)/test.stamp
	$(BIN)/ruff check $(PACKAGES)
	$(BIN)/ruff format --check $(PACKAGES)
	$(BIN)/mypy $(PACKAGES)

bench: $(VENV)/bench.stamp
	$(BIN)/rfactor bench

# docs/gallery.md: loops, what rfactor says of them, times beside Python and Numba.
gallery: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks.gallery

# Random programs, executed three ways: `make fuzz PROGRAMS=10000 SEED=7`.
PROGRAMS ?= 1000
SEED ?= 0
JOBS ?= 2
fuzz: $(VENV)/test.stamp
	$(BIN)/python -m tests.fuzz --programs $(PROGRAMS) --seed $(SEED) --jobs $(JOBS)

# Random Python loops through `rfactor.fold`, whole, in parts and as streams: `make fuzz-loops LOOPS=10000 SEED=7`.
LOOPS ?= 1000
fuzz-loops: $(VENV)/test.stamp
	$(BIN)/python -m tests.loops.fuzz --loops $(LOOPS) --seed $(SEED) --jobs $(JOBS)

# One environment, one stamp an extra: `demo`, `test`, `bench`. An editable install compiles nothing by itself, and where
# Python is told not to write bytecode every start would read the source again, half a second of it.
$(VENV)/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	$(BIN)/python -m compileall -q rfactor
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
