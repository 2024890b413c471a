package node

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"

	"github.com/flyte-binary/flyte-binary/demo/node/process"
	_ "github.com/flyte-binary/flyte-binary/demo/node/shim/early" // this binary is the shim, too
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// probing is a container with probes and a real process, on a clock that the test moves.
type probing struct {
	t      *testing.T
	clk    *clock.Fake
	events *record.FakeRecorder
	w      *worker
	c      *container
	p      *process.Process
}

// probing starts a script as the process of a container. The clock shows the time at which the process started, and age more.
func newProbing(t *testing.T, script string, age time.Duration, spec corev1.Container) *probing {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	launcher := process.Launcher{Executable: executable, MemoryInterval: time.Hour}
	dir := t.TempDir()
	command := process.Command{
		ID: t.Name(), Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: dir,
		Env: []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "WORD=yes"},
	}
	p, err := launcher.Start(t.TempDir(), command)
	require.NoError(t, err)
	<-p.Started()
	clk := clock.NewFake(p.State().StartedAt.Add(time.Microsecond + age)) // a Fake has no nanoseconds
	ctx, cancel := context.WithCancel(t.Context())
	n := &Node{
		cfg: Config{Address: "127.0.0.1", DataDir: t.TempDir()}, clk: clk, log: zerolog.New(zerolog.NewTestWriter(t)), ctx: ctx,
		recorder: record.NewFakeRecorder(100),
	}
	spec.Name = "main"
	w := newWorker(n, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "uid"}, Spec: corev1.PodSpec{Containers: []corev1.Container{spec}}})
	c := w.containers[0]
	c.proc, c.command = p, &command
	g := &probing{t: t, clk: clk, events: n.recorder.(*record.FakeRecorder), w: w, c: c, p: p}
	t.Cleanup(func() {
		cancel()
		p.Kill()
		<-p.Done()
		n.live.Wait()
	})
	return g
}

// waits is a process that does nothing and ends on SIGTERM.
const waits = "exec sleep 1000"

// begin follows the process as the node does.
func (g *probing) begin() {
	g.w.n.live.Go(func() { g.w.await(g.w.n.ctx, g.c, g.p) })
}

// settle waits until that many probes have been made since the clock was moved, and wait for their next time.
func (g *probing) settle(probes int) {
	g.t.Helper()
	require.Eventually(g.t, func() bool { return g.clk.Timers() == probes }, time.Minute, time.Millisecond)
}

// step moves the clock, and waits for the one probe if it is due.
func (g *probing) step(d time.Duration) {
	g.t.Helper()
	g.clk.Step(d)
	g.settle(1)
}

func (g *probing) ready() bool {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	return g.w.containerStatus(g.c).Ready
}

// killed waits for the end of the process and returns why the node ended it.
func (g *probing) killed() string {
	g.t.Helper()
	<-g.p.Done()
	select {
	case event := <-g.events.Events:
		return event
	default:
		return "no event"
	}
}

// target is a program that listens when the test says so. Its port is its own from the start.
type target struct {
	t    *testing.T
	file int
	port int
}

func newTarget(t *testing.T) *target {
	t.Helper()
	file, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	syscall.CloseOnExec(file)
	x := &target{t: t, file: file}
	t.Cleanup(x.close)
	require.NoError(t, syscall.Bind(file, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(file)
	require.NoError(t, err)
	x.port = name.(*syscall.SockaddrInet4).Port
	return x
}

// listen accepts connections from now on; the kernel keeps them.
func (x *target) listen() {
	x.t.Helper()
	require.NoError(x.t, syscall.Listen(x.file, 128))
}

func (x *target) close() {
	if x.file >= 0 {
		_ = syscall.Close(x.file)
		x.file = -1
	}
}

func tcp(port int) corev1.ProbeHandler {
	return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}
}

func command(line ...string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: line}}
}

func TestAContainerWithoutProbesIsReadyAtOnce(t *testing.T) {
	g := newProbing(t, waits, 0, corev1.Container{})
	g.begin()
	require.Eventually(t, g.ready, time.Minute, time.Millisecond)
	require.Zero(t, g.clk.Timers())
}

