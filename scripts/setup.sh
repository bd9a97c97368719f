#!/usr/bin/env bash
# Makes .venv from requirements/all.lock and installs the components editable. Safe to run twice; does nothing when current.
set -euo pipefail
cd "$(dirname "$0")/.."
components=(contracts operator executor gateway api fetcher)
want=$(cat requirements/all.lock "${components[@]/%//pyproject.toml}" | sha256sum | cut -d' ' -f1)
[ "$(cat .venv/.guildhall 2>/dev/null)" = "$want" ] && exit 0
command -v uv >/dev/null || { echo "setup: uv is missing; install it with 'pip install uv'" >&2; exit 2; }
echo "setup: Python packages into .venv (about 400 MB of disk, under a minute with a warm cache)"
[ -x .venv/bin/python ] || uv venv --quiet --python '>=3.11,<3.12' .venv
export VIRTUAL_ENV=$PWD/.venv
uv pip install --quiet --require-hashes -r requirements/all.lock
uv pip install --quiet --no-deps --no-build-isolation "${components[@]/#/--editable=}"
echo "$want" >.venv/.guildhall
