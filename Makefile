# Guildhall: `make help` lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PY := .venv/bin/python

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

.PHONY: setup
setup: ## Make .venv with everything development needs
	@scripts/setup.sh

.PHONY: demo
demo: ## The main job on a real cluster: fix a real package, watch it, check the patch (CONTEXT=, YES=1)
	@python3 scripts/demo up

.PHONY: demo-down
demo-down: ## Remove everything the demo made
	@python3 scripts/demo down

.PHONY: test
test: ## Run everything; exit 3 when a part could not run here
	@python3 scripts/test_all.py

.PHONY: test-fast
test-fast: ## Everything that needs no cluster
	@python3 scripts/test_all.py --fast

.PHONY: lint
lint: setup ## Lint, format check, layers, types
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/lint-imports --no-cache
	@.venv/bin/mypy contracts operator executor gateway api fetcher

.PHONY: format
format: setup ## Format the Python and Go sources
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix . && cd workshop && gofmt -w .

.PHONY: generate
generate: setup ## Regenerate CRDs, schemas, contract tables, the console's generated modules and the OpenAPI document
	@$(PY) -m guildhall_contracts.generate
	@$(PY) scripts/inner_limits.py
	@$(PY) -m guildhall_api.openapi
	@node web/generate-shapes.mjs && node web/generate-policy.mjs

.PHONY: verify
verify: setup ## Regenerate and fail on any difference
	@$(PY) -m guildhall_contracts.generate --check
	@$(PY) scripts/inner_limits.py --check
	@$(PY) -m guildhall_api.openapi --check
	@node web/generate-shapes.mjs --check && node web/generate-policy.mjs --check

.PHONY: cluster-up
cluster-up: ## Start the embedded Kubernetes (builds it once; YES=1 for unattended)
	@python3 tests/cluster/cluster.py up $(if $(YES),--yes)

.PHONY: cluster-down
cluster-down: ## Stop it and leave nothing behind
	@python3 tests/cluster/cluster.py down

.PHONY: images
images: setup ## Build every image and load it into the embedded cluster
	@$(PY) images/build.py --load

.PHONY: lock
lock: ## Resolve the dependencies again
	@scripts/lock.sh
