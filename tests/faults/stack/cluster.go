package stack

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Cluster is an API server with its store and the controllers that collect garbage.
type Cluster struct {
	Etcd, APIServer, Controllers *Process
	// Client, Metadata and Dynamic reach the API server past every proxy.
	Client   *kubernetes.Clientset
	Metadata metadata.Interface
	Dynamic  dynamic.Interface

	url        string
	etcdURL    string
	kubeconfig string
}

const token = "storm"

// Recent is the resource version of lists that may be a moment old. The API server has them in memory; it asks its store for others.
const Recent = "0"

func startCluster(ctx context.Context, p Programs, dir string) (c *Cluster, err error) {
	pki := filepath.Join(dir, "node", "pki")
	// The API server shows a certificate when it reads logs from the node.
	prepare := exec.CommandContext(ctx, p.Demo, "internal-node", "--data-dir", filepath.Join(dir, "node"), "--prepare")
	if said, err := prepare.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("create certificates: %w: %s", err, said)
	}
	if err := writeCredentials(dir); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	c = &Cluster{etcdURL: fmt.Sprintf("http://127.0.0.1:%d", ports[0]), url: fmt.Sprintf("https://127.0.0.1:%d", ports[2])}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	c.Etcd = newProcess(dir, "etcd", filepath.Join(p.Tools, "etcd"), frugal(),
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=error",
		"--listen-client-urls="+c.etcdURL, "--advertise-client-urls="+c.etcdURL,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)
	c.APIServer = newProcess(dir, "apiserver", filepath.Join(p.Tools, "kube-apiserver"), frugal(),
		"--etcd-servers="+c.etcdURL, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(ports[2]),
		"--cert-dir="+filepath.Join(dir, "certificates"), "--token-auth-file="+filepath.Join(dir, "tokens"),
		"--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://storm", "--service-account-key-file="+filepath.Join(dir, "sa.pem"),
		"--service-account-signing-key-file="+filepath.Join(dir, "sa.pem"),
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority="+filepath.Join(pki, "authority.crt"),
		"--kubelet-client-certificate="+filepath.Join(pki, "client.crt"), "--kubelet-client-key="+filepath.Join(pki, "client.key"),
		"--shutdown-delay-duration=0s", "--enable-priority-and-fairness=false", "--profiling=false", "-v=0")
	if err := errors.Join(c.Etcd.Start(), c.APIServer.Start()); err != nil {
		return c, err
	}
	config := &rest.Config{
		Host: c.url, BearerToken: token, QPS: -1, Timeout: 10 * time.Second,
		ContentConfig:   rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // the certificate is the server's own, on loopback
	}
	if c.Client, err = kubernetes.NewForConfig(config); err != nil {
		return c, err
	}
	if c.Metadata, err = metadata.NewForConfig(config); err != nil {
		return c, err
	}
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return c, err
	}
	if c.kubeconfig, err = writeKubeconfig(dir, "kubeconfig", c.url); err != nil {
		return c, err
	}
	if err := c.APIServer.await(ctx, c.Ready); err != nil {
		return c, err
	}
	c.Controllers = newProcess(dir, "controllers", p.Demo, frugal(), "internal-controllers", "--kubeconfig", c.kubeconfig)
	return c, c.Controllers.Start()
}

// frugal are variables for programs that are not under test: less collection of garbage, and no threads that look for work.
func frugal() []string { return []string{"GOGC=400", "GOMAXPROCS=1"} }

// Ready asks the API server whether it is ready.
func (c *Cluster) Ready(ctx context.Context) error {
	return c.Client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// Compact discards all past revisions, so that watches cannot resume from them.
func (c *Cluster) Compact(ctx context.Context) error {
	answer, err := c.etcd(ctx, "range", map[string]string{"key": base64.StdEncoding.EncodeToString([]byte("x"))})
	if err != nil {
		return err
	}
	var now struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := json.Unmarshal(answer, &now); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	_, err = c.etcd(ctx, "compaction", map[string]string{"revision": now.Header.Revision})
	return err
}

func (c *Cluster) etcd(ctx context.Context, what string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL+"/v3/kv/"+what, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	defer response.Body.Close()
	answer := new(bytes.Buffer)
	if _, err := answer.ReadFrom(response.Body); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	if response.StatusCode != http.StatusOK && !strings.Contains(answer.String(), "compacted") {
		return nil, fmt.Errorf("etcd: %s: %s", response.Status, answer)
	}
	return answer.Bytes(), nil
}

func (c *Cluster) stop() {
	if c == nil {
		return
	}
	c.Controllers.Kill()
	c.APIServer.Kill()
	c.Etcd.Kill()
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: storm, cluster: {server: %q, insecure-skip-tls-verify: %t}}]
users: [{name: storm, user: {token: %q}}]
contexts: [{name: storm, context: {cluster: storm, user: storm}}]
current-context: storm
`

func writeKubeconfig(dir, name, url string) (string, error) {
	path := filepath.Join(dir, name)
	body := fmt.Appendf(nil, kubeconfig, url, strings.HasPrefix(url, "https"), token)
	return path, os.WriteFile(path, body, 0o600)
}

func writeCredentials(dir string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "sa.pem"), encoded, 0o600),
		os.WriteFile(filepath.Join(dir, "tokens"), []byte(token+",storm,storm,system:masters\n"), 0o600),
		os.MkdirAll(filepath.Join(dir, "etcd"), 0o700),
		os.MkdirAll(filepath.Join(dir, "certificates"), 0o700),
	)
}

// freePorts finds ports that were free a moment ago, for programs that take no listener.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binding does not wait
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