func TestReadinessByTCP(t *testing.T) {
	x := newTarget(t)
	g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: tcp(x.port), PeriodSeconds: 3, FailureThreshold: 2}})
	g.begin()
	g.settle(1)
	require.False(t, g.ready(), "nothing listens")
	g.step(100 * time.Millisecond)
	require.False(t, g.ready())
	x.listen()
	g.step(99 * time.Millisecond)
	require.False(t, g.ready(), "the next probe is not due")
	g.step(time.Millisecond)
	require.True(t, g.ready(), "probed every 100 ms until the first success")
	x.close()
	g.step(3 * time.Second)
	require.True(t, g.ready(), "one failure of two")
	g.step(2999 * time.Millisecond)
	require.True(t, g.ready(), "the next probe is not due")
	g.step(time.Millisecond)
	require.False(t, g.ready())
}

// A gRPC probe only connects: this server speaks no gRPC.
func TestReadinessByGRPCOnlyConnects(t *testing.T) {
	x := newTarget(t)
	g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: int32(x.port)}}}})
	g.begin()
	g.settle(1)
	require.False(t, g.ready())
	x.listen()
	g.step(100 * time.Millisecond)
	require.True(t, g.ready())
}

func TestThresholdsOfReadiness(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusServiceUnavailable)
	x := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer x.Close()
	g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{
		ProbeHandler: httpGet(x, "/", nil), PeriodSeconds: 5, SuccessThreshold: 2, FailureThreshold: 3,
	}})
	answers := func(code int, after time.Duration) bool {
		t.Helper()
		status.Store(int32(code))
		g.step(after)
		return g.ready()
	}
	g.begin()
	g.settle(1)
	const eager, period = 100 * time.Millisecond, 5 * time.Second
	require.False(t, answers(200, eager), "one success of two")
	require.False(t, answers(500, eager))
	require.False(t, answers(200, eager), "successes count in a row")
	require.True(t, answers(200, eager))
	for range 3 {
		require.True(t, answers(500, period))
		require.True(t, answers(500, period))
		require.True(t, answers(200, period), "failures count in a row")
	}
	require.True(t, answers(500, period))
	require.True(t, answers(500, period))
	require.False(t, answers(500, period))
	require.False(t, answers(200, period))
	require.True(t, answers(200, period))
}

func httpGet(x *httptest.Server, path string, headers []corev1.HTTPHeader) corev1.ProbeHandler {
	address := x.Listener.Addr().(*net.TCPAddr)
	scheme := corev1.URISchemeHTTP
	if x.TLS != nil {
		scheme = corev1.URISchemeHTTPS
	}
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt(address.Port), Scheme: scheme, HTTPHeaders: headers}}
}

func TestReadinessByHTTP(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		ready  bool
	}{
		"200": {status(200), true},
		"204": {status(204), true},
		"304": {status(304), true},
		"399": {status(399), true},
		"400": {status(400), false},
		"401": {status(401), false},
		"404": {status(404), false},
		"500": {status(500), false},
		"a redirect of the same host is followed": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/probe" {
				http.Redirect(w, r, "/broken", http.StatusFound)
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
		}, false},
		"a redirect to another host is a success": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://login.invalid/", http.StatusFound)
		}, true},
		"redirects without end": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/probe", http.StatusFound) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := httptest.NewServer(http.HandlerFunc(tc.answer))
			defer x.Close()
			g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: httpGet(x, "/probe", nil)}})
			g.begin()
			g.settle(1)
			require.Equal(t, tc.ready, g.ready())
		})
	}
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestWhatAnHTTPProbeSends(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{"plain": httptest.NewServer, "TLS": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			got := make(chan *http.Request, 1)
			x := start(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r }))
			defer x.Close()
			g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: httpGet(x, "health?deep=1", []corev1.HTTPHeader{
				{Name: "Host", Value: "app.example.com"}, {Name: "X-Word", Value: "one"}, {Name: "X-Word", Value: "two"},
			})}})
			g.begin()
			g.settle(1)
			require.True(t, g.ready())
			r := <-got
			require.Equal(t, http.MethodGet, r.Method)
			require.Equal(t, "/health?deep=1", r.URL.String())
			require.Equal(t, "app.example.com", r.Host)
			require.Equal(t, []string{"one", "two"}, r.Header.Values("X-Word"))
		})
	}
}

