#!/bin/sh
# Builds the static workshop binary. Usage: build.sh [OUTPUT]; GOARCH as usual.
set -eu
cd "$(dirname "$0")"
output=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/guildhall/workshop/guildhall-workshop}
version=${VERSION:-0.1.0}
mkdir -p "$(dirname "$output")"
CGO_ENABLED=0 GOOS=linux go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$output.new" .
mv -f "$output.new" "$output"
echo "$output"
