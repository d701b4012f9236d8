#!/usr/bin/env bash
# Compares the total of list.txt with what it should be.
cd "$(dirname "$0")" || exit 2
expected='4.70 EUR'
got=$(bash till.sh < list.txt)
if [ "$got" = "$expected" ]; then
    echo "ok: $got"
else
    echo "FAILED: expected $expected, got $got"
    exit 1
fi
