#!/usr/bin/env bash
# Reads lines of "quantity cents name" and prints the total in euros.
set -eu
. "$(dirname "$0")/lib/money.sh"

total=0
while read -r quantity cents name; do
    total=$((total + cents))
done
euros "$total"
