#!/usr/bin/env bash
# Starts a Kubernetes cluster of one node on this machine, with a real kubelet and containerd: etcd, the API server with its
# controllers and scheduler, kube-proxy, CoreDNS, a bridge for pods and a registry. Linux and root only. Logs are in $state/log.
set -euo pipefail
. "$(dirname "$0")/env.sh"
[ "$(id -u)" = 0 ] || { echo "A node needs root: it makes namespaces, mounts and network interfaces." >&2; exit 1; }
[ ! -e "$state/kubelet.pid" ] || { echo "A node runs already or was not stopped: make node-down" >&2; exit 1; }
mkdir -p "$state"/{log,pki,registry,cni,hosts} "$run"
cd "$state"

ip link add $bridge type bridge
ip addr add $address/24 dev $bridge
ip link set $bridge up
sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1

# Where the kernel has no nf_tables, iptables has to be the older one.
if ! iptables -t nat -L >/dev/null 2>&1; then
	for name in {iptables,ip6tables}{,-save,-restore}; do ln -sf "/usr/sbin/${name/tables/tables-legacy}" "$programs/$name"; done
fi

# start NAME COMMAND...: the pid is in NAME.pid, the output in log/NAME.
start() {
	local name=$1
	shift
	setsid "$@" >"log/$name" 2>&1 </dev/null &
	echo $! >"$name.pid"
}

until_ok() { # SECONDS WHAT COMMAND...
	local deadline=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt "$deadline" ] || { echo "Gave up waiting for $what; see $state/log" >&2; exit 1; }
		sleep 0.3
	done
}

# Keys. The API server signs nothing: its clients have tokens.
openssl genrsa -out pki/accounts.key 2048 2>/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -keyout pki/ca.key -out pki/ca.crt -days 30 -subj /CN=flyte-node 2>/dev/null
certificate() { # NAME SUBJECT EXTENSIONS
	openssl req -newkey rsa:2048 -nodes -keyout "pki/$1.key" -out "pki/$1.csr" -subj "$2" 2>/dev/null
	openssl x509 -req -in "pki/$1.csr" -CA pki/ca.crt -CAkey pki/ca.key -CAcreateserial -days 30 -extfile <(echo "$3") -out "pki/$1.crt" 2>/dev/null
}
certificate apiserver /CN=kube-apiserver "subjectAltName=IP:$address,IP:10.96.0.1,DNS:kubernetes.default.svc"
certificate to-kubelet /O=system:masters/CN=kube-apiserver extendedKeyUsage=clientAuth
user() { # NAME USER GROUP
	local token
	token=$(openssl rand -hex 16)
	echo "$token,$2,$1,\"$3\"" >>pki/tokens.csv
	cat >"$1.kubeconfig" <<-END
		apiVersion: v1
		kind: Config
		clusters: [{name: node, cluster: {server: "https://$address:6443", certificate-authority: $state/pki/ca.crt}}]
		users: [{name: $1, user: {token: $token}}]
		contexts: [{name: node, context: {cluster: node, user: $1}}]
		current-context: node
	END
}
for name in admin controllers scheduler proxy dns; do user $name $name system:masters; done
user kubelet system:node:node1 system:nodes

start etcd etcd --data-dir "$state/etcd" --listen-client-urls http://$address:2379 --advertise-client-urls http://$address:2379 \
	--listen-peer-urls http://$address:2380 --initial-advertise-peer-urls http://$address:2380 --initial-cluster default=http://$address:2380
start apiserver kube-apiserver --etcd-servers http://$address:2379 --bind-address $address --advertise-address $address \
	--tls-cert-file pki/apiserver.crt --tls-private-key-file pki/apiserver.key --client-ca-file pki/ca.crt --token-auth-file pki/tokens.csv \
	--authorization-mode Node,RBAC --service-account-issuer https://kubernetes.default.svc --service-account-key-file pki/accounts.key \
	--service-account-signing-key-file pki/accounts.key --service-cluster-ip-range $services --allow-privileged \
	--kubelet-client-certificate pki/to-kubelet.crt --kubelet-client-key pki/to-kubelet.key --kubelet-preferred-address-types InternalIP
until_ok 120 "the API server" kubectl get --raw /readyz
start controllers kube-controller-manager --kubeconfig controllers.kubeconfig --service-account-private-key-file pki/accounts.key \
	--root-ca-file pki/ca.crt --use-service-account-credentials --leader-elect=false --bind-address $address
start scheduler kube-scheduler --kubeconfig scheduler.kubeconfig --leader-elect=false --bind-address $address

# Images come from the registry below, also those of the public registries: images.sh fills it.
start registry env PORT=5000 crane registry serve --address $registry --disk "$state/registry"
for host in docker.io ghcr.io $registry; do
	mkdir -p "hosts/$host"
	printf '[host."http://%s"]\n  capabilities = ["pull", "resolve"]\n' $registry >"hosts/$host/hosts.toml"
done
cat >cni/pods.conflist <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "flytepods0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
# Machines that are virtual themselves often refuse to lower a process's oom_score_adj.
cat >containerd.toml <<END
version = 3
root = "$state/containerd"
state = "$run/containerd"
[grpc]
  address = "$run/containerd.sock"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "$registry/pause:1"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "$state/hosts"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "$state/cni"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
END
start containerd containerd --config containerd.toml
until_ok 60 containerd ctr --address "$run/containerd.sock" version

cat >kubelet.yaml <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $address
healthzBindAddress: $address
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $state/pki/ca.crt}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://$run/containerd.sock
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
clusterDNS: [$address]
clusterDomain: cluster.local
maxPods: 200
evictionHard: {memory.available: 100Mi, nodefs.available: 2%, imagefs.available: 2%}
END
start kubelet kubelet --config kubelet.yaml --kubeconfig kubelet.kubeconfig --hostname-override node1 --node-ip $address --root-dir "$state/kubelet"
start proxy kube-proxy --kubeconfig proxy.kubeconfig --proxy-mode iptables --cluster-cidr $pods --hostname-override node1 \
	--conntrack-max-per-core 0 --metrics-bind-address $address:10249 --healthz-bind-address $address:10256
cat >Corefile <<END
. {
  bind $address
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $state/dns.kubeconfig
  }
  forward . /etc/resolv.conf
  cache 5
}
END
start dns coredns -conf Corefile
until_ok 60 "the node" kubectl wait --for condition=Ready node/node1 --timeout 1s

# Volumes for the chart's trial: no provisioner runs here.
kubectl apply -f - <<END >/dev/null
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
END
for n in 1 2; do
	mkdir -p -m 777 "$state/volumes/$n"
	chmod 777 "$state/volumes/$n"
	kubectl apply -f - <<-END >/dev/null
		apiVersion: v1
		kind: PersistentVolume
		metadata: {name: volume-$n}
		spec: {capacity: {storage: 20Gi}, accessModes: [ReadWriteOnce], storageClassName: standard, hostPath: {path: $state/volumes/$n}}
	END
done
kubectl get nodes -o wide
echo "export KUBECONFIG=$KUBECONFIG PATH=$programs:\$PATH"
