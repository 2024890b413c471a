#!/usr/bin/env bash
# Fills the node's registry with stand-ins for public images, built from Debian packages and this checkout, so no outside registry
# is needed: the SDK's image, Postgres, the S3 server, a base for raw containers, and the pause container.
set -euo pipefail
. "$(dirname "$0")/env.sh"
work=$(mktemp -d "$state/images.XXXX")
trap 'mountpoint -q "$work/root" && umount "$work/root"; rm -rf "$work"' EXIT
cd "$work"

# layer NAME BASE TARFILE MUTATE-FLAGS...: pushes BASE (or nothing) with one more layer.
layer() {
	local name=$1 base=$2 file=$3
	shift 3
	crane append --insecure ${base:+-b "$registry/$base"} -f "$file" -t "$registry/$name" >/dev/null 2>>log
	[ $# = 0 ] || crane mutate --insecure "$registry/$name" "$@" -t "$registry/$name" >/dev/null 2>>log
	echo "$registry/$name"
}

# on_debian COMMANDS: runs them in a copy of the base and leaves what they changed in change.tar.
on_debian() {
	rm -rf upper inner && mkdir -p upper inner root
	mount -t overlay overlay -o lowerdir=debian,upperdir=upper,workdir=inner root
	cp -L /etc/resolv.conf root/etc/resolv.conf
	cp -L /etc/ssl/certs/ca-certificates.crt root/etc/ssl/certs/ca-certificates.crt
	DEBIAN_FRONTEND=noninteractive chroot root sh -euc "$1" >>log 2>&1
	umount root
	tar -cf change.tar -C upper .
}

mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,ca-certificates bookworm debian.tar
mkdir debian && tar -xf debian.tar -C debian
layer debian:12 "" debian.tar
layer library/alpine:3.20 "" debian.tar # raw containers of the test flows need no more than a shell

on_debian "python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir flyte==$sdk uv"
layer "flyteorg/flyte:py$python-v$sdk" debian:12 change.tar --env PATH=/opt/venv/bin:/usr/bin:/bin --env VIRTUAL_ENV=/opt/venv \
	--env PYTHONPATH=/root --workdir /root

cat >entrypoint <<'END'
#!/bin/sh
# The first start makes the cluster, the user and the database, as that of the official image does.
set -e
PATH=/usr/lib/postgresql/15/bin:$PATH
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	mkdir -p "$PGDATA" && chmod 700 "$PGDATA"
	echo "$POSTGRES_PASSWORD" >/tmp/password
	initdb -U "$POSTGRES_USER" --pwfile /tmp/password -A scram-sha-256 --auth-local trust
	rm /tmp/password
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	pg_ctl -w -o "-c listen_addresses=" start
	createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
	pg_ctl -w stop
fi
exec postgres -c listen_addresses='*'
END
mkdir -p upper
on_debian "groupadd -r -g 999 postgres && useradd -r -u 999 -g 999 postgres
	apt-get update && apt-get install -y --no-install-recommends postgresql-15 && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15
	mkdir -p /var/lib/postgresql/data /var/run/postgresql && chown -R 999:999 /var/lib/postgresql /var/run/postgresql
	ln -s /usr/lib/postgresql/15/bin/pg_isready /usr/local/bin/pg_isready"
install -D -m 755 entrypoint more/usr/local/bin/entrypoint && tar -rf change.tar -C more ./usr/local/bin/entrypoint
layer library/postgres:17.6 debian:12 change.tar --entrypoint /usr/local/bin/entrypoint

cp "$root/.bin/versitygw" . && tar -cf versitygw.tar versitygw
layer versity/versitygw:v1.8.0 "" versitygw.tar --entrypoint /versitygw

cat >pause.go <<'END'
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
END
CGO_ENABLED=0 go build -ldflags="-s -w" -o pause pause.go && tar -cf pause.tar pause
layer pause:1 "" pause.tar --entrypoint /pause
