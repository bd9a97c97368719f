#!/usr/bin/env bash
# Resolves every component and writes hashed locks without any index address: requirements/all.lock for development,
# requirements/<component>.lock for each image. uv.lock itself is not committed.
set -euo pipefail
cd "$(dirname "$0")/.."
export_lock() { uv export --quiet --frozen --no-emit-workspace --no-annotate --no-header "$@"; }
uv lock --quiet
export_lock --all-packages --all-groups >requirements/all.lock
for component in operator executor gateway api fetcher; do
    export_lock --package "guildhall-$component" --no-default-groups >"requirements/$component.lock"
done
