# Everything starts here; `make help` lists it. CI runs these targets and nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.8
# One thread for linear algebra: a second one makes small solves slower by a factor of a hundred.
export OPENBLAS_NUM_THREADS := 1
# Some machines set this: then every process compiles all modules that it imports, and a server takes seconds to start.
unexport PYTHONDONTWRITEBYTECODE

FUZZED := tests/rpc/test_fuzz.py tests/games/test_fuzz.py tests/matches/test_fuzz.py tests/test_config_fuzz.py \
  tests/cli/test_fuzz.py tests/service/matches/test_exactly_once_machine.py tests/store/test_damage_fuzz.py

# Documents wrap at the width of the code; users see the rules of the games unchanged.
MDFORMAT := git ls-files '*.md' ':!arbiter/games/texts' | xargs $(BIN)/mdformat --wrap 120 --compact-tables --number

.DEFAULT_GOAL := help
.PHONY: help setup native dist demo quick quick-0 quick-1 quick-2 test whole-test every-test compiled-tests check every-check format gen golden pictures capacity coverage bench soak clean $(addprefix soak-,goldens simulation servers marked compiled kills seeds players minutes properties fuzzing clocks budget)

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(VENV)/.ready ## make .venv with the command, the client and the linters

$(VENV)/.ready: pyproject.toml uv.lock protos/python/pyproject.toml clients/python/pyproject.toml \
  deploy/openspiel/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Arbiter needs Python 3.11: install it, or say make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(UV) || { $(PYTHON) -m venv $(VENV) && $(BIN)/pip install --quiet uv==$(UV_VERSION); }
	$(UV) sync --quiet --frozen --all-packages --all-extras --all-groups
	@touch $@

COMPILED := $(CURDIR)/$(VENV)/compiled
# Put before a command: makes it use the compiled modules instead of those in the working folder.
NATIVE ?= PYTHONSAFEPATH=1 PYTHONPATH=$(COMPILED)
# With ccache, the compiler's output is cached for the next clone.
CCACHED := $(if $(shell command -v ccache),CC="ccache $${CC:-cc}" CCACHE_BASEDIR="$(CURDIR)" CCACHE_NOHASHDIR=true)
native: $(COMPILED)/.ready ## compile the busiest modules into .venv/compiled (mypyc; needs a C compiler)

