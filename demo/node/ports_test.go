package node_test

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// freePort returns a free port below the ephemeral range, so that the kernel does not assign it to another program.
func freePort(t testing.TB) string {
	t.Helper()
	for {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		if listener, err := net.Listen("tcp4", "0.0.0.0:"+port); err == nil {
			require.NoError(t, listener.Close())
			return port
		}
	}
}

// occupy listens on a port until the test ends, or before.
func occupy(t testing.TB, port string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:"+port)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// takes makes a pod one that takes its port from the environment and has declared one.
func takes(port string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{"node.flyte.org/takes-port": "main", "flyte.org/app-port": port}
	}
}

// fixed declares a port that the pod's program cannot change.
func fixed(t testing.TB, port string) func(*corev1.Pod) {
	t.Helper()
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{"flyte.org/app-port": port}
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: int32(number)}}
	}
}

// givenPort waits for the port that the node says it has given.
func (b *bundle) givenPort(t testing.TB, pod *corev1.Pod) string {
	t.Helper()
	return b.until(t, pod, "one with a port", func(p *corev1.Pod) bool { return p.Annotations["node.flyte.org/port"] != "" }).Annotations["node.flyte.org/port"]
}

// portTaken waits until a pod waits for its port, and returns what it says.
func (b *bundle) portTaken(t testing.TB, pod *corev1.Pod, words string) string {
	t.Helper()
	var message string
	b.until(t, pod, "one that waits for its port", func(p *corev1.Pod) bool {
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Waiting == nil {
			return false
		}
		waiting := p.Status.ContainerStatuses[0].State.Waiting
		message = waiting.Message
		return waiting.Reason == "PortTaken" && strings.Contains(message, words)
	})
	return message
}

const tellPort = "echo $PORT $_F_APPLE_SILICON_HOST_PORT $_F_APPLE_SILICON_ON_HOST >"

func TestAPodTakesItsDeclaredPortIfItIsFree(t *testing.T) {
	b := setup(t)
	out, port := filepath.Join(t.TempDir(), "port"), freePort(t)
	pod := b.create(t, b.shell(tellPort+out+"; exec sleep 100", takes(port)))
	require.Equal(t, port+" "+port+" 1", content(t, out))
	require.Equal(t, port, b.givenPort(t, pod))
}

func TestAPodTakesAnotherPortIfItsOwnIsTaken(t *testing.T) {
	b := setup(t)
	out, listener := filepath.Join(t.TempDir(), "port"), occupy(t, "0")
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	pod := b.create(t, b.shell(tellPort+out+"; exec sleep 100", takes(port)))
	given := b.givenPort(t, pod)
	require.NotEqual(t, port, given)
	require.Equal(t, given+" "+given+" 1", content(t, out))
}

// Requests for an app that has ended do not reach another one: its port is left alone, until it comes back.
func TestAPodDoesNotTakeThePortThatAnotherAppHad(t *testing.T) {
	b := setup(t)
	port := freePort(t)
	given := func(app string) string {
		pod := b.create(t, b.shell("exec sleep 100", takes(port), func(p *corev1.Pod) { p.Annotations["flyte.org/app-id"] = "p/d/" + app }))
		taken := b.givenPort(t, pod)
		b.delete(t, pod, 0)
		b.goneFromAPI(t, pod)
		return taken
	}
	require.Equal(t, port, given("one"))
	require.NotEqual(t, port, given("two"))
	require.Equal(t, port, given("one"))
}

// Only the container that the annotation names is given a port.
func TestOtherContainersKeepTheirPort(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.create(t, b.shell("echo -$PORT- >"+dir+"/main; exec sleep 100", takes(freePort(t)), func(p *corev1.Pod) {
		other := p.Spec.Containers[0]
		other.Name, other.Command = "other", []string{"sh", "-c", "echo -$PORT- >" + dir + "/other; exec sleep 100"}
		p.Spec.Containers = append(p.Spec.Containers, other)
	}))
	require.Equal(t, "--", content(t, dir+"/other"))
	require.Equal(t, "-"+b.givenPort(t, pod)+"-", content(t, dir+"/main"))
}