func TestReadinessByCommand(t *testing.T) {
	g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: command("check", "--deep")}})
	script := "#!/bin/sh\n[ \"$1\" = --deep ] && [ \"$WORD\" = yes ] && [ -e here ]\n"
	require.NoError(t, os.WriteFile(filepath.Join(g.c.command.Dir, "check"), []byte(script), 0o700))
	g.begin()
	g.settle(1)
	require.False(t, g.ready())
	require.NoError(t, os.WriteFile(filepath.Join(g.c.command.Dir, "here"), nil, 0o600))
	g.step(100 * time.Millisecond)
	require.True(t, g.ready(), "it has the variables, the PATH and the directory of the container")
}

func TestACommandThatDoesNotExistFails(t *testing.T) {
	g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: command("no-such-command")}})
	g.begin()
	g.settle(1)
	require.False(t, g.ready())
}

// What a command has started ends with it when it takes too long.
func TestACommandThatHangsIsEnded(t *testing.T) {
	g := newProbing(t, waits, 0, corev1.Container{
		LivenessProbe: &corev1.Probe{ProbeHandler: command("sh", "-c", "echo $$ >pid; sleep 1000; exit 0"), TimeoutSeconds: 1, FailureThreshold: 1, PeriodSeconds: 1},
	})
	g.begin()
	g.settle(1)
	g.clk.Step(time.Second)
	require.Contains(t, g.killed(), "the command sh did not end in time")
	raw, err := os.ReadFile(filepath.Join(g.c.command.Dir, "pid"))
	require.NoError(t, err)
	group, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }, time.Minute, time.Millisecond)
}

// Readiness and liveness begin to count with the first success of the startup probe.
func TestStartupComesFirst(t *testing.T) {
	start, other := newTarget(t), newTarget(t)
	g := newProbing(t, waits, 0, corev1.Container{
		StartupProbe:   &corev1.Probe{ProbeHandler: tcp(start.port), PeriodSeconds: 10, FailureThreshold: 30},
		ReadinessProbe: &corev1.Probe{ProbeHandler: tcp(start.port)},
		LivenessProbe:  &corev1.Probe{ProbeHandler: tcp(other.port), PeriodSeconds: 10, FailureThreshold: 1},
	})
	g.begin()
	g.settle(1)
	g.step(299 * time.Second) // no one asks whether it lives
	require.False(t, g.ready())
	start.listen()
	g.clk.Step(100 * time.Millisecond)
	g.settle(2)
	require.True(t, g.ready())
	g.clk.Step(10 * time.Second)
	require.Contains(t, g.killed(), "liveness probe")
}

func TestASuccessfulStartupIsReadyWithoutAReadinessProbe(t *testing.T) {
	x := newTarget(t)
	g := newProbing(t, waits, 0, corev1.Container{StartupProbe: &corev1.Probe{ProbeHandler: tcp(x.port)}})
	g.begin()
	g.settle(1)
	require.False(t, g.ready())
	x.listen()
	g.clk.Step(100 * time.Millisecond)
	require.Eventually(t, g.ready, time.Minute, time.Millisecond)
}

func TestAStartThatTakesTooLongIsEnded(t *testing.T) {
	x := newTarget(t)
	g := newProbing(t, waits, 0, corev1.Container{StartupProbe: &corev1.Probe{ProbeHandler: tcp(x.port), InitialDelaySeconds: 5, PeriodSeconds: 10, FailureThreshold: 2}})
	g.begin()
	g.settle(1)
	g.step(5 * time.Second)
	g.step(20 * time.Second)
	require.False(t, closed(g.p.Done()))
	g.clk.Step(100 * time.Millisecond)
	require.Contains(t, g.killed(), "Container main failed its startup probe and is stopped")
}

