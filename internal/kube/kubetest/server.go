package kubetest

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
	"sync"
	"time"

	"k8s.io/client-go/rest"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// startTimeout bounds the start of the servers, on a busy machine.
const startTimeout = 2 * time.Minute

// errMissing means that the binaries are not built.
var errMissing = errors.New("kube-apiserver and etcd are not built: run tools/kube/build.sh")

// shared is the one pair of servers of a test process.
var shared = sync.OnceValues(startServers)

// server is a running API server with its store.
type server struct {
	config *rest.Config
	pipes  []io.WriteCloser // of its programs, which end when they close
}

// supervise runs a program until the pipe on its standard input closes, which happens at the latest when this process
// ends, however it ends. The first argument is what to remove then.
const supervise = `dir=$1; shift; "$@" </dev/null & child=$!; read -r _; kill -9 $child; wait $child; rm -rf "$dir"`

func startServers() (*server, error) {
	etcd, apiserver, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubetest")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := writeCredentials(dir); err != nil {
		return nil, err
	}
	running := &server{}
	socket := "unix://" + filepath.Join(dir, "c.sock")
	if err := running.spawn(dir, dir, etcd,
		"--name=default", "--data-dir="+filepath.Join(dir, "etcd"), "--log-level=error", "--unsafe-no-fsync",
		"--heartbeat-interval=10", "--election-timeout=100", "--quota-backend-bytes=2147483648",
		"--listen-client-urls="+socket, "--advertise-client-urls=http://127.0.0.1:1",
		"--listen-peer-urls=unix://"+filepath.Join(dir, "p.sock"),
		"--initial-advertise-peer-urls=http://127.0.0.1:1", "--initial-cluster=default=http://127.0.0.1:1",
	); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if err := running.spawn(dir, filepath.Join(dir, "apiserver.log"), apiserver,
		"--etcd-servers="+socket, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
		"--cert-dir="+filepath.Join(dir, "certificates"), "--token-auth-file="+filepath.Join(dir, "tokens"),
		"--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubetest", "--service-account-key-file="+filepath.Join(dir, "sa.pem"),
		"--service-account-signing-key-file="+filepath.Join(dir, "sa.pem"), "--disable-admission-plugins=ServiceAccount",
		"--kubelet-preferred-address-types=InternalIP", "--shutdown-delay-duration=0s", "-v=0",
	); err != nil {
		return nil, err
	}
	config := &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", port),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // The certificate is the server's own, on loopback.
		QPS:             -1,
	}
	if err := awaitReady(ctx, config); err != nil {
		return nil, fmt.Errorf("start API server, logs in %s: %w", dir, err)
	}
	if err := v1.EnsureCRD(ctx, config); err != nil {
		return nil, err
	}
	running.config = config
	return running, nil
}

const token = "kubetest"

func writeCredentials(dir string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "sa.pem"), encoded, 0o600),
		os.WriteFile(filepath.Join(dir, "tokens"), []byte(token+",kubetest,kubetest,system:masters\n"), 0o600),
		os.MkdirAll(filepath.Join(dir, "etcd"), 0o700),
		os.MkdirAll(filepath.Join(dir, "certificates"), 0o700),
	)
}

func (s *server) spawn(dir, remove, program string, args ...string) error {
	out, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer out.Close()
	command := exec.CommandContext(context.Background(), "/bin/sh", append([]string{"-c", supervise, "sh", remove, program}, args...)...)
	command.Dir, command.Stdout, command.Stderr = dir, out, out
	pipe, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	s.pipes = append(s.pipes, pipe)
	return nil
}

func awaitReady(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz", nil)
		if err != nil {
			return err
		}
		if answer, err := client.Do(request); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// freePort finds a port that was free a moment ago: the API server takes no listener from outside.
func freePort() (int, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// binaries finds the programs where KUBEBUILDER_ASSETS says, or in .bin at the root of the repository, above the
// directory in which the test runs.
func binaries() (etcd, apiserver string, err error) {
	candidates := []string{os.Getenv("KUBEBUILDER_ASSETS")}
	if candidates[0] == "" {
		dir, err := os.Getwd()
		if err != nil {
			return "", "", err
		}
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			candidates = append(candidates, filepath.Join(dir, ".bin"))
		}
	}
	for _, bin := range candidates {
		etcd, apiserver = filepath.Join(bin, "etcd"), filepath.Join(bin, "kube-apiserver")
		if isFile(etcd) && isFile(apiserver) {
			return etcd, apiserver, nil
		}
	}
	return "", "", errMissing
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
