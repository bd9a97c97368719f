#!/bin/sh
# Builds the static workshop binary. Usage: build.sh [OUTPUT]; GOARCH as usual.
set -eu
cd "$(dirname "$0")"
case ${XDG_CACHE_HOME:-} in /*) cache=$XDG_CACHE_HOME ;; *) cache=$HOME/.cache ;; esac
output=${1:-$cache/guildhall/workshop/guildhall-workshop}
version=${VERSION:-0.1.0}
mkdir -p "$(dirname "$output")"
new=$output.new.$$ # its own: tests build side by side, and what one moves must be whole
trap 'rm -f "$new"' EXIT
CGO_ENABLED=0 GOOS=linux go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$new" .
mv -f "$new" "$output"
echo "$output"
