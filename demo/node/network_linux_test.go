package node_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// talking is a program of a pod that listens at all addresses, where all of them do, tells what the other one sends and from where,
// and sends its own name and what it finds at 127.0.0.1.
const talking = `exec python3 -c '
import os, socket, threading, time
other, port = os.environ["OTHER"], int(os.environ["PORT_OF_ALL"])
def first(to):
    while True:
        try:
            return socket.create_connection((to, port))
        except OSError:
            time.sleep(0.02)
with socket.create_server(("", port)) as server:
    def say(to, word):
        with first(to) as peer:
            peer.sendall(word.encode())
    threads = [threading.Thread(target=say, args=(other, os.environ["NAME"])), threading.Thread(target=say, args=("127.0.0.1", "a self"))]
    [t.start() for t in threads]
    heard = []
    for _ in threads:
        peer, where = server.accept()
        heard.append(peer.recv(100).decode() + "@" + where[0])
    print(" ".join(sorted(heard)), os.environ["IP"], socket.gethostbyname(socket.gethostname()), flush=True)
    [t.join() for t in threads]
'`

// TestPodsHaveAddressesAndNamesOfTheirOwn: two pods listen on the same port at the same time and find each other by name.
func TestPodsHaveAddressesAndNamesOfTheirOwn(t *testing.T) {
	if !shim.GivesPorts() || !shim.GivesNames() {
		t.Skip("this system gives a process no address and names of its own")
	}
	b := setup(t, func(c *node.Config) { c.GivePorts, c.GiveNames = true, true })
	port := freePort(t)
	addresses := map[string]string{"one": "127.79.3.1", "two": "127.79.3.2"}
	pods := map[string]*corev1.Pod{}
	for name, other := range map[string]string{"one": "two", "two": "one"} {
		pods[name] = b.create(t, b.shell(talking, func(p *corev1.Pod) {
			p.Annotations = map[string]string{"node.flyte.org/address": addresses[name]}
			p.Spec.HostAliases = []corev1.HostAlias{{IP: addresses[other], Hostnames: []string{other + ".set.example"}}}
			p.Spec.Containers[0].Env = []corev1.EnvVar{
				{Name: "OTHER", Value: other + ".set.example"}, {Name: "NAME", Value: name}, {Name: "PORT_OF_ALL", Value: port},
				{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			}
		}))
	}
	for name, other := range map[string]string{"one": "two", "two": "one"} {
		ended := b.ended(t, pods[name])
		log := b.logs(t, ended, &corev1.PodLogOptions{})
		require.Equal(t, corev1.PodSucceeded, ended.Status.Phase, log)
		require.Equal(t, addresses[name], ended.Status.PodIP)
		heard := []string{"a self@127.0.0.1", other + "@" + addresses[other], addresses[name], addresses[name]}
		require.Equal(t, strings.Join(heard, " "), strings.TrimSpace(log))
		require.Contains(t, condition(ended, "flyte.org/Notice").Message, "cluster of processes on this machine")
	}
}
