#!/usr/bin/env bash
# Restores a backup into an empty database: restore.sh FILE URL. Stop all servers of the installation before, and start them
# on the restored database after: docs/high-availability.md#backup-and-restore says what they do then.
set -euo pipefail
[ $# = 2 ] || { echo "usage: restore.sh FILE URL" >&2; exit 2; }
bin=${FLYTE_PG_BIN:+$FLYTE_PG_BIN/}
# pg_dump comes with pg_restore everywhere, psql does not.
tables=$("${bin}pg_dump" --schema-only --dbname="$2" | grep -c '^CREATE TABLE ' || true)
[ "$tables" = 0 ] || { echo "the database has $tables tables; restore into an empty one" >&2; exit 1; }
"${bin}pg_restore" --exit-on-error --no-owner --single-transaction --dbname="$2" "$1"
echo "restored $1"
