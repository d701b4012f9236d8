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
binary=${1:-${CARGO_TARGET_DIR:-$(dirname "${BASH_SOURCE[0]}")/../target}/debug/harness}
binary=$(realpath -m "$binary")
cd "$(dirname "${BASH_SOURCE[0]}")/clients"

if [[ ! -x $binary ]]; then
    printf 'there is no binary `%s`\nhint: cargo build\n' "$binary" >&2
    exit 1
fi
kept=${HARNESS_CLIENTS_DIR:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/harness-clients}
mkdir -p "$kept"
kept=$(realpath "$kept")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Longer than any client takes that starts at all: litellm gives up by itself after 180 s.
readonly limit_seconds=420
# What a test says by its exit that cannot be made.
readonly skipped_code=77

# What a test knows of its surroundings: no proxy, no key, no settings of whoever starts it.
alone=(env -i "PATH=$PATH" "HOME=$scratch" "TMPDIR=$scratch" LANG=C.UTF-8 'NO_PROXY=*')

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
        "$2/bin/pip" install --quiet --retries 1 --disable-pip-version-check "$1"
}

make_node_modules() {
    mkdir "$1" &&
        cp package.json "$1" &&
        npm install --prefix "$1" --no-package-lock --no-audit --no-fund \
            --loglevel=error --fetch-retries=1 --fetch-retry-mintimeout=1000
}

# run NAME COMMAND…: one line, and what the command said if it failed.
run() {
    local name=$1 began=$SECONDS code=0
    shift
    timeout --kill-after=10 "$limit_seconds" "${alone[@]}" "$@" \
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
    local script=$1 requirement=$2 sum folder
    sum=$(printf '%s' "$requirement $(python3 -V 2>&1)" | cksum)
    folder=$kept/${script%.py}-${sum%% *}
    if ! command -v python3 >/dev/null; then
        skip "$script" 'no python3'
    elif ! installed "$folder" make_venv "$requirement"; then
        skip "$script" "\`$requirement\` cannot be installed:"
        sed -n '1,3s/^/    /p' "$scratch/install"
    else
        run "$script" "$folder/bin/python" -B "$script" "$binary"
    fi
}

# node_client SCRIPT, with everything in package.json
node_client() {
    local script=$1 sum folder
    sum=$(cksum <package.json)
    folder=$kept/node-${sum%% *}
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        skip "$script" 'no node, or no npm'
    elif ! installed "$folder" make_node_modules; then
        skip "$script" 'its packages cannot be installed:'
        sed -n '1,3s/^/    /p' "$scratch/install"
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
printf '%d passed, %d skipped, %d failed in %d s\n' \
    "$passed" "$skipped" "$failed" "$((SECONDS - began))"
((failed == 0))
