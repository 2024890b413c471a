package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// replicaConfig makes a server one of several: they elect who runs the controller, and accept each other's signed URLs.
const replicaConfig = `
replicas: {several: true, namespace: default}
`

// replica is one of several servers on the same database and cluster.
type replica struct {
	process *supervise.Process
	address string
}

// replicaSet starts and replaces replicas behind one service, as a Deployment does.
type replicaSet struct {
	stack   *stack
	service *service
	members []replica
	started int
}

// start adds a replica and returns once it is ready and gets connections.
func (s *replicaSet) start(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	debugPort, err := freePort()
	if err != nil {
		return err
	}
	s.started++
	name := fmt.Sprintf("replica-%d", s.started)
	storage := filepath.Join(s.stack.dir, "storage")
	path := filepath.Join(s.stack.dir, name+".yaml")
	text := fmt.Appendf(nil, serverConfig+replicaConfig, port, debugPort, s.stack.postgres.DSN(), storage, s.stack.cluster.kubeconfig)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	r := replica{address: fmt.Sprintf("127.0.0.1:%d", port)}
	// This cluster has no garbage collector: the sweep deletes pods that a change of the owner left behind.
	env := append([]string{
		servingEnv + "=1", "FLYTE_STORAGE_SIGNINGKEY=" + benchSigningKey,
		"FLYTE_EXECUTOR_RECONCILER_SWEEP=2s", "FLYTE_EXECUTOR_RECONCILER_ORPHANAGE=2s",
	}, s.stack.env...)
	if r.process, err = spawn(s.stack.dir, name, s.stack.programs.server, env, "serve", "--config", path); err != nil {
		return err
	}
	s.members = append(s.members, r)
	probe := newClient("http://"+r.address, storage)
	defer probe.close()
	if err := awaitReady(ctx, r.process, probe.ready); err != nil {
		return err
	}
	s.service.add(r.address)
	return nil
}

// replace ends the oldest replica after a new one is ready, as a rolling upgrade does. The service sends no new connections to a
// replica from the moment it is asked to stop.
func (s *replicaSet) replace(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	oldest := s.members[0]
	s.members = s.members[1:]
	s.service.remove(oldest.address)
	stopProcess(oldest.process)
	return nil
}

func (s *replicaSet) stop() {
	for _, r := range s.members {
		stopProcess(r.process)
	}
}

// usedCPU is the CPU time that the replicas have used so far.
func (s *replicaSet) usedCPU() (total time.Duration, err error) {
	for _, r := range s.members {
		used, err := figures.CpuOf(r.process.Pid())
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// service spreads new connections over the replicas that are ready, in turn, as a Service of Kubernetes does.
type service struct {
	mu        sync.Mutex
	addresses []string // GUARDED_BY(mu)
	next      int      // GUARDED_BY(mu)
}

func (s *service) add(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = append(s.addresses, address)
}

func (s *service) remove(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = slices.DeleteFunc(s.addresses, func(a string) bool { return a == address })
}

func (s *service) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	s.mu.Lock()
	if len(s.addresses) == 0 {
		s.mu.Unlock()
		return nil, errors.New("no replica is ready")
	}
	address := s.addresses[s.next%len(s.addresses)]
	s.next++
	s.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// client is a client with a connection of its own through the service.
func (s *service) client(storage string) *client {
	return newClient("http://localhost", storage, func(t *http.Transport) { t.DialContext = s.dial })
}

// benchSigningKey signs the URLs of the object store; all replicas need the same.
const benchSigningKey = "a key that all replicas of the benchmark share"
