#!/usr/bin/env bash
# Real clients against the real binary, one after another, on loopback alone.
#
# Usage: tests/clients.sh [HARNESS_BINARY]
#
# Each client is installed once, from its registry, into a folder outside the clone. One that cannot
# be installed is skipped with the reason; one whose test fails makes this exit with 1.
#
# HARNESS_CLIENTS_DIR: where clients are kept; otherwise a folder in the user's cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/clients"

binary=$(realpath "${1:-${CARGO_TARGET_DIR:-../../target}/debug/harness}")
kept=${HARNESS_CLIENTS_DIR:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/harness-clients}
mkdir -p "$kept"
kept=$(realpath "$kept")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Longer than any client takes that starts at all: litellm gives up by itself after 180 s.
readonly limit_seconds=420
# What a test says by its exit that cannot be made.
readonly skipped_code=77

# A test has no business beyond loopback; installing has, and may need a proxy for it.
loopback_only=(env)
for name in http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY; do
    loopback_only+=(-u "$name")
done
loopback_only+=('NO_PROXY=*' 'no_proxy=*')

passed=0 skipped=0 failed=0

skip() {
    skipped=$((skipped + 1))
    printf 'skipped  %-26s %s\n' "$1" "$2"
}

# installed FOLDER COMMAND…: runs COMMAND, unless it ended well in this folder before. The folder's
# name changes with what is in it, and the mark comes last: half an installation is begun anew.
installed() {
    local folder=$1
    shift
    (
        flock 9
        [[ -e $folder/.whole ]] && exit 0
        rm -rf "$folder"
        "$@" "$folder" >"$scratch/install" 2>&1 && touch "$folder/.whole"
    ) 9>"$folder.lock"
}

make_venv() {
    python3 -m venv "$2" &&
        "$2/bin/pip" install --quiet --disable-pip-version-check "$1"
}

make_node_modules() {
    mkdir "$1" &&
        cp package.json "$1" &&
        npm install --prefix "$1" --no-package-lock --no-audit --no-fund --loglevel=error
}

# run NAME COMMAND…: one line, and what the command said if it failed.
run() {
    local name=$1 began=$SECONDS code=0
    shift
    timeout --kill-after=10 "$limit_seconds" "${loopback_only[@]}" "$@" \
        >"$scratch/said" 2>&1 </dev/null || code=$?
    if ((code == skipped_code)); then
        skip "$name" "$(tail -n 1 "$scratch/said")"
    elif ((code == 0)); then
        passed=$((passed + 1))
        printf 'passed   %-26s %d s\n' "$name" "$((SECONDS - began))"
    else
        failed=$((failed + 1))
        printf 'FAILED   %-26s %d s, exit %d\n' "$name" "$((SECONDS - began))" "$code"
        sed 's/^/    /' "$scratch/said"
    fi
}

# python_client SCRIPT REQUIREMENT
python_client() {
    local script=$1 requirement=$2 folder
    folder=$kept/${script%.py}-$(printf '%s' "$requirement $(python3 -V 2>&1)" | cksum | cut -d' ' -f1)
    if ! command -v python3 >/dev/null; then
        skip "$script" 'no python3'
    elif ! installed "$folder" make_venv "$requirement"; then
        skip "$script" "\`$requirement\` cannot be installed:"
        sed 's/^/    /' "$scratch/install"
    else
        run "$script" "$folder/bin/python" -B "$script" "$binary"
    fi
}

# node_client SCRIPT, with everything in package.json
node_client() {
    local script=$1 folder
    folder=$kept/node-$(cksum <package.json | cut -d' ' -f1)
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        skip "$script" 'no node, or no npm'
    elif ! installed "$folder" make_node_modules; then
        skip "$script" 'its packages cannot be installed:'
        sed 's/^/    /' "$scratch/install"
    else
        # A script finds its packages beside itself, not by a path it is told.
        cp ./*.mjs "$scratch"
        ln -sfn "$folder/node_modules" "$scratch/node_modules"
        run "$script" node "$scratch/$script" "$binary"
    fi
}

began=$SECONDS
python_client openai_sdk.py 'openai==3.57.0'
python_client langchain_openai_chat.py 'langchain-openai==1.7.4'
python_client llm_cli.py 'llm==0.36'
python_client llm_comply_chat.py 'llm-comply==0.5.0'
node_client openai_sdk.mjs
node_client ai_sdk.mjs
python_client litellm_proxy.py 'litellm[proxy]==1.108.7'
printf '%d passed, %d skipped, %d failed in %d s\n' "$passed" "$skipped" "$failed" "$((SECONDS - began))"
((failed == 0))
