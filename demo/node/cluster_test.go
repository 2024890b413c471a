package node_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/node/pki"
	_ "github.com/flyte-binary/flyte-binary/demo/node/shim/early" // this binary is the shim, too
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// cluster is the API server of this test process. It knows the certificates of the nodes.
type cluster struct {
	config       *rest.Config
	client       kubernetes.Interface
	certificates string
}

var shared = sync.OnceValues(startCluster)

// binaries is where the API server is, seen from the folder in which the package's tests run.
const binaries = "../../.bin"

// supervise kills a server when the test process ends in any way, which closes the standard input.
const supervise = `"$@" </dev/null & child=$!; read -r _; kill -9 $child; rm -rf "$PWD"`

// pipes are kept open for as long as the process lives.
var pipes []io.Closer

func startCluster() (*cluster, error) {
	bin, err := filepath.Abs(binaries)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nodetest")
	if err != nil {
		return nil, err
	}
	certificates := filepath.Join(dir, "node")
	files, err := pki.EnsureCertificates(certificates, "127.0.0.1", clock.System{})
	if err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	account := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	for name, content := range map[string]string{"sa.pem": string(account), "tokens": "test,test,test,system:masters\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = listener.Close()
	for _, command := range [][]string{
		{
			filepath.Join(bin, "etcd"), "--data-dir=etcd", "--log-level=error", "--unsafe-no-fsync", "--listen-client-urls=unix://c.sock",
			"--advertise-client-urls=http://127.0.0.1:1", "--listen-peer-urls=unix://p.sock",
			"--initial-advertise-peer-urls=http://127.0.0.1:1", "--initial-cluster=default=http://127.0.0.1:1",
		},
		{
			filepath.Join(bin, "kube-apiserver"), "--etcd-servers=unix://c.sock", "--bind-address=127.0.0.1", "--secure-port=" + port,
			"--cert-dir=certs", "--token-auth-file=tokens", "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
			"--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://test", "--service-account-key-file=sa.pem",
			"--service-account-signing-key-file=sa.pem", "--disable-admission-plugins=ServiceAccount",
			"--kubelet-preferred-address-types=InternalIP", "--shutdown-delay-duration=0s",
			"--kubelet-client-certificate=" + files.ClientCertificate, "--kubelet-client-key=" + files.ClientKey,
			"--kubelet-certificate-authority=" + files.Authority,
		},
	} {
		log, err := os.Create(filepath.Join(dir, filepath.Base(command[0])+".log"))
		if err != nil {
			return nil, err
		}
		cmd := exec.Command("/bin/sh", append([]string{"-c", supervise, "sh"}, command...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
		pipe, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		pipes = append(pipes, pipe)
		if err := cmd.Start(); err != nil {
			return nil, err
		}
	}
	config := &rest.Config{Host: "https://" + address, BearerToken: "test", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &cluster{config: config, client: client, certificates: certificates}
	return c, c.await(dir)
}

func (c *cluster) await(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		if c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server did not start, logs in %s", dir)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// bundle is a node and a namespace for one test.
type bundle struct {
	*cluster
	cfg       node.Config
	node      *node.Node
	namespace string
	names     int
	stopped   bool
	writes    *counter
}

// setup starts a node. Tests do not run at the same time: each node takes all waiting pods.
func setup(t testing.TB, change ...func(*node.Config)) *bundle {
	t.Helper()
	if _, err := os.Stat(filepath.Join(binaries, "kube-apiserver")); err != nil {
		t.Skip("kube-apiserver and etcd are not built: run tools/kube/build.sh")
	}
	c, err := shared()
	require.NoError(t, err)
	b := &bundle{cluster: c, cfg: node.DefaultConfig(), writes: &counter{}}
	data, err := os.MkdirTemp("", "n")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(data)) })
	b.cfg.DataDir, b.cfg.Certificates = data, c.certificates
	b.cfg.Name = strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	b.cfg.RestartBackoff = 10 * time.Millisecond
	b.cfg.UnschedulableAfter = 0
	b.cfg.CPUs = 8 // on any machine
	b.cfg.Relief = 0
	for _, f := range change {
		f(&b.cfg)
	}
	ns, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	b.namespace = ns.Name
	for _, name := range []string{"default"} {
		_, err := c.client.CoreV1().ServiceAccounts(b.namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	b.start(t)
	t.Cleanup(func() {
		b.stop(t)
		zero := int64(0)
		require.NoError(t, c.client.CoreV1().Pods(b.namespace).DeleteCollection(context.Background(),
			metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{}))
	})
	return b
}

// start starts a node on the bundle's data directory.
func (b *bundle) start(t testing.TB) {
	t.Helper()
	config := rest.CopyConfig(b.config)
	config.Wrap(b.writes.wrap)
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	n, err := node.New(b.cfg, config, log, clock.System{})
	require.NoError(t, err)
	require.NoError(t, n.Start(t.Context()))
	b.node, b.stopped = n, false
}

func (b *bundle) stop(t testing.TB) {
	t.Helper()
	if b.stopped {
		return
	}
	b.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, b.node.Stop(ctx))
	require.NoError(t, b.node.Stop(ctx), "stopping again does nothing")
}

// crash ends the node as a kill does: processes keep running.
func (b *bundle) crash(t testing.TB) {
	t.Helper()
	b.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, b.node.Detach(ctx))
}

// shell is a pod whose one container runs a script, in which $ has the meaning of the shell.
func (b *bundle) shell(script string, change ...func(*corev1.Pod)) *corev1.Pod {
	b.names++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "p" + strconv.Itoa(b.names)},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "test", Command: []string{"sh", "-c", strings.ReplaceAll(script, "$$", "$$$$")}}},
		},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func (b *bundle) create(t testing.TB, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	made, err := b.client.CoreV1().Pods(b.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	return made
}

// until waits for a state of a pod.
func (b *bundle) until(t testing.TB, pod *corev1.Pod, what string, is func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var last *corev1.Pod
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		found, err := b.client.CoreV1().Pods(b.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		require.NoError(t, err)
		if last = found; is(found) {
			return found
		}
		<-time.After(5 * time.Millisecond)
	}
	require.FailNow(t, "the pod did not become "+what, "%+v", last.Status)
	return nil
}

func (b *bundle) ended(t testing.TB, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	return b.until(t, pod, "finished", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
}

func (b *bundle) running(t testing.TB, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	return b.until(t, pod, "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

// run creates a pod and waits for its end.
func (b *bundle) run(t testing.TB, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	return b.ended(t, b.create(t, pod))
}

func (b *bundle) delete(t testing.TB, pod *corev1.Pod, grace int64) {
	t.Helper()
	err := b.client.CoreV1().Pods(b.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace})
	require.NoError(t, err)
}

func (b *bundle) goneFromAPI(t testing.TB, pod *corev1.Pod) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := b.client.CoreV1().Pods(b.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, 30*time.Second, 5*time.Millisecond)
}

// logs reads a log through the API server.
func (b *bundle) logs(t testing.TB, pod *corev1.Pod, o *corev1.PodLogOptions) string {
	t.Helper()
	raw, err := b.client.CoreV1().Pods(b.namespace).GetLogs(pod.Name, o).DoRaw(t.Context())
	require.NoError(t, err)
	return string(raw)
}

// event waits for an event of a pod.
func (b *bundle) event(t testing.TB, pod *corev1.Pod, reason string) string {
	t.Helper()
	var message string
	require.Eventually(t, func() bool {
		events, err := b.client.CoreV1().Events(b.namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, event := range events.Items {
			if event.InvolvedObject.UID == pod.UID && event.Reason == reason {
				message = event.Message
				return true
			}
		}
		return false
	}, 20*time.Second, 20*time.Millisecond)
	return message
}

func terminated(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Terminated != nil {
			return status.State.Terminated
		}
	}
	return &corev1.ContainerStateTerminated{ExitCode: -1, Reason: "none of its containers has ended"}
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// content reads a file that a script wrote, in a directory that the test owns.
func content(t testing.TB, path string) string {
	t.Helper()
	var text string
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile(path)
		text = string(raw)
		return err == nil && strings.HasSuffix(text, "\n")
	}, 20*time.Second, 5*time.Millisecond, path)
	return strings.TrimSuffix(text, "\n")
}

func alive(t testing.TB, pid string) bool {
	t.Helper()
	_, err := os.Stat("/proc/" + pid)
	return err == nil
}

// counter counts writes of a node, and can cut it off from the API server.
type counter struct {
	down atomic.Bool  // every call fails
	hits atomic.Int64 // calls that failed for that

	mu   sync.Mutex
	made map[string]int // GUARDED_BY(mu): by method and resource, of pods
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if c.down.Load() {
			c.hits.Add(1)
			return nil, errors.New("no route to the API server")
		}
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/pods/") {
			c.mu.Lock()
			if c.made == nil {
				c.made = map[string]int{}
			}
			parts := strings.SplitN(r.URL.Path, "/pods/", 2)
			_, sub, _ := strings.Cut(parts[1], "/")
			c.made[r.Method+" "+sub]++
			c.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (c *counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made
	c.made = nil
	return made
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func ptr[T any](v T) *T { return &v }

func uidOf(pod *corev1.Pod) types.UID { return pod.UID }
