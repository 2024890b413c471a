// Package stack starts everything that a storm needs, each part a process that can be killed alone: Postgres, etcd, an
// API server with its controllers, a node that runs pods as processes, and the server as the container image has it,
// built so that it can be made to die at named points, with a replica. Proxies stand before the server, before Postgres and
// before the API server. The suite itself serves Vault, plays a connector, and receives notifications and events. It stands
// below the fault suite.
package stack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/tests/faults/connector"
	"github.com/flyte-binary/flyte-binary/tests/faults/operators"
	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
	"github.com/flyte-binary/flyte-binary/tests/faults/sink"
	"github.com/flyte-binary/flyte-binary/tests/faults/vault"
)

// Programs are the programs that a stack starts.
type Programs struct {
	Demo   string // the product with the demo mode, for its node and controllers
	Server string // the product, built with failpoints
	Task   string // the task program
	Tools  string // directory of kube-apiserver and etcd
	// Two starts two clusters with controllers of their own, and the server as the API alone.
	Two bool
}

// Stack is everything that runs.
type Stack struct {
	Dir      string
	Programs Programs

	Postgres *pgembed.Server
	*Cluster
	// Operators makes the pods of JobSets, PyTorchJobs and RayJobs.
	Operators *operators.Operators
	Node      *Process
	// Sides are the two clusters, where there are two; the first is the one above.
	Sides  []*Side
	Server *Process
	// Replica is a second server without the controller. It gets few requests; it competes for the leases in Postgres.
	Replica *Process

	// Front stands before the server, for tasks and clients alike; Database before Postgres and API before the API server,
	// for the server alone.
	Front, Database *proxy.TCP
	API             *proxy.API
	// Kubelets is the part of API that leads to kubelets.
	Kubelets *proxy.Kubelets

	// Connector runs tasks as jobs; ToConnector stands before it.
	Connector   *connector.Server
	ToConnector *proxy.TCP

	// Sink receives notifications and events, and Vault has the secrets of tasks.
	Sink  *sink.Server
	Vault *vault.Server

	// Storage is the object store, Ledger where the tasks keep their notes.
	Storage, Ledger string

	address string // of the server, behind Front
	replica string // the address of Replica
	clock   serverClock
	mounted bool
	deaths  map[string]int // by log: those that Deaths has listed
}

// New starts everything on empty data below a directory.
func New(ctx context.Context, programs Programs, dir string) (s *Stack, err error) {
	s = &Stack{Dir: dir, Programs: programs, Storage: filepath.Join(dir, "storage"), Ledger: filepath.Join(dir, "ledger"), deaths: map[string]int{}}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	for _, path := range []string{dir, s.Storage, s.Ledger} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return s, err
		}
	}
	s.mounted = mountSmall(s.Storage)
	if err := s.startPostgres(ctx); err != nil {
		return s, err
	}
	if s.Cluster, err = startCluster(ctx, programs, dir); err != nil {
		return s, err
	}
	if s.Operators, err = operators.Start(ctx, s.Client, s.Dynamic, programs.Task); err != nil {
		return s, err
	}
	s.Node = newProcess(dir, "node", programs.Demo, frugal(),
		"internal-node", "--kubeconfig", s.kubeconfig, "--data-dir", filepath.Join(dir, "node"), "--cpus", "1000")
	if err := s.Node.Start(); err != nil {
		return s, err
	}
	if programs.Two {
		if err := s.startWest(ctx); err != nil {
			return s, err
		}
	}
	if err := s.startAPI(); err != nil {
		return s, err
	}
	if err := s.startReceivers(); err != nil {
		return s, err
	}
	if err := s.startConnector(); err != nil {
		return s, err
	}
	if err := s.prepareServer(); err != nil {
		return s, err
	}
	if _, err = s.StartServer(ctx); err != nil {
		return s, err
	}
	if err := s.Server.await(ctx, s.knowsConnector); err != nil {
		return s, err
	}
	if err := s.startControllers(ctx); err != nil {
		return s, err
	}
	return s, s.Replica.Start()
}

func (s *Stack) startPostgres(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	s.Postgres, err = pgembed.New(pgembed.Config{
		DataDir: filepath.Join(s.Dir, "postgres"), Port: ports[0], Restart: true, Log: zerolog.Nop(),
		// Processes die here, the machine does not: the kernel keeps commits that were written before they were
		// acknowledged.
		Settings: map[string]string{"fsync": "off", "full_page_writes": "off"},
	})
	if err != nil {
		return err
	}
	if err := s.Postgres.Start(ctx); err != nil {
		s.Postgres = nil
		return err
	}
	s.Database, err = proxy.NewTCP(fmt.Sprintf("127.0.0.1:%d", ports[0]))
	return err
}

// DSN leads to the database past the proxy.
func (s *Stack) DSN() string { return s.Postgres.DSN() }

// throughProxy leads to the database through the proxy.
func (s *Stack) throughProxy() (string, error) {
	direct, err := url.Parse(s.Postgres.DSN())
	if err != nil {
		return "", err
	}
	direct.Host, direct.RawQuery = s.Database.Addr(), "sslmode=disable"
	return direct.String(), nil
}

// Stop stops everything in reverse order, and kills processes of pods that are left.
func (s *Stack) Stop() {
	s.Server.Kill()
	s.Replica.Kill()
	s.stopSides()
	if s.Node.latest() != nil {
		s.Node.Stop()
	}
	if s.Operators != nil {
		s.Operators.Close()
	}
	for _, pid := range append(s.WorkerProcesses(), s.TaskProcesses()...) {
		end(pid)
	}
	s.Cluster.stop()
	if s.Front != nil {
		s.Front.Close()
	}
	if s.API != nil {
		s.API.Close()
	}
	if s.Database != nil {
		s.Database.Close()
	}
	if s.Sink != nil {
		s.Sink.Close()
	}
	if s.ToConnector != nil {
		s.ToConnector.Close()
	}
	if s.Connector != nil {
		s.Connector.Close()
	}
	if s.Vault != nil {
		s.Vault.Close()
	}
	if s.Postgres != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopGrace) // also after an interrupt
		defer cancel()
		_ = s.Postgres.Stop(ctx) // its data is discarded
	}
	if s.mounted {
		unmount(s.Storage)
		s.mounted = false
	}
}

// worker is the program of workers: that of the server, by another name, which tells their processes from the server's.
func (s *Stack) worker() string { return filepath.Join(s.Dir, "worker") }

// WorkerProcesses are the workers of reusable environments that are alive.
func (s *Stack) WorkerProcesses() []int { return processesOf(s.worker()) }

// TaskProcesses are the processes of pods that are alive.
func (s *Stack) TaskProcesses() []int { return processesOf(s.Programs.Task) }

// StartServer starts the server and returns how long it took to be ready.
func (s *Stack) StartServer(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := s.Server.Start(); err != nil {
		return 0, err
	}
	err := s.Server.await(ctx, s.Ready)
	if err == nil && s.Front == nil {
		return 0, errors.New("no proxy before the server")
	}
	return time.Since(began), err
}

// Deaths lists the named points at which the servers have died since the last call.
func (s *Stack) Deaths() []string {
	var points []string
	for _, process := range s.product() {
		body, err := os.ReadFile(process.Log)
		if err != nil {
			continue
		}
		all := strings.Split(string(body), "failpoint: dying at ")[1:]
		for _, rest := range all[s.deaths[process.Log]:] {
			point, _, _ := strings.Cut(rest, "\n")
			points = append(points, point)
		}
		s.deaths[process.Log] = len(all)
	}
	return points
}
