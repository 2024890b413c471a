package stack

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
	Process *supervise.Process
	Address string
}

// ReplicaSet starts and replaces replicas behind one service, as a Deployment does.
type ReplicaSet struct {
	Stack   *Stack
	Service *Service
	Members []replica
	started int
}

// Start adds a replica and returns once it is ready and gets connections.
func (s *ReplicaSet) Start(ctx context.Context) error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	debugPort, err := FreePort()
	if err != nil {
		return err
	}
	s.started++
	name := fmt.Sprintf("replica-%d", s.started)
	storage := filepath.Join(s.Stack.Dir, "storage")
	path := filepath.Join(s.Stack.Dir, name+".yaml")
	text := fmt.Appendf(nil, serverConfig+replicaConfig, port, debugPort, s.Stack.Postgres.DSN(), storage, s.Stack.Cluster.kubeconfig)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	r := replica{Address: fmt.Sprintf("127.0.0.1:%d", port)}
	// This cluster has no garbage collector: the sweep deletes pods that a change of the owner left behind.
	env := append([]string{
		ServingEnv + "=1", "FLYTE_STORAGE_SIGNINGKEY=" + benchSigningKey,
		"FLYTE_EXECUTOR_RECONCILER_SWEEP=2s", "FLYTE_EXECUTOR_RECONCILER_ORPHANAGE=2s",
	}, s.Stack.Env...)
	if r.Process, err = Spawn(s.Stack.Dir, name, s.Stack.programs.Server, env, "serve", "--config", path); err != nil {
		return err
	}
	s.Members = append(s.Members, r)
	probe := NewClient("http://"+r.Address, storage)
	defer probe.Close()
	if err := AwaitReady(ctx, r.Process, probe.ready); err != nil {
		return err
	}
	s.Service.add(r.Address)
	return nil
}

// Replace ends the oldest replica after a new one is ready, as a rolling upgrade does. The service sends no new connections to a
// replica from the moment it is asked to stop.
func (s *ReplicaSet) Replace(ctx context.Context) error {
	if err := s.Start(ctx); err != nil {
		return err
	}
	oldest := s.Members[0]
	s.Members = s.Members[1:]
	s.Service.Remove(oldest.Address)
	StopProcess(oldest.Process)
	return nil
}

// Stop stops the replicas that are left.
func (s *ReplicaSet) Stop() {
	for _, r := range s.Members {
		StopProcess(r.Process)
	}
}

// UsedCPU is the CPU time that the replicas have used so far.
func (s *ReplicaSet) UsedCPU() (total time.Duration, err error) {
	for _, r := range s.Members {
		used, err := figures.CPUOf(r.Process.Pid())
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// Service spreads new connections over the replicas that are ready, in turn, as a Service of Kubernetes does.
type Service struct {
	mu        sync.Mutex
	addresses []string // GUARDED_BY(mu)
	next      int      // GUARDED_BY(mu)
}

func (s *Service) add(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = append(s.addresses, address)
}

// Remove sends no new connections to a replica. Open ones stay, as with a Service of Kubernetes.
func (s *Service) Remove(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = slices.DeleteFunc(s.addresses, func(a string) bool { return a == address })
}

// dial connects to the next replica in turn, whatever the address. Balancing is by connection, so a client with one
// connection has one replica.
func (s *Service) dial(ctx context.Context, network, _ string) (net.Conn, error) {
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

// Client is a client with a connection of its own through the service.
func (s *Service) Client(storage string) *Client {
	return NewClient("http://localhost", storage, func(t *http.Transport) { t.DialContext = s.dial })
}

// benchSigningKey signs the URLs of the object store; all replicas need the same.
const benchSigningKey = "a key that all replicas of the benchmark share"
