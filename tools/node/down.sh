#!/usr/bin/env bash
# Ends the node that up.sh started and removes everything that it made.
set -uo pipefail
. "$(dirname "$0")/env.sh"

stop() {
	for name in "$@"; do [ ! -e "$state/$name.pid" ] || kill "$(cat "$state/$name.pid")" 2>/dev/null; done
}
stop kubelet proxy dns controllers scheduler
pkill -f "containerd-shim-runc-v2 .*$run/containerd.sock"
for procs in /sys/fs/cgroup/memory/kubepods /sys/fs/cgroup/kubepods; do
	[ -d $procs ] && find $procs -name cgroup.procs -exec cat {} + | xargs -r kill -9 2>/dev/null
done
stop containerd registry apiserver etcd
kube-proxy --cleanup >/dev/null 2>&1
while mount | awk '{print $3}' | grep -E "^($state|$run)/" | sort -r | xargs -r umount -l 2>/dev/null; mount | grep -qE " ($state|$run)/"; do :; done
for link in $bridge flytepods0; do ip link del $link 2>/dev/null; done
rm -rf "${state:?}" $run
