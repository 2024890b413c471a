package main

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

// stack is everything that runs for a case: the processes, and this process's connections to them.
type stack struct {
	dir      string
	postgres *pgembed.Server
	cluster  *cluster
	node     *node
	server   *supervise.Process
	*client
	programs programs
	debug    string   // where the server's profiles are
	env      []string // what cases add to the environment of the servers that they start
	runs     int      // how many runs were named
}

// start starts the processes on empty data below dir.
func start(ctx context.Context, p programs, dir string) (s *stack, err error) {
	s = &stack{dir: dir, programs: p}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return s, err
	}
	s.postgres, err = pgembed.New(pgembed.Config{DataDir: filepath.Join(dir, "postgres"), Log: zerolog.Nop()})
	if err != nil {
		return s, err
	}
	if err := s.postgres.Start(ctx); err != nil {
		s.postgres = nil
		return s, err
	}
	if s.cluster, err = startCluster(ctx, p, dir); err != nil {
		return s, err
	}
	if s.node, err = startNode(ctx, s.cluster.client); err != nil {
		return s, err
	}
	return s, s.startServer(ctx)
}

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

func (s *stack) startServer(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	debugPort, err := freePort()
	if err != nil {
		return err
	}
	storage := filepath.Join(s.dir, "storage")
	if err := os.MkdirAll(storage, 0o755); err != nil {
		return err
	}
	path := filepath.Join(s.dir, "config.yaml")
	text := fmt.Appendf(nil, serverConfig, port, debugPort, s.postgres.DSN(), storage, s.cluster.kubeconfig)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	if s.server, err = spawn(s.dir, "server", s.programs.server, append([]string{servingEnv + "=1"}, s.env...), "serve", "--config", path); err != nil {
		return err
	}
	s.debug = fmt.Sprintf("http://127.0.0.1:%d", debugPort)
	s.client = newClient(fmt.Sprintf("http://127.0.0.1:%d", port), storage)
	return awaitReady(ctx, s.server, s.client.ready)
}

// restartServer stops the server and starts it on the same data, and records how long it takes to be ready.
func (s *stack) restartServer(ctx context.Context, r *figures.Result) error {
	s.client.close()
	stopProcess(s.server)
	began := time.Now()
	if err := s.startServer(ctx); err != nil {
		return err
	}
	r.Add("start to ready", time.Since(began).Seconds(), "s")
	return nil
}

// servingEnv makes the test binary serve instead of testing; the program itself does not look at it.
const servingEnv = "FLYTEBENCH_SERVE"

// stop stops everything, in reverse order.
func (s *stack) stop() {
	if s.client != nil {
		s.client.close()
	}
	stopProcess(s.server)
	if s.node != nil {
		s.node.stop()
	}
	if s.cluster != nil {
		s.cluster.stop()
	}
	if s.postgres != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopGrace) // also after an interrupt
		defer cancel()
		_ = s.postgres.Stop(ctx) // its data is discarded
	}
}

// buildServer builds the program as the Makefile does.
func buildServer(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "flyte-binary")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace,disable_grpc_modules", "-ldflags=-s -w", "-o", path,
		"github.com/flyte-binary/flyte-binary/manager/cmd/flyte-binary")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, said)
	}
	return path, nil
}
