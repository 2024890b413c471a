#!/usr/bin/env bash
# Backs the database up while servers run: backup.sh URL FILE. It has everything that was committed when it began.
# FLYTE_PG_BIN may name the directory of pg_dump.
set -euo pipefail
[ $# = 2 ] || { echo "usage: backup.sh URL FILE" >&2; exit 2; }
"${FLYTE_PG_BIN:+$FLYTE_PG_BIN/}pg_dump" --format=custom --file="$2" --dbname="$1"
echo "backed up to $2"
