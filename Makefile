# make quickstart: install and run the main job on the embedded corpus.  make test: install and run the tests.
# The other targets: test-slow, mutation, lint, format, docs, site, results, statistics,
# schedulers, field, bench, gpu-check, compat, mlflow, clean.

PYTHON ?= python3
RUN := .venv/bin
RUNS ?= runs
# The newest study, for `make mlflow STUDY=...`.
STUDY ?= $(shell ls -td $(RUNS)/*/ledger 2>/dev/null | head -n 1 | xargs -r dirname)
# One thread a process: trials run side by side, and threads that spin on shared cores only slow each other down.
export OMP_NUM_THREADS ?= 1
# Compiled once, even where a container says otherwise: a study and the tests start many processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: quickstart test test-slow mutation lint format docs site results statistics schedulers field bench gpu-check compat mlflow clean

quickstart: .venv/installed
	$(RUN)/skipstack search quickstart

# One more at a time than there are CPUs: some tests only wait.
test: .venv/installed
	$(RUN)/python -m pytest -n $$($(PYTHON) -c 'import os; print(1 + os.cpu_count())') --dist worksteal

# The long ones: `corpus` tests need SKIPSTACK_DATA_DIR, `gpu` tests a GPU; they skip with the reason. They take hours:
# SHARD=2/16 runs the second of sixteen parts.
SHARD ?= 1/1
test-slow: .venv/installed
	$(RUN)/python -m pytest --shard $(SHARD) -m "slow or cluster or corpus or gpu"

# Small mistakes put into these folders, one at a time: which of them does no test notice?
FOLDERS ?= models search/strategy/schedulers search/ledger search/analysis/ablation search/analysis/exploration search/statistics search/analysis/confirmation
MUTANTS ?= 300
mutation: .venv/installed
	$(RUN)/python -m tests.mutation $(FOLDERS) --mutants $(MUTANTS) --tests tests/search/execution/driver tests/test_docs.py

lint: .venv/installed
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports

format: .venv/installed
	$(RUN)/ruff format .
	$(RUN)/ruff check --fix .

# The page of all fields, made from the configs.
docs: .venv/installed
	$(RUN)/python docs/fields.py > docs/guide/fields.md.new
	mv docs/guide/fields.md.new docs/guide/fields.md

# The site, in build/site: docs/ and the docstrings as pages. Links that lead nowhere, and pages that nothing leads to,
# are errors. Its tools stand apart from .venv: they need nothing of skipstack, and skipstack nothing of them.
SITE := build/site-venv
site: $(SITE)/installed
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --strict
	@echo "open build/site/index.html in a browser"

$(SITE)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'   # reads dependency groups since then
	$(SITE)/bin/python -m pip install --quiet --constraint constraints.txt --group site
	@touch $@

# The pages of docs/results/, or one: PAGE=distance. Studies that are not kept yet are run, or resumed where they stopped.
PAGE ?=
results: .venv/installed
	$(RUN)/python -m tests.results $(PAGE)

# The tables of docs/calibration.md, from simulated studies whose truth is known: five minutes, and half an hour
# for one search of 10,000 trials by TPE.
statistics: .venv/installed
	$(RUN)/python -m tests.search.statistics.measured

# The tables and the picture of docs/schedulers.md: recorded studies under every scheduler, ours and others'; some minutes.
schedulers: .venv/installed
	$(RUN)/python -m tests.benchmarks.schedulers.page

# The tables and the picture of docs/field.md: our searches and those of other tools, on tasks of other packages. Each
# tool has an environment of its own in build/field (gigabytes). Races that were run before are not run again; hours.
ARGS ?=
field: .venv/installed
	$(RUN)/python -m tests.benchmarks.field $(ARGS)

# All benchmarks, in hours, or those of one file: FILE=layers. What they find is docs/benchmarks.md.
FILE ?= *
bench: .venv/installed
	$(RUN)/python -m pytest -m benchmark -s --randomly-dont-reorganize tests/benchmarks/test_$(FILE).py

# On a machine with a GPU: whether all is right there, and how fast; ten minutes, a line of JSON a row (gpu-check.jsonl).
gpu-check: .venv/installed
	$(RUN)/python -m tests.benchmarks.gpu_check

# Other versions of the libraries than the pinned ones, in environments of PYTHON's in build/compat: half an hour a set,
# and gigabytes. What was seen is docs/compatibility.md.
SETS ?=
compat: .venv/installed
	$(RUN)/python -m tests.compat --python $(PYTHON) $(SETS)

mlflow: .venv/installed
	@test -n "$(STUDY)" || { echo "no study under $(RUNS)/ yet (make quickstart makes one)" >&2; exit 2; }
	$(RUN)/mlflow ui --backend-store-uri sqlite:///$(abspath $(STUDY))/mlflow.db

clean:
	rm -rf .venv build *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# Folders of libraries of which little or nothing is imported here.
UNUSED := '/(tests?|testing|rllib|serve|llm|_inductor|databricks|fontTools|matplotlib|mypyc?|physics|lexers)/'

# Made anew whenever what it was made from has changed.
.venv/installed: pyproject.toml setup.py constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "skipstack needs Python 3.11 or newer; got $$($(PYTHON) --version): make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv .venv
	@# Of an editable install Python 3.11 writes and reads, with LC_ALL=C, no path that has letters beyond ASCII: so the
	@# path to src/ is written from there.
	LC_ALL=C.UTF-8 $(RUN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[all,dev]'
	@for link in .venv/lib/python*/site-packages/__editable__.skipstack-*.pth; do echo ../../../../src > "$$link"; done
	@# The byte code of all libraries, which pip would make by one process alone, and the machine code that the first
	@# training would otherwise compile, for some seconds in each of its processes: side by side, each half a minute. Some
	@# libraries have files that are no Python of this version: nobody imports them. Left out is what is rarely
	@# imported, more than a third of all.
	{ $(RUN)/python -W ignore -m compileall -qq -j 0 -x $(UNUSED) .venv/lib || true; } & \
	  $(RUN)/python -m skipstack.models.training.prepare; prepared=$$?; wait; exit $$prepared
	@touch $@