$(COMPILED)/.ready: $(VENV)/.ready hatch_build.py pyproject.toml $(shell find arbiter -name '*.py')
	@command -v $${CC:-cc} >/dev/null || { echo "To compile takes a C compiler: install gcc, or add NATIVE= to do without"; exit 1; }
	rm -rf $(COMPILED) $(VENV)/wheel
	$(call timed,compile,$(CCACHED) HATCH_BUILD_HOOKS_ENABLE=1 $(UV) build --quiet --wheel --no-build-isolation \
	  --python $(BIN)/python --out-dir $(VENV)/wheel .)
	$(UV) pip install --quiet --no-deps --python $(BIN)/python --target $(COMPILED) $(VENV)/wheel/*.whl
	@touch $@

DIST ?= dist
dist: $(if $(NATIVE),native,setup) ## build all distributions: sdists and pure wheels, and the compiled wheel of this machine (NATIVE= without)
	rm -rf $(DIST)
	$(UV) build --quiet --all-packages --no-build-isolation --python $(BIN)/python --out-dir $(DIST)
	$(if $(NATIVE),mkdir -p $(DIST)/compiled && cp $(VENV)/wheel/*.whl $(DIST)/compiled/)
	@find $(DIST) -name '*.whl' -o -name '*.tar.gz' | sort

# $(call timed,PART,COMMAND): run a command, and note how long it took: see tests/minutes.py.
NOTED := build/minutes
timed = mkdir -p build; TIMEFORMAT='$(1) %R %U %S'; { time { $(2) 2>&3; }; } 3>&2 2>>$(NOTED)

demo: setup ## play a Swiss and a ladder of bundled bots over real gRPC, with a live table
	@$(call timed,demo,$(BIN)/arbiter demo)

# Many tests mostly wait, so two cores run six at a time. Each module runs on one worker; long tests begin first
# (tests/conftest.py). cargo and ninja must not use the job server of this make.
WORKERS ?= 6
PYTEST := env -u MAKEFLAGS -u MFLAGS $(BIN)/pytest

quick: setup ## run every check, and every short test that needs no other language's tools
	@$(call timed,quick,$(MAKE) --no-print-directory -j4 --output-sync check $(QUICK))

# What `make check` has run.
CHECKED := --ignore tests/test_sizes.py

# Short tests run in three processes, each with every third module: it collects these alone, and reports to no other
# process. A worker of pytest-xdist collects all tests. The output of each process is shown at its end.
QUICK := quick-0 quick-1 quick-2
$(QUICK): quick-%: setup
	$(PYTEST) -q -m "not long and not toolchain" --hypothesis-profile quick $$(find tests clients/python/tests \
	  -name 'test_*.py' ! -path $(lastword $(CHECKED)) | sort | awk 'NR % 3 == $*')

# In a fresh clone every worker would compile all tests, so one process does it first; 5 says that it has run no test.
$(VENV)/.loaded: $(VENV)/.ready
	$(BIN)/pytest --load -qq tests >/dev/null || [ $$? = 5 ] || $(BIN)/pytest --collect-only -qq tests
	@touch $@

COMMITS := tests/store/test_writer.py tests/store/test_journal.py tests/store/test_disk.py tests/store/test_unlocked.py \
  tests/store/test_commit_thread.py
# The tests of the compiled modules: the short tests of the modules themselves, of commits, and of the bytes of golden
# transcripts; matches with faults, and requests that are repeated; a real server that is killed, alone and as one of
# two; and the installation of the distribution, with a game played on it. Tests with many random inputs or a slow
# reference run on the interpreted modules only; `make soak` runs all on both.
# tests/test_compiled_tests.py compares these lists with the modules that are compiled.
OF_MODULES := tests/boards tests/event_json tests/games tests/matches tests/wire tests/service/matches \
  tests/service/observing tests/service/play tests/service/sharing tests/service/test_token_bucket.py \
  tests/runtime/test_build.py tests/runtime/test_clock_and_ids.py tests/keys/test_seals.py tests/store/test_arrays.py \
  tests/store/test_numbering.py tests/store/test_seals.py tests/rpc/test_play.py tests/rpc/test_play_sender.py \
  tests/rpc/test_streams.py tests/rpc/test_writes.py $(COMMITS)
OF_MEASUREMENTS := tests/observability/test_metrics.py tests/observability/test_traces.py
COMPILED_MODULES := $(OF_MODULES) $(OF_MEASUREMENTS) tests/simulation tests/rpc/test_unread.py
SHORT_COMPILED := $(OF_MODULES) tests/testing/test_transcripts.py --ignore tests/service/matches/test_exactly_once.py \
  --ignore tests/games/test_console.py --ignore tests/games/test_registry.py --ignore tests/event_json/test_canonical.py
LONG_COMPILED := --kills 4 --seeds 8 tests/simulation/test_seeds.py tests/service/matches/test_exactly_once.py \
  tests/service/matches/test_exactly_once_machine.py tests/e2e/test_kill.py tests/e2e/test_dist.py \
  tests/rpc/test_unread.py tests/store/test_shared_servers.py $(OF_MEASUREMENTS) \
  --deselect tests/simulation/test_seeds.py::test_everything_happens
# Tests that fail are noted here, and played once more, alone, after everything else: see tests/unsteady.py.
FAILURES := build/tests
test: setup ## run every check and every test
	@$(call timed,test,$(MAKE) --no-print-directory whole-test)

whole-test: setup
	$(BIN)/python -m tests.needs
	rm -rf $(FAILURES)
	@$(MAKE) --no-print-directory -j2 every-test $(if $(NATIVE),compiled-tests)
	$(call timed,again,$(BIN)/python -m tests.unsteady $(FAILURES))

every-test: check $(VENV)/.loaded
	$(call timed,tests,$(PYTEST) --dist loadscope --no-loadscope-reorder -n $(WORKERS) -p tests.unsteady \
	  --failures $(FAILURES)/every.json $(CHECKED))

COMPILED_PYTEST := $(NATIVE) env -u MAKEFLAGS -u MFLAGS $(BIN)/pytest -p tests.unsteady --hypothesis-profile quick
compiled-tests: native
	$(call timed,long-compiled,$(COMPILED_PYTEST) --failures $(FAILURES)/long-compiled.json -m "not interpreted" \
	  $(LONG_COMPILED))
	$(call timed,short-compiled,$(COMPILED_PYTEST) --failures $(FAILURES)/short-compiled.json \
	  -m "not interpreted and not long" -k "not reference" $(SHORT_COMPILED))

# mypy's cache is kept for the next clone on this machine, in one file that is replaced atomically.
TYPES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/arbiter-tests/mypy.tar
check: setup ## style, types, documents, import contracts, sizes, protos, generated code
	@$(call timed,check,$(MAKE) --no-print-directory every-check)

every-check:
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(MDFORMAT) --check
	@test -e .mypy_cache || test ! -e $(TYPES) || tar -xf $(TYPES) || rm -rf .mypy_cache
	$(BIN)/mypy
	@test -n "$$(find $(TYPES) -mmin -120 2>/dev/null)" || { mkdir -p $(dir $(TYPES)) && \
	  tar -cf $(TYPES).$$$$ .mypy_cache && mv -f $(TYPES).$$$$ $(TYPES); } || echo "mypy's cache could not be kept"
	$(BIN)/lint-imports --no-logo >/dev/null || $(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q tests/test_sizes.py >/dev/null || $(BIN)/pytest -q tests/test_sizes.py
	cd protos && ../$(BIN)/buf lint
	$(BIN)/python protos/generate.py --check

format: setup ## format the code, and fix what ruff can fix
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix --quiet .
	$(MDFORMAT)

gen: setup ## generate the code of the protocol: Python, and Go, Rust and TypeScript where their tools are there
	cd protos && ../$(BIN)/buf lint
	$(BIN)/python protos/generate.py
	@if command -v go >/dev/null; then $(BIN)/python clients/go/generate.py; \
	  else echo "left out: the code of the Go client, because there is no go"; fi
	@if command -v cargo >/dev/null; then cd clients/rust/tools && cargo run --quiet --locked && \
	  cat ../../../protos/arbiter/v1/*.proto Cargo.lock src/main.rs | sha256sum > made_from.sha256; \
	  else echo "left out: the code of the Rust client, because there is no cargo"; fi
	@if command -v npm >/dev/null; then cd clients/typescript && npm install --silent --no-save && npm run --silent generate; \
	  else echo "left out: the code of the TypeScript client, because there is no npm"; fi
	@if command -v npm >/dev/null; then cd arbiter/web/script && npm ci --silent --no-audit --no-fund && \
	  npm run --silent check && npm run --silent bundle > ../static/page.js; \
	  else echo "left out: the script of the pages, because there is no npm"; fi

golden: setup ## write the golden files anew; review the difference before you commit it
	$(BIN)/python -m tests.generators.goldens tests/golden
	$(BIN)/python -m tests.generators.vectors clients/vectors
	$(BIN)/python -m tests.generators.pictures deploy/pictures

pictures: setup ## take new pictures of the pages; look at them before you commit them
	$(BIN)/python -m tests.needs
	$(BIN)/python -m tests.web.gallery deploy/pictures/pages

capacity: setup ## write the tables about several servers in deploy/FIGURES.md from deploy/cluster.json
	$(BIN)/python -m tests.studies.capacity_page deploy

# What a test of another folder reaches by chance does not count. The gate alone (arbiter/service/gate) is tested
# through the APIs: make coverage MEASURED=tests/rpc
MEASURED ?= tests/matches tests/tournaments tests/ratings tests/service
coverage: setup ## show which branches of matches, tournaments, ratings and service the tests of these do not reach
	rm -rf build/coverage && mkdir -p build/coverage
	-$(BIN)/coverage run -m pytest --dist loadscope --no-loadscope-reorder -n 3 -q $(MEASURED)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --sort cover
	$(BIN)/coverage html --quiet --directory build/coverage/html && echo "Line by line: build/coverage/html/index.html"

# The folder where `make bench` writes the results of each round.
BENCH ?= build/bench
bench: $(if $(NATIVE),native,setup) ## measure: rules of each game, moves, fan-out, recovery, growth, clocks, metrics and the budget, beside their goals
	mkdir -p $(BENCH)
	$(NATIVE) $(BIN)/python -m arbiter.bench games
	$(NATIVE) $(BIN)/python -m arbiter.bench ratings
	for name in moves fanout recovery growth clocks metrics budget; do $(NATIVE) $(BIN)/arbiter bench $$name --json $(BENCH)/$$name.json; done
	$(NATIVE) $(BIN)/arbiter bench ratios $(BENCH)/{moves,fanout,recovery,growth,clocks,metrics,budget}.json

KILLS ?= 1000
SEEDS ?= 2000
MINUTES ?= 10
PLAYERS ?= 500
SEED ?= $(shell date +%s)
SOAK := goldens simulation servers marked $(if $(NATIVE),compiled) kills seeds players minutes properties fuzzing clocks budget
soak: $(if $(NATIVE),native,setup) ## run the long tests: make soak KILLS=1000 SEEDS=2000 MINUTES=10 PLAYERS=500; what has passed is left out
	$(BIN)/python -m tests.needs
	@$(MAKE) --no-print-directory --keep-going $(addprefix soak-,$(SOAK))
	rm -rf build/soak

# $(call soaked,PART,COMMAND): run a part, unless it has passed on the same code with the same numbers.
SOAKED_CODE = $(shell { git rev-parse HEAD; git diff HEAD; } | sha256sum | cut -c 1-40) $(KILLS) $(SEEDS) $(MINUTES) $(PLAYERS)
soaked = @mkdir -p build/soak; [ "$$(cat build/soak/$(1) 2>/dev/null)" = "$(SOAKED_CODE)" ] || { echo "soak-$(1)"; \
  $(call timed,soak-$(1),$(2)); echo "$(SOAKED_CODE)" > build/soak/$(1); }
soak-goldens:
	$(call soaked,goldens,$(if $(NATIVE),$(NATIVE):$(CURDIR)) $(BIN)/python -m tests.generators.goldens tests/golden slow)
soak-simulation:
	$(call soaked,simulation,$(BIN)/arbiter simulate --seed $(SEED) --seeds 1000000 --minutes $(MINUTES))
soak-servers:
	$(call soaked,servers,$(BIN)/arbiter simulate --replicas 3 --seed $(SEED) --seeds 1000000 --minutes $(MINUTES))
soak-marked:
	$(call soaked,marked,$(BIN)/pytest --soak -m "soak and not kills and not seeds and not players and not minutes" \
	  --timeout 0)
soak-compiled:
	$(call soaked,compiled,$(NATIVE) $(BIN)/pytest -m "not interpreted" $(COMPILED_MODULES) tests/e2e/test_kill.py \
	  --kills 13 --timeout 0)
soak-kills: # its output says how many kills have hit a server that served
	$(call soaked,kills,$(BIN)/pytest --soak -m kills --kills $(KILLS) -s --timeout 0)
soak-seeds:
	$(call soaked,seeds,$(BIN)/pytest --soak -m seeds --seeds $(SEEDS) --timeout 0)
soak-players:
	$(call soaked,players,$(BIN)/pytest --soak -m players --players $(PLAYERS) --timeout 0)
soak-minutes: # its output says how much memory a server has, early and late
	$(call soaked,minutes,$(BIN)/pytest --soak -m minutes --minutes $(MINUTES) -s --timeout 0)
soak-properties:
	$(call soaked,properties,$(BIN)/pytest -m "hypothesis and not toolchain" --hypothesis-profile whole --timeout 0)
soak-fuzzing:
	$(call soaked,fuzzing,$(BIN)/pytest $(FUZZED) --hypothesis-profile soak --timeout 0)
soak-clocks:
	$(call soaked,clocks,$(BIN)/arbiter bench clocks)
soak-budget:
	$(call soaked,budget,$(BIN)/arbiter bench budget)

clean: ## remove the environment, distributions and caches
	rm -rf $(VENV) $(DIST) arbiter-demo
	find . -name __pycache__ -prune -exec rm -rf {} +
