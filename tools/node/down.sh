#!/usr/bin/env bash
# Ends the node that up.sh started and removes everything that it made.
set -uo pipefail
. "$(dirname "$0")/env.sh"

# stop NAME...: asks each to end, and kills what has not ended after five seconds.
stop() {
	local name pids=()
	for name in "$@"; do [ ! -e "$state/$name.pid" ] || pids+=("$(cat "$state/$name.pid")"); done
	kill "${pids[@]}" 2>/dev/null
	for _ in {1..50}; do
		kill -0 "${pids[@]}" 2>/dev/null || return
		sleep 0.1
	done
	kill -9 "${pids[@]}" 2>/dev/null
}
stop kubelet proxy dns controllers scheduler
pkill -f "containerd-shim-runc-v2 .*$run/containerd.sock"
for procs in /sys/fs/cgroup/memory/kubepods /sys/fs/cgroup/kubepods; do
	[ -d $procs ] && find $procs -name cgroup.procs -exec cat {} + | xargs -r kill -9 2>/dev/null
done
stop containerd registry apiserver etcd
kube-proxy --cleanup >/dev/null 2>&1
# The rules of the bridge for pods: what the CNI plugins leave when pods are killed.
iptables-save 2>/dev/null | grep -v -e CNI- -e KUBE- -e "-s ${pods%0/24}" | iptables-restore 2>/dev/null
while mount | awk '{print $3}' | grep -E "^($state|$run)/" | sort -r | xargs -r umount -l 2>/dev/null; mount | grep -qE " ($state|$run)/"; do :; done
for link in $bridge flytepods0; do ip link del $link 2>/dev/null; done
rm -rf "${state:?}" $run