func TestAProcessThatDoesNotAnswerIsEnded(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusInternalServerError)
	x := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer x.Close()
	g := newProbing(t, waits, 0, corev1.Container{LivenessProbe: &corev1.Probe{
		ProbeHandler: httpGet(x, "/", nil), InitialDelaySeconds: 20, PeriodSeconds: 5, FailureThreshold: 2,
	}})
	g.begin()
	g.settle(1)
	require.True(t, g.ready(), "liveness is not readiness")
	g.step(25 * time.Second) // one failure
	status.Store(http.StatusOK)
	g.step(5 * time.Second)
	status.Store(http.StatusInternalServerError)
	g.step(5 * time.Second)
	require.False(t, closed(g.p.Done()), "one failure since the last success")
	g.clk.Step(5 * time.Second)
	event := g.killed()
	require.Contains(t, event, "Container main failed its liveness probe and is stopped")
	require.Contains(t, event, "500 Internal Server Error")
}

// A process that does not end on SIGTERM is killed after the grace period of its pod.
func TestAStubbornProcessIsKilled(t *testing.T) {
	x := newTarget(t)
	dir := t.TempDir()
	g := newProbing(t, `trap "" TERM; touch `+dir+`/up; while :; do sleep 1; done`, 0, corev1.Container{LivenessProbe: &corev1.Probe{ProbeHandler: tcp(x.port), PeriodSeconds: 1, FailureThreshold: 1}})
	require.Eventually(t, func() bool { _, err := os.Stat(dir + "/up"); return err == nil }, time.Minute, time.Millisecond)
	grace := int64(7)
	g.w.latest.Spec.TerminationGracePeriodSeconds = &grace
	g.begin()
	g.settle(1)
	g.step(time.Second) // the one timer is now that of the grace period
	g.step(6 * time.Second)
	require.False(t, closed(g.p.Done()))
	g.clk.Step(time.Second)
	g.killed()
	require.Equal(t, int(syscall.SIGKILL), g.p.State().Signal)
}

func TestTheInitialDelayBeginsWithTheProcess(t *testing.T) {
	x := newTarget(t)
	x.listen()
	probe := func() corev1.Container {
		return corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: tcp(x.port), InitialDelaySeconds: 60}}
	}
	t.Run("a new process", func(t *testing.T) {
		g := newProbing(t, waits, 0, probe())
		g.begin()
		g.settle(1)
		g.step(59 * time.Second)
		require.False(t, g.ready())
		g.step(time.Second)
		require.True(t, g.ready())
	})
	t.Run("one that this node has found", func(t *testing.T) {
		g := newProbing(t, waits, 50*time.Second, probe())
		g.begin()
		g.settle(1)
		require.False(t, g.ready())
		g.step(10 * time.Second)
		require.True(t, g.ready())
	})
	t.Run("one that is older than the delay", func(t *testing.T) {
		g := newProbing(t, waits, time.Hour, probe())
		g.begin()
		g.settle(1)
		require.True(t, g.ready())
	})
}

// After a restart of the node no one knows the variables of the container.
func TestAProbeByCommandOfAFoundProcessSucceeds(t *testing.T) {
	g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: command("false")}})
	g.c.command = nil
	g.begin()
	g.settle(1)
	require.True(t, g.ready())
}

// The answer of a probe may come after the container has got its next process.
func TestALateAnswerChangesNothing(t *testing.T) {
	g := newProbing(t, waits, 0, corev1.Container{ReadinessProbe: &corev1.Probe{ProbeHandler: command("true")}})
	g.c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	g.c.unready, g.c.proc = true, nil
	(&probed{w: g.w, c: g.c, p: g.p}).setReady(true)
	require.False(t, g.ready())
	g.c.proc = g.p
	(&probed{w: g.w, c: g.c, p: g.p}).setReady(true)
	require.True(t, g.ready())
}

func TestProbesEndWithTheProcess(t *testing.T) {
	var mu sync.Mutex
	var asked int
	x := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
	}))
	defer x.Close()
	g := newProbing(t, waits, 0, corev1.Container{
		ReadinessProbe: &corev1.Probe{ProbeHandler: httpGet(x, "/", nil)}, LivenessProbe: &corev1.Probe{ProbeHandler: httpGet(x, "/", nil)},
	})
	g.begin()
	g.settle(2)
	g.p.Kill()
	g.w.n.live.Wait()
	require.Zero(t, g.clk.Timers())
	require.Equal(t, 1, asked)
	require.Empty(t, g.events.Events)
}
