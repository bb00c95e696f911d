# Everything is installed into .venv, never into the system's packages; a second call installs nothing.
BIN := .venv/bin
ENVIRONMENT := .venv/.ready
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run page fast test proof check check-server check-page format bench lock clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1	\2/p' Makefile

run: $(ENVIRONMENT) ## start the demo server: make run ARGS="--port 9000"
	@$(BIN)/python tools/page.py
	$(BIN)/waypost demo $(ARGS)

page: $(ENVIRONMENT) ## build the browser's page, if its sources changed
	$(BIN)/python tools/page.py --must

fast: $(ENVIRONMENT) ## the tests that need no service, in about a minute
	$(BIN)/python tools/suites.py fast

test: $(ENVIRONMENT) ## run every test suite: make test ARGS="tests/unit -k retry"
	$(BIN)/python tools/services.py
	$(BIN)/python tools/suites.py $(ARGS)

proof: $(ENVIRONMENT) ## storms, outages, a soak, seeds, fuzzing and three Cassandra nodes: make proof ARGS=--short
	$(BIN)/python tools/services.py
	$(BIN)/python tools/proof.py $(ARGS)

check: $(ENVIRONMENT) ## format, lint, import layers and types, the page's too, without changing a file
	@$(MAKE) --no-print-directory --jobs=2 check-server check-page

check-server:
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports
	$(BIN)/mypy

check-page:
	$(BIN)/python tools/page.py check

format: $(ENVIRONMENT) ## format the code and repair what the linter can
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

bench: $(ENVIRONMENT) ## measure Waypost beside its peers: make bench ARGS="--help"
	sh tools/environment.sh --group bench
	$(BIN)/python -m bench $(ARGS)

lock: $(ENVIRONMENT) ## write every dependency's version and hashes to constraints.txt: make lock ARGS=--upgrade
	PATH="$(PATH):.venv/bootstrap/bin" uv pip compile --quiet --universal --python-version 3.11 --all-extras \
		--group dev --group bench --generate-hashes --no-annotate --custom-compile-command "make lock" \
		--output-file constraints.txt $(ARGS) pyproject.toml

clean: ## remove the environment and every cache
	rm -rf clients/typescript/node_modules clients/typescript/dist
	rm -rf web/node_modules web/src/api src/waypost/http/page
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist
	find src tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENVIRONMENT): pyproject.toml constraints.txt tools/environment.sh
	sh tools/environment.sh
	@touch $@