// TestAPortIsInTheEnvironment: the variables, those that refer to them, and the command all have the port that the pod was given.
func TestAPortIsInTheEnvironment(t *testing.T) {
	b := setup(t)
	declared := freePort(t)
	occupy(t, declared)
	pod := b.run(t, b.shell("", takes(declared), func(p *corev1.Pod) {
		p.Spec.Containers[0].Command = []string{"sh", "-c", `echo "$0 $PORT $_F_APPLE_SILICON_HOST_PORT $ADDRESS"`, "$(PORT)"}
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PORT", Value: declared}, {Name: "ADDRESS", Value: "host:$(PORT)"}}
	}))
	given := pod.Annotations["node.flyte.org/port"]
	require.NotEqual(t, declared, given)
	require.Equal(t, given+" "+given+" "+given+" host:"+given, strings.TrimSpace(b.logs(t, pod, &corev1.PodLogOptions{})))
}

// Programs that do not listen yet have their ports already.
func TestPodsOfOneDeclaredPortGetDifferentOnes(t *testing.T) {
	b := setup(t)
	port := freePort(t)
	var pods []*corev1.Pod
	for range 6 {
		pods = append(pods, b.create(t, b.shell("exec sleep 100", takes(port))))
	}
	given := map[string]bool{}
	for _, pod := range pods {
		given[b.givenPort(t, pod)] = true
	}
	require.Len(t, given, len(pods))
	require.True(t, given[port], "one of them has the declared one")
}

func TestAContainerThatIsStartedAgainKeepsItsPort(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	occupied := occupy(t, "0")
	_, port, err := net.SplitHostPort(occupied.Addr().String())
	require.NoError(t, err)
	pod := b.run(t, b.shell("echo $PORT >>"+dir+"/ports; [ $(wc -l <"+dir+"/ports) = 3 ]", takes(port), func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}))
	ports := strings.Fields(content(t, dir+"/ports"))
	given := b.givenPort(t, pod)
	require.Equal(t, []string{given, given, given}, ports)
}

// The node ends before it has written which port it gave. The next one knows it.
func TestARestartKnowsThePortOfAProcess(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.RunningDelay = time.Hour })
	out := filepath.Join(t.TempDir(), "port")
	pod := b.create(t, b.shell("echo $PORT >"+out+"; exec sleep 100", takes(freePort(t))))
	port := content(t, out)
	b.crash(t)
	found, err := b.client.CoreV1().Pods(b.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NotContains(t, found.Annotations, "node.flyte.org/port")
	b.cfg.RunningDelay = 0
	b.start(t)
	require.Equal(t, port, b.givenPort(t, pod))
}

func TestAPortThatAnotherProgramHasIsWaitedFor(t *testing.T) {
	b := setup(t)
	port := freePort(t)
	listener := occupy(t, port)
	pod := b.create(t, b.shell("exec sleep 100", fixed(t, port)))
	message := b.portTaken(t, pod, "another program of this machine")
	require.Contains(t, message, "port "+port+" is taken")
	require.Contains(t, message, "give one of them another port")
	require.Contains(t, b.event(t, pod, "Failed"), "port "+port+" is taken by another program of this machine")
	require.NoError(t, listener.Close())
	require.NotNil(t, b.running(t, pod).Status.ContainerStatuses[0].State.Running)
}

// A pod that declares its port elsewhere, or has none, needs no free port.
func TestAPortThatNoContainerDeclaresIsNotWaitedFor(t *testing.T) {
	b := setup(t)
	listener := occupy(t, "0")
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	pod := b.create(t, b.shell("exec sleep 100", func(p *corev1.Pod) { p.Annotations = map[string]string{"flyte.org/app-port": port} }))
	b.running(t, pod)
}

