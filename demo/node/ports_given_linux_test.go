package node_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// giving starts a node that gives every replica of an app a port.
func giving(t *testing.T, change ...func(*node.Config)) *bundle {
	t.Helper()
	if !shim.GivesPorts() {
		t.Skip("this kernel cannot give a process another port")
	}
	return setup(t, append(change, func(c *node.Config) { c.GivePorts = true })...)
}

// program is a replica that listens on its declared port, answers with its name, and is ready when it does.
func (b *bundle) program(t *testing.T, name, port string, change ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	script := fmt.Sprintf(`exec python3 -c '
import http.server
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"%s")
http.server.ThreadingHTTPServer(("127.0.0.1", %s), Answer).serve_forever()'`, name, port)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	return b.create(t, b.shell(script, append([]func(*corev1.Pod){fixed(t, port), func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt(number)}}, PeriodSeconds: 1, FailureThreshold: 1,
		}
	}}, change...)...))
}

func (b *bundle) ready(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	b.until(t, pod, "ready", func(p *corev1.Pod) bool { return condition(p, corev1.PodReady).Status == corev1.ConditionTrue })
}

// says is what a program answers on a port.
func says(t *testing.T, port string) string {
	t.Helper()
	answer, err := http.Get("http://127.0.0.1:" + port)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

// TestReplicasWithOnePortServeSideBySide: also after a restart of the node, and when a container is started again.
func TestReplicasWithOnePortServeSideBySide(t *testing.T) {
	b := giving(t)
	port := freePort(t)
	pods, ports := map[string]*corev1.Pod{}, map[string]string{}
	check := func() {
		t.Helper()
		for name, pod := range pods {
			b.ready(t, pod)
			require.Equal(t, ports[name], b.givenPort(t, pod))
			require.Equal(t, name, says(t, ports[name]))
		}
	}
	for _, name := range []string{"one", "two", "three"} {
		pods[name] = b.program(t, name, port)
		ports[name] = b.givenPort(t, pods[name])
		require.Equal(t, name == "one", ports[name] == port, "the first one has the port that it has declared")
	}
	check()
	require.Contains(t, b.logs(t, pods["two"], &corev1.PodLogOptions{}), "this program has port "+ports["two"]+" instead")
	b.crash(t)
	b.start(t)
	check()
	b.delete(t, pods["one"], 0)
	b.goneFromAPI(t, pods["one"])
	delete(pods, "one")
	pods["four"] = b.program(t, "four", port)
	ports["four"] = b.givenPort(t, pods["four"])
	check()
}

// TestAProbeByCommandFindsItsContainer: at the port at which the container finds itself, where another program is.
func TestAProbeByCommandFindsItsContainer(t *testing.T) {
	b := giving(t)
	port := freePort(t)
	first := b.program(t, "one", port)
	b.ready(t, first)
	out := filepath.Join(t.TempDir(), "answer")
	second := b.program(t, "two", port, func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{
			"python3", "-c", `import sys, urllib.request; open(sys.argv[1], "wb").write(urllib.request.urlopen("http://localhost:" + sys.argv[2]).read() + b"\n")`, out, port,
		}}}
		p.Spec.Containers[0].ReadinessProbe.TimeoutSeconds = 30
	})
	b.ready(t, second)
	require.Equal(t, "two", content(t, out))
}

// TestContainersOfAPodFindEachOther: a sidecar reaches the program at its declared port, as in a network of the pod's own.
func TestContainersOfAPodFindEachOther(t *testing.T) {
	b := giving(t)
	port := freePort(t)
	b.ready(t, b.program(t, "one", port))
	out := filepath.Join(t.TempDir(), "answer")
	b.ready(t, b.program(t, "two", port, func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: "beside", Image: p.Spec.Containers[0].Image, Command: []string{"python3", "-c", `
import sys, time, urllib.request
while True:
    try:
        text = urllib.request.urlopen("http://localhost:" + sys.argv[2]).read()
        break
    except OSError:
        time.sleep(0.05)
open(sys.argv[1], "wb").write(text + b"\n")
time.sleep(1000)`, out, port},
		})
	}))
	require.Equal(t, "two", content(t, out))
}

// TestNoAppHasThePortOfTheDemo: its tasks and apps reach the server there.
func TestNoAppHasThePortOfTheDemo(t *testing.T) {
	port := freePort(t)
	occupy(t, port)
	b := giving(t, func(c *node.Config) { c.Endpoint = "localhost:" + port })
	b.portTaken(t, b.program(t, "one", port), "port "+port+" is taken by this demo")
}

// TestTheAppThatHasThePortIsNamed: where ports cannot be given, the message names what people know.
func TestTheAppThatHasThePortIsNamed(t *testing.T) {
	b := setup(t)
	port := freePort(t)
	b.running(t, b.create(t, b.shell("exec sleep 100", fixed(t, port), func(p *corev1.Pod) { p.Annotations["flyte.org/app-id"] = "flytesnacks/development/first" })))
	second := b.create(t, b.shell("exec sleep 100", fixed(t, port)))
	message := b.portTaken(t, second, "app flytesnacks/development/first")
	require.NotContains(t, message, "pod ")
	require.Contains(t, message, "AppEnvironment(port=...)")
}
