package stack

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// cluster is an API server and its store as in production: every write is synced to disk. There are no controllers.
type cluster struct {
	etcd, Apiserver *supervise.Process
	config          *rest.Config
	Client          *kubernetes.Clientset
	metadata        metadata.Interface
	kubeconfig      string
}

// token is that of the administrator, which the server, the node and this process share.
const token = "bench"

// ApiserverProgram is where kube-apiserver is; etcd is alongside it.
func ApiserverProgram(p Programs) (string, error) {
	dir := p.Binaries
	if dir == "" {
		dir = os.Getenv("KUBEBUILDER_ASSETS")
	}
	if dir == "" {
		dir = ".bin"
	}
	path, err := filepath.Abs(filepath.Join(dir, "kube-apiserver"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w; build it with tools/kube/build.sh", err)
	}
	return path, nil
}

// startCluster starts etcd and the API server, and waits until the latter is ready. Both listen on sockets and ports of
// their own, so that several stacks can run at once.
func startCluster(ctx context.Context, p Programs, dir string) (c *cluster, err error) {
	program, err := ApiserverProgram(p)
	if err != nil {
		return nil, err
	}
	if err := writeCredentials(dir); err != nil {
		return nil, err
	}
	c = &cluster{}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	socket := "unix://" + filepath.Join(dir, "c.sock")
	c.etcd, err = Spawn(dir, "etcd", filepath.Join(filepath.Dir(program), "etcd"), nil,
		"--name=default", "--data-dir="+filepath.Join(dir, "etcd"), "--log-level=error", "--quota-backend-bytes=4294967296",
		"--listen-client-urls="+socket, "--advertise-client-urls=http://127.0.0.1:1",
		"--listen-peer-urls=unix://"+filepath.Join(dir, "p.sock"),
		"--initial-advertise-peer-urls=http://127.0.0.1:1", "--initial-cluster=default=http://127.0.0.1:1",
	)
	if err != nil {
		return c, err
	}
	port, err := FreePort()
	if err != nil {
		return c, err
	}
	c.Apiserver, err = Spawn(dir, "apiserver", program, nil,
		"--etcd-servers="+socket, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
		"--cert-dir="+filepath.Join(dir, "certificates"), "--token-auth-file="+filepath.Join(dir, "tokens"),
		"--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://bench", "--service-account-key-file="+filepath.Join(dir, "sa.pem"),
		"--service-account-signing-key-file="+filepath.Join(dir, "sa.pem"), "--disable-admission-plugins=ServiceAccount",
		"--shutdown-delay-duration=0s", "-v=0",
	)
	if err != nil {
		return c, err
	}
	c.config = &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", port),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // The certificate is the server's own, on loopback.
		ContentConfig:   rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
		QPS:             -1,
	}
	if c.Client, err = kubernetes.NewForConfig(c.config); err != nil {
		return c, err
	}
	if c.metadata, err = metadata.NewForConfig(c.config); err != nil {
		return c, err
	}
	if err := AwaitReady(ctx, c.Apiserver, c.ready); err != nil {
		return c, err
	}
	c.kubeconfig = filepath.Join(dir, "kubeconfig")
	return c, os.WriteFile(c.kubeconfig, fmt.Appendf(nil, kubeconfig, c.config.Host, token), 0o600)
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: bench, user: {token: %q}}]
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
current-context: bench
`

func (c *cluster) ready(ctx context.Context) error {
	return c.Client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// TaskActions counts the TaskActions.
func (c *cluster) TaskActions(ctx context.Context) (int, error) {
	page, err := c.metadata.Resource(v1.Resource).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, fmt.Errorf("count TaskActions: %w", err)
	}
	n := len(page.Items)
	// A page of one with the count of the rest: listing all would be a load of its own while a case runs.
	if page.RemainingItemCount != nil {
		n += int(*page.RemainingItemCount)
	}
	return n, nil
}

func (c *cluster) stop() {
	StopProcess(c.Apiserver)
	StopProcess(c.etcd)
}

// writeCredentials writes the token of the administrator and the key that signs tokens of service accounts.
func writeCredentials(dir string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "sa.pem"), encoded, 0o600),
		os.WriteFile(filepath.Join(dir, "tokens"), []byte(token+",bench,bench,system:masters\n"), 0o600),
		os.MkdirAll(filepath.Join(dir, "etcd"), 0o700),
		os.MkdirAll(filepath.Join(dir, "certificates"), 0o700),
	)
}

// FreePort finds a port that was free a moment ago, for programs that take no listener.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binding does not wait
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
