# Each target's help stands behind its name: `make` prints the list.

PYTHON := .venv/bin/python
MINUTES ?= 10
# pytest runs them in this order, the fast ones first. Folders that do not exist yet are left out.
FAST_TESTS := $(wildcard tests/unit tests/behaviour tests/fuzz tests/bench tests/test_*.py)
SLOW_TESTS := $(wildcard tests/e2e tests/airflow tests/spark tests/jobs tests/kafka)
# Each file in one of so many processes, in that order: the tests of a file share its servers. Those that take longest come first
# of the slow ones, so that no process works alone at the end.
WORKERS ?= 2
LANES = -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup test test-all conformance damage record-checkpoints quiet-check fuzz bench demo chaos chaos-model chaos-stock chaos-airflow chaos-runs catchup-duel lint types layers check lock sandbox-up sandbox-down clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## put Python packages, jars and tools in place (minutes once, then under a second)
	@config/setup.sh

test: setup ## run the tests in one pytest run of two processes, the fast ones first (PYTEST_ARGS="-k name" narrows it, WORKERS=1)
	$(PYTHON) -m pytest $(LANES) -m "not catalogue and not thorough" --durations=20 $(FAST_TESTS) $(SLOW_TESTS) $(PYTEST_ARGS)

test-all: setup ## the same with what takes minutes and the trials of all jobs; their accounts in .sandbox/jobs.jsonl, incidents in a Chromium in .sandbox/on-call.json
	@mkdir -p .sandbox && rm -f .sandbox/jobs.jsonl
	STREAMOPS_TRIALS=.sandbox/jobs.jsonl $(PYTHON) -m pytest $(LANES) $(FAST_TESTS) $(SLOW_TESTS) $(PYTEST_ARGS)

conformance: setup ## foretell starts on damaged checkpoints, start the pinned Spark on them, compare (.sandbox/conformance.json)
	STREAMOPS_CONFORMANCE=.sandbox/conformance.json $(PYTHON) -m pytest -q tests/spark/test_conformance.py \
		tests/spark/test_sinks_against_spark.py

damage: CASES ?= 500
damage: setup ## damage checkpoints at random in CASES (default 500) cases, foretell, start Spark, repair, compare (.sandbox/damage.json, SEED=… SPARK="4.1.4 4.0.5" DAMAGE_ARGS="--only kafka")
	PYTHONPATH=plugins:tests $(PYTHON) -m damage --cases $(CASES) $(if $(SEED),--seed $(SEED)) $(if $(SPARK),--spark $(SPARK)) \
		$(DAMAGE_ARGS)

quiet-check: CHECKS ?= 1000
quiet-check: setup ## check running queries of all kinds CHECKS (default 1000) times at random instants (.sandbox/quiet.json, SEED=…)
	STREAMOPS_QUIET=.sandbox/quiet.json CHECKS=$(CHECKS) $(if $(SEED),SEED=$(SEED)) $(PYTHON) -m pytest -q --timeout=0 \
		tests/spark/test_quiet_checks.py

fuzz: EXAMPLES ?= 10000
fuzz: setup ## feed EXAMPLES (default 10000) hostile files and checkpoints to each parser, and to the check itself (SEED=…)
	EXAMPLES=$(EXAMPLES) $(PYTHON) -m pytest -q --timeout=0 --hypothesis-profile=fuzz $(if $(SEED),--hypothesis-seed=$(SEED)) \
		tests/fuzz

bench: setup ## measure checks, a fleet, a look, a broker scan and a catch-up against their baselines (ONLY=check, or ONLY=look,fleet); figures in .sandbox/bench.json
	PYTHONPATH=tests $(PYTHON) -m bench $(if $(ONLY),--only $(ONLY)) --target .sandbox/bench.json

# About ten minutes a version; each needs an environment of 700 MB under .sandbox/recording.
record-checkpoints: setup ## record real checkpoints anew, all or some VERSIONS="4.1.4 4.2.0" (RECORD_ARGS="--only kafka")
	PYTHONPATH=plugins:tests $(PYTHON) -m recorder $(VERSIONS) $(RECORD_ARGS)

demo: setup ## show a stream killed and brought back (DEMO_EXIT=1 ends by itself), or JOBS=J3,J6|all of the catalogue at once
	$(PYTHON) -m streamops_sandbox.$(if $(JOBS),catalogue --jobs "$(JOBS)" $(if $(RECORDS),--records $(RECORDS)),demo)

# RESET=1 forgets the figures of earlier runs; without it they are added up. CHAOS_ARGS="--airflow --seed 7" goes on to the program.
CHAOS = $(PYTHON) -m streamops_sandbox.chaos $(if $(RESET),--reset)

chaos: CYCLES ?= 20
chaos: setup ## strike three real streams CYCLES times (default 20), count lost and doubled rows (RESET=1 CHAOS_ARGS=…)
	$(CHAOS) rounds --cycles $(CYCLES) $(CHAOS_ARGS)

chaos-model: setup ## draw SCHEDULES (default 10000) schedules of the model: crashes and delays between any two steps (SEED=…)
	$(PYTHON) -m pytest -q --hypothesis-profile=chaos $(if $(SEED),--hypothesis-seed=$(SEED)) \
		tests/behaviour/supervisor/test_model.py

# Half an hour: Airflow waits five minutes for a silent task and five before each retry. A further run adds to its figures.
chaos-stock: CYCLES ?= 1
chaos-stock: setup ## for comparison: kill the worker of a stream under Airflow's own SparkSubmitOperator CYCLES times
	$(CHAOS) stock --cycles $(CYCLES) $(CHAOS_ARGS)

chaos-airflow: setup ## stop Airflow for MINUTES (default 10), end its tasks 100 times, clean, pause: no stream notices
	$(CHAOS) airflow --minutes $(MINUTES) $(CHAOS_ARGS)

chaos-runs: CYCLES ?= 15
chaos-runs: setup ## strike CYCLES (default 15) runs of a scheduled stream under Airflow, count lost and doubled rows
	$(CHAOS) runs --cycles $(CYCLES) $(CHAOS_ARGS)

catchup-duel: ROUNDS ?= 15
catchup-duel: setup ## force ROUNDS (default 15) catch-ups against a live query, with blows, and as many runs of a scheduled stream
	$(CHAOS) catchup --cycles $(ROUNDS) $(CHAOS_ARGS)

lint: setup ## check style and formatting with ruff
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check

types: setup ## check types with mypy, strict, on the package
	$(PYTHON) -m mypy

layers: setup ## check who imports whom, with import-linter
	.venv/bin/lint-imports --no-logo

check: lint types layers ## before a commit: lint, types, layers and the fast tests
	$(PYTHON) -m pytest $(LANES) $(FAST_TESTS) $(PYTEST_ARGS)

LOCK = .tools/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet

# The same versions in both: what is tested is what runs.
lock: setup ## compile requirements.lock (what runs) and requirements-dev.lock (with the test tools) anew from pyproject.toml
	$(LOCK) --all-extras -o requirements-dev.lock
	$(LOCK) --extra airflow --extra spark --extra kafka --extra delta -c requirements-dev.lock -o requirements.lock

sandbox-up: setup ## start the local Kafka broker, Airflow and the demo streams, and keep them running
	.venv/bin/streamops-sandbox up

sandbox-down: setup ## stop what sandbox-up started
	.venv/bin/streamops-sandbox down

clean: ## remove caches and build products; what `make setup` and the sandbox made stays
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist target plugins/*.egg-info
	rm -rf spark-warehouse metastore_db derby.log
	find plugins tests dags jobs -name __pycache__ -type d -prune -exec rm -rf {} +
