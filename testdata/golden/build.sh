#!/usr/bin/env bash
# How the golden components were made: bash testdata/golden/build.sh TOOLS [NAME...]
#
# TOOLS is a folder outside of the repository; what it lacks is installed into it (some 900 MB). Needs
# cargo with the target wasm32-unknown-unknown, Node 20, npm and Python 3. A NAME is a file of `0.1/`
# without its ending, or one of `javascript-tool` and `python-tool`, which are too large to be kept and
# stay in TOOLS; without a NAME all are made.
#
# A golden component is made once for a version of the contract and kept: that old ones load is what
# the tests are about. Build one again only where its source changed before that version was released.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
wit=$here/../../wit
mkdir -p "${1:?a folder for the toolchains}"
tools=$(cd "$1" && pwd)
shift
names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
    names=(rust-guard rust-tool c-guard javascript-guard javascript-tool python-guard python-tool)
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Worlds for the languages that import all of one: the tools' own, and for guards the contract's.
mkdir -p "$work/tool/deps" "$work/guard"
cp "$here/src/wit/tool.wit" "$work/tool"
cp -r "$wit" "$work/tool/deps/harness"
cp "$wit"/*.wit "$work/guard"

javascript() {
    if [[ ! -d $tools/js/node_modules ]]; then
        mkdir -p "$tools/js"
        npm install --prefix "$tools/js" --silent \
            @bytecodealliance/jco@1.35.0 @bytecodealliance/componentize-js@0.23.0
    fi
}

python() {
    if [[ ! -x $tools/py/bin/componentize-py ]]; then
        python3 -m venv "$tools/py"
        "$tools/py/bin/pip" install --quiet componentize-py==0.25.1 ziglang==0.17.1
    fi
}

bindings() {
    if [[ ! -x $tools/wb/bin/wit-bindgen ]]; then
        cargo install wit-bindgen-cli --version 0.63.0 --no-default-features --features c --root "$tools/wb"
    fi
}

# A core module into a component; the adapter is for one that has a C library.
wrap() {
    javascript
    "$tools/js/node_modules/.bin/jco" new "$1" -o "$2" "${@:3}"
}

make_rust() {
    local role=$1
    cp -r "$here/src/rust/$role" "$work/rust"
    sed -i "s|path = \".*/plugins/sdk\"|path = \"$here/../../plugins/sdk\"|" "$work/rust/Cargo.toml"
    RUSTFLAGS='-Ctarget-feature=+simd128' cargo build --release --quiet \
        --manifest-path "$work/rust/Cargo.toml" --target wasm32-unknown-unknown --target-dir "$tools/rust"
    wrap "$tools/rust/wasm32-unknown-unknown/release/golden_$role.wasm" "$2"
    rm -rf "$work/rust"
}

make_c() {
    python
    bindings
    javascript
    "$tools/wb/bin/wit-bindgen" c "$wit" --world "$1-plugin" --out-dir "$work" >"$work/log"
    # No program but a library: its constructors run before the first call. With debugging
    # information, because the compiler leaves out the names of functions otherwise.
    "$tools/py/bin/python" -m ziglang cc -target wasm32-wasi -mexec-model=reactor -D_GNU_SOURCE -Oz -g \
        -I "$work" -o "$work/module.wasm" \
        "$here/src/c/$1.c" "$work/$1_plugin.c" "$work/$1_plugin_component_type.o"
    wrap "$work/module.wasm" "$2" --adapt \
        "wasi_snapshot_preview1=$tools/js/node_modules/@bytecodealliance/jco/lib/wasi_snapshot_preview1.reactor.wasm"
}

make_javascript() {
    javascript
    # Beside the packages it imports, which is where Node looks for them.
    cp "$here/src/javascript/build.mjs" "$tools/js/build.mjs"
    node "$tools/js/build.mjs" "$here/src/javascript/$1.js" "$1-plugin" "$work/$1" "$2"
}

make_python() {
    python
    cp "$here/src/python/$1.py" "$work"
    "$tools/py/bin/componentize-py" -d "$work/$1" -w "$1-plugin" componentize -p "$work" "$1" -o "$2"
}

for name in "${names[@]}"; do
    folder=$here/0.1
    case $name in javascript-tool | python-tool) folder=$tools ;; esac
    "make_${name%-*}" "${name#*-}" "$folder/$name.wasm"
    printf '%s, %s bytes\n' "$folder/$name.wasm" "$(stat -c %s "$folder/$name.wasm")"
done
