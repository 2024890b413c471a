#!/usr/bin/env bash
# Puts promtool, which tests the alerts, into the directory of the argument: out of Debian's package of Prometheus, which is not
# installed, since it would start a server. Where the package cannot be had, the tests of the alerts are skipped and say so.
set -euo pipefail
into=$(cd "$1" && pwd)
[ ! -x "$into/promtool" ] || exit 0
if found=$(command -v promtool); then
	ln -sf "$found" "$into/promtool"
	exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
	echo "promtool is missing, and the tests of the alerts are skipped. It comes with Prometheus: https://prometheus.io/download" >&2
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
fetch() { apt-get -qq -o APT::Sandbox::User=root download prometheus; }
if ! fetch 2>/dev/null && ! { [ "$(id -u)" = 0 ] && apt-get update -qq && fetch; }; then
	echo "Debian's package prometheus cannot be downloaded: the tests of the alerts are skipped." >&2
	exit 0
fi
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
mv usr/bin/promtool "$into/promtool"
