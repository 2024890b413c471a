package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// Stack is everything that runs for a case: the processes, and this process's connections to them.
type Stack struct {
	Dir      string
	Postgres *pgembed.Server
	Cluster  *cluster
	Node     *node
	Server   *supervise.Process
	*Client
	programs Programs
	debug    string   // where the server's profiles are
	Env      []string // what cases add to the environment of the servers that they start
	settings string   // what Serve has added to the configuration
	Runs     int      // how many runs were named
	barePods int      // how many series of bare pods there were
}

// Start starts the processes on empty data below dir.
func Start(ctx context.Context, p Programs, dir string) (s *Stack, err error) {
	s = &Stack{Dir: dir, programs: p}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return s, err
	}
	s.Postgres, err = pgembed.New(pgembed.Config{DataDir: filepath.Join(dir, "postgres"), Log: zerolog.Nop()})
	if err != nil {
		return s, err
	}
	if err := s.Postgres.Start(ctx); err != nil {
		s.Postgres = nil
		return s, err
	}
	if s.Cluster, err = startCluster(ctx, p, dir); err != nil {
		return s, err
	}
	if s.Node, err = startNode(ctx, s.Cluster.Client); err != nil {
		return s, err
	}
	return s, s.StartServer(ctx)
}

// The server logs warnings only and seals no logs: the node has none to seal.
const serverConfig = `
server: {listen: "127.0.0.1:%d"}
telemetry: {debugListen: "127.0.0.1:%d"}
database: {url: %q}
storage: {url: %q}
kubernetes: {kubeconfig: %q}
logging: {level: warn}
executor: {logs: {seal: false}, workers: {program: /flyte-binary}}
workers: {enabled: true}
deployer: {keepLogs: 0}
`

// Serve replaces the server by one with more configuration, on the same data.
func (s *Stack) Serve(ctx context.Context, settings string) error {
	s.Client.Close()
	StopProcess(s.Server)
	s.settings = settings
	return s.StartServer(ctx)
}

// StartServer starts the server on the data of the stack, on free ports, and waits until it is ready. It may be called
// again after the server was stopped or killed.
func (s *Stack) StartServer(ctx context.Context) error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	debugPort, err := FreePort()
	if err != nil {
		return err
	}
	storage := filepath.Join(s.Dir, "storage")
	if err := os.MkdirAll(storage, 0o755); err != nil {
		return err
	}
	path := filepath.Join(s.Dir, "config.yaml")
	text := fmt.Appendf(nil, serverConfig, port, debugPort, s.Postgres.DSN(), storage, s.Cluster.kubeconfig)
	if err := os.WriteFile(path, append(text, s.settings...), 0o600); err != nil {
		return err
	}
	if s.Server, err = Spawn(s.Dir, "server", s.programs.Server, append([]string{ServingEnv + "=1"}, s.Env...), "serve", "--config", path); err != nil {
		return err
	}
	s.debug = fmt.Sprintf("http://127.0.0.1:%d", debugPort)
	s.Client = NewClient(fmt.Sprintf("http://127.0.0.1:%d", port), storage)
	return AwaitReady(ctx, s.Server, s.Client.ready)
}

// RestartServer stops the server and starts it on the same data, and records how long it takes to be ready.
func (s *Stack) RestartServer(ctx context.Context, r *figures.Result) error {
	s.Client.Close()
	StopProcess(s.Server)
	began := time.Now()
	if err := s.StartServer(ctx); err != nil {
		return err
	}
	r.Add("start to ready", time.Since(began).Seconds(), "s")
	return nil
}

// ServingEnv makes the test binary serve instead of testing; the program itself does not look at it.
const ServingEnv = "FLYTEBENCH_SERVE"

// Stop stops everything, in reverse order.
func (s *Stack) Stop() {
	if s.Client != nil {
		s.Client.Close()
	}
	StopProcess(s.Server)
	if s.Node != nil {
		s.Node.stop()
	}
	if s.Cluster != nil {
		s.Cluster.stop()
	}
	if s.Postgres != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopGrace) // also after an interrupt
		defer cancel()
		_ = s.Postgres.Stop(ctx) // its data is discarded
	}
}

// BuildServer builds the program as the Makefile does.
func BuildServer(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "flyte-binary")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace,disable_grpc_modules", "-ldflags=-s -w", "-o", path,
		"github.com/flyte-binary/flyte-binary/manager/cmd/flyte-binary")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, said)
	}
	return path, nil
}
