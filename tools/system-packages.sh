#!/usr/bin/env bash
# Installs required system programs as Debian packages if possible (root and apt-get); otherwise prints what is missing and
# how to install it. Arguments: the required programs, of venv browser firefox iptables nginx node.
set -euo pipefail

has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }
has_iptables() { command -v iptables >/dev/null || [ -x /usr/sbin/iptables ]; }
has_browser() { command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }
has_firefox() { [ -n "${FIREFOX:-}" ] || command -v firefox-esr >/dev/null || command -v firefox >/dev/null; }
has_nginx() { [ -x /usr/sbin/nginx ]; }
has_node() { [ -x /usr/lib/cni/bridge ] && [ -x /usr/sbin/iptables ] && command -v mmdebstrap >/dev/null && [ -f /usr/include/seccomp.h ]; }

declare -A packages=([venv]=python3-venv [browser]=chromium-headless-shell [firefox]=firefox-esr [iptables]=iptables [nginx]=nginx-light [node]="containernetworking-plugins iptables mmdebstrap libseccomp-dev")
declare -A names=([venv]="Python's venv module" [browser]='Chromium' [firefox]='Firefox' [iptables]='iptables (for one fault test)' [nginx]='nginx (for one test of the chart)' [node]='what a Kubernetes node needs')

missing=()
for need in "$@"; do
	"has_$need" || missing+=("$need")
done
[ ${#missing[@]} -gt 0 ] || exit 0

wanted=()
for need in "${missing[@]}"; do read -ra these <<<"${packages[$need]}" && wanted+=("${these[@]}"); done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "Installing ${wanted[*]} ..."
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	# The web server for a test is not to run: invoke-rc.d starts nothing in this run level.
	RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
fi

failed=0
for need in "${missing[@]}"; do
	"has_$need" && continue
	failed=1
	echo "Missing: ${names[$need]}. On Debian and Ubuntu: sudo apt-get install ${packages[$need]}" >&2
done
exit $failed
