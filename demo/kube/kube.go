// Package kube is the Kubernetes of the demo: a real API server on an embedded etcd, with the controllers that
// flyte-binary relies on (garbage collection by owner references, namespace deletion, default service accounts). It
// runs as a child of the demo process, from the same program file (package embedded), so that its crash affects nothing
// else. Cluster is the parent's side: it creates the credentials, restarts the child when it dies, and owns the
// connection.
package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// Config configures the cluster.
type Config struct {
	// Dir holds the cluster's state and credentials. It is created with mode 0700.
	Dir string
	// LogFile is the log of the API server and etcd. Default: kubernetes.log in Dir.
	LogFile string
	// Program is the file to start as the child. Default: the running program.
	Program string
	// Kubelet is how the API server reaches the node for pods' logs. Without it, logs cannot be read through the API.
	Kubelet KubeletAccess
	// Profiling serves profiles of the child at /debug/pprof of the API server. Only for measurements.
	Profiling bool
	// Waiting, where set, is called every few seconds of a slow start with what it waits for.
	Waiting func(text string)
}

// KubeletAccess names certificate files. Paths are absolute.
type KubeletAccess struct {
	// Authority has signed the node's serving certificate.
	Authority string
	// ClientCertificate and ClientKey authenticate the API server to the node.
	ClientCertificate, ClientKey string
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	if c.Dir == "" {
		return errors.New("kube: dir: required")
	}
	return nil
}

// Cluster is the parent's side of the demo's Kubernetes.
type Cluster struct {
	cfg         Config
	log         zerolog.Logger
	listener    *os.File
	child       *supervise.Supervisor
	credentials *credentials
	port        int
}

var _ lifecycle.Part = (*Cluster)(nil)

// New returns a cluster that is not started yet.
func New(cfg Config, log zerolog.Logger) (*Cluster, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("kube: dir: %w", err)
	}
	if cfg.LogFile == "" {
		cfg.LogFile = filepath.Join(cfg.Dir, "kubernetes.log")
	}
	if cfg.Program == "" {
		if cfg.Program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("kube: program: %w", err)
		}
	}
	return &Cluster{cfg: cfg, log: log}, nil
}

// Start implements lifecycle.Part: when it returns, the API server answers.
func (c *Cluster) Start(ctx context.Context) error {
	if err := os.MkdirAll(c.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("create the cluster's directory: %w", err)
	}
	if err := c.listen(ctx); err != nil {
		return err
	}
	var err error
	if c.credentials, err = writeCredentials(c.cfg.Dir); err != nil {
		return errors.Join(fmt.Errorf("create the cluster's credentials: %w", err), c.listener.Close())
	}
	if err := c.writeKubeconfig(); err != nil {
		return errors.Join(err, c.listener.Close())
	}
	probe, err := c.probe()
	if err != nil {
		return errors.Join(err, c.listener.Close())
	}
	c.child = supervise.New(supervise.Config{
		Name:   "kubernetes",
		Launch: func(ctx context.Context) (*supervise.Process, error) { return c.launch(ctx, probe) },
		Clock:  clock.System{},
		Log:    c.log,
	})
	if err := c.child.Start(ctx); err != nil {
		return errors.Join(err, c.listener.Close())
	}
	return nil
}

// launch starts the child and waits until the API server is ready.
func (c *Cluster) launch(ctx context.Context, probe func(context.Context) error) (*supervise.Process, error) {
	process, err := supervise.Start(supervise.Spec{
		Name:      "kubernetes",
		Path:      c.cfg.Program,
		Args:      c.arguments(),
		Env:       c.environment(),
		Dir:       c.cfg.Dir,
		Files:     []*os.File{c.listener},
		LogFile:   c.cfg.LogFile,
		HoldStdin: true,
		StopGrace: stopGrace,
	})
	if err != nil {
		return nil, err
	}
	patience := supervise.Patience{Waiting: c.cfg.Waiting}
	if err := process.AwaitReady(ctx, clock.System{}, patience, readyPoll, probe); err != nil {
		process.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return process, nil
}

// environment is that of the child: nothing of this process's changes how the API server works, whose libraries read variables
// too. Its temporary files are among its own.
func (c *Cluster) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.cfg.Dir, "TMPDIR=" + c.cfg.Dir, "LANG=C", "TZ=UTC",
		// The heap has no limit: at a limit that its contents do not fit into, Go collects without a pause, even while nothing
		// happens. What the heap holds is bounded instead (package embedded).
		"GOMEMLIMIT=off", "GOGC=100",
	}
}

const (
	// readyPoll is the pause between two probes of a child that starts.
	readyPoll = 20 * time.Millisecond
	// stopGrace is how long the child may take to end after SIGTERM.
	stopGrace = 10 * time.Second
)

// Stop implements lifecycle.Part.
func (c *Cluster) Stop(ctx context.Context) error {
	if c.child == nil {
		return nil
	}
	err := c.child.Stop(ctx)
	_ = c.listener.Close()
	return err
}

// arguments of the child, see package embedded.
func (c *Cluster) arguments() []string {
	args := []string{CommandName, "--port", strconv.Itoa(c.port)}
	if c.cfg.Profiling {
		args = append(args, "--profiling")
	}
	if kubelet := c.cfg.Kubelet; kubelet != (KubeletAccess{}) {
		args = append(args, "--kubelet-authority", kubelet.Authority,
			"--kubelet-certificate", kubelet.ClientCertificate, "--kubelet-key", kubelet.ClientKey)
	}
	return args
}

// listen opens the API server's port here, not in the child: the port then outlives the child, clients keep their
// address, and those that connect during a restart wait in the queue of the socket instead of being refused.
func (c *Cluster) listen(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the API server: %w", err)
	}
	defer listener.Close()
	c.port = listener.Addr().(*net.TCPAddr).Port                          //nolint:forcetypeassert // a TCP listener has no other
	if c.listener, err = listener.(*net.TCPListener).File(); err != nil { //nolint:forcetypeassert // as above
		return fmt.Errorf("listen for the API server: %w", err)
	}
	return nil
}

// RESTConfig is a connection with all rights, valid after Start. It has no client-side rate limit:
// the API server has fair queuing.
func (c *Cluster) RESTConfig() *rest.Config {
	return &rest.Config{
		Host:            "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		BearerToken:     c.credentials.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.credentials.authority},
		QPS:             -1,
	}
}

// Kubeconfig is the path of a file for kubectl, rewritten at each start.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.cfg.Dir, kubeconfigFile) }

// Pid is the API server's process id, 0 while it is down.
func (c *Cluster) Pid() int { return c.child.Pid() }

// probe asks the API server whether it is ready.
func (c *Cluster) probe() (func(context.Context) error, error) {
	cfg := c.RESTConfig()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	// A request may hang, since the queue of the socket outlives the process that would have answered. Bound each one.
	client.Timeout = 5 * time.Second
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+"/readyz", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("the API server answers %s", answer.Status)
		}
		return nil
	}, nil
}