// Of several pods with one port, the others wait for the one that runs, although it does not listen yet, and say its name.
func TestAPortThatAnotherPodHasIsWaitedFor(t *testing.T) {
	b := setup(t)
	port := freePort(t)
	pods := map[string]*corev1.Pod{}
	for range 4 {
		pod := b.create(t, b.shell("exec sleep 100", fixed(t, port)))
		pods[pod.Name] = pod
	}
	for len(pods) > 0 {
		var owner *corev1.Pod
		require.Eventually(t, func() bool {
			owner = nil
			for _, pod := range pods {
				found, err := b.client.CoreV1().Pods(b.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
				require.NoError(t, err)
				if found.Status.Phase == corev1.PodRunning {
					require.Nil(t, owner, "only one has the port")
					owner = found
				}
			}
			return owner != nil
		}, 30*time.Second, 5*time.Millisecond)
		delete(pods, owner.Name)
		for _, pod := range pods {
			b.portTaken(t, pod, "is taken by pod "+b.namespace+"/"+owner.Name+".")
		}
		b.delete(t, owner, 0)
	}
}

// A pod that was given another port than the one that it has declared has not got that.
func TestWhoDoesNotHaveThePortIsNotNamed(t *testing.T) {
	b := setup(t)
	port := freePort(t)
	listener := occupy(t, port)
	other := b.create(t, b.shell("exec sleep 100", takes(port)))
	require.NotEqual(t, port, b.givenPort(t, other))
	pod := b.create(t, b.shell("exec sleep 100", fixed(t, port)))
	b.portTaken(t, pod, "another program of this machine")
	require.NoError(t, listener.Close())
	b.running(t, pod)
}

func TestAPortIsHeldAcrossARestartOfTheNode(t *testing.T) {
	b := setup(t)
	port := freePort(t)
	first := b.running(t, b.create(t, b.shell("exec sleep 100", fixed(t, port))))
	b.crash(t)
	second := b.create(t, b.shell("exec sleep 100", fixed(t, port)))
	b.start(t)
	b.portTaken(t, second, "pod "+b.namespace+"/"+first.Name)
	b.delete(t, first, 0)
	b.running(t, second)
}

func TestAPodThatWaitsForItsPortCanBeDeleted(t *testing.T) {
	b := setup(t)
	port := freePort(t)
	occupy(t, port)
	pod := b.create(t, b.shell("exec sleep 100", fixed(t, port)))
	b.portTaken(t, pod, "another program")
	b.delete(t, pod, 30)
	b.goneFromAPI(t, pod)
}

// TestAnotherProgramOnThePortMakesNoPodReady: it may take the port between the check of the node and the start of the program.
func TestAnotherProgramOnThePortMakesNoPodReady(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("who listens is known on Linux only")
	}
	b := setup(t)
	port := freePort(t)
	dir := t.TempDir()
	program := `while [ ! -e ` + dir + `/listen ]; do sleep 0.01; done; exec python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", ` + port + `)); time.sleep(100)'`
	pod := b.create(t, b.shell(program, fixed(t, port), func(p *corev1.Pod) {
		number, err := strconv.Atoi(port)
		require.NoError(t, err)
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(number)}}}
	}))
	b.running(t, pod)
	other := occupy(t, port)
	for range 3 { // the first two have been judged when the third one comes
		conn, err := other.Accept()
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	found, err := b.client.CoreV1().Pods(b.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, corev1.ConditionFalse, condition(found, corev1.PodReady).Status)
	require.NoError(t, other.Close())
	touch(t, dir+"/listen")
	b.until(t, pod, "ready", func(p *corev1.Pod) bool { return condition(p, corev1.PodReady).Status == corev1.ConditionTrue })
}

// Readiness and its loss reach the API, and outlive a restart of the node.
func TestProbesDecideWhetherAPodIsReady(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusServiceUnavailable)
	x := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer x.Close()
	b := setup(t)
	pod := b.create(t, b.shell("exec sleep 100", func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt(x.Listener.Addr().(*net.TCPAddr).Port)}},
			PeriodSeconds: 1, FailureThreshold: 1,
		}
	}))
	is := func(want corev1.ConditionStatus) {
		t.Helper()
		b.until(t, pod, "ready: "+string(want), func(p *corev1.Pod) bool {
			return p.Status.Phase == corev1.PodRunning && condition(p, corev1.PodReady).Status == want && p.Status.ContainerStatuses[0].Ready == (want == corev1.ConditionTrue)
		})
	}
	is(corev1.ConditionFalse)
	status.Store(http.StatusOK)
	is(corev1.ConditionTrue)
	b.crash(t)
	b.start(t)
	is(corev1.ConditionTrue)
	status.Store(http.StatusServiceUnavailable)
	is(corev1.ConditionFalse)
	b.crash(t)
	b.start(t)
	status.Store(http.StatusOK)
	is(corev1.ConditionTrue)
}

// A container that its liveness probe ends is started again, and is not ready until its new process is.
func TestAContainerThatDoesNotLiveIsStartedAgain(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/live", nil, 0o600))
	pod := b.create(t, b.shell("echo $$ >>"+dir+"/pids; exec sleep 100", func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyAlways
		p.Spec.Containers[0].LivenessProbe = &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-e", dir + "/live"}}}, PeriodSeconds: 1, FailureThreshold: 1,
		}
	}))
	b.running(t, pod)
	first := content(t, dir+"/pids")
	require.NoError(t, os.Remove(dir+"/live"))
	require.Contains(t, b.event(t, pod, "Unhealthy"), "liveness")
	touch(t, dir+"/live")
	b.until(t, pod, "started again", func(p *corev1.Pod) bool {
		return p.Status.ContainerStatuses[0].RestartCount > 0 && p.Status.ContainerStatuses[0].State.Running != nil
	})
	require.False(t, alive(t, first))
}
