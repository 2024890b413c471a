package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/tests/faults/operators"
	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// Side is one of two clusters of an installation.
type Side struct {
	Name string
	*Cluster
	// Operators makes the pods of JobSets, PyTorchJobs and RayJobs.
	Operators        *operators.Operators
	Node, Controller *Process
	// Line stands between the cluster, tasks included, and the API.
	Line *proxy.TCP
}

// The names of the sides.
const (
	East = "east"
	West = "west"
)

// WhereLabel is the label of runs that only one cluster may run.
const WhereLabel = "where"

// apiSettings are those of the API of two clusters: a cluster that is away for 10 s and a little more is lost.
func apiSettings() []string {
	rules := make([]string, 0, 2)
	for _, side := range []string{East, West} {
		rules = append(rules, "labels="+WhereLabel+"="+side+" cluster="+side)
	}
	return []string{
		"--set", "runs.placement.rules=" + strings.Join(rules, ", "),
		"--set", "replicas.installation=storm", "--set", "runs.clusters.lostAfter=3s", "--set", "runs.clusters.settle=1s",
		"--set", "runs.clusters.poll=300ms", "--set", "runs.clusters.lease=3s", "--set", "runs.clusters.batch=3",
	}
}

// controllerConfig has the times of serverConfig.
const controllerConfig = `
target: controller
cluster: {id: %q}
controlPlane: {url: %q, credentialFile: %q}
server: {listen: "127.0.0.1:%d", shutdownGrace: 5s}
storage: {url: %q, sync: false}
kubernetes: {kubeconfig: %q}
logging: {level: debug, format: json}
replicas: {installation: storm}
actions:
  taskActions: {resync: 3s, maxSilence: 5s, recreateDelay: 500ms, callTimeout: 5s, backoff: {first: 50ms, max: 1s}}
executor:
  plugins: {enabled: [pod, job, jobset, pytorch, ray], probe: 5s}
  measure: {interval: 1s, report: 2s, kubelets: true}
  pod: {endpoint: %q, insecure: true, defaultCpu: 10m, defaultMemory: 128Mi, terminationGracePeriod: 2s, defaultEnv: [%s=%s]}
  logs: {sealTimeout: 5s}
  workers: {program: %q}
  reconciler:
    {maxSystemFailures: 40, systemBackoff: 100ms, maxSystemBackoff: 1s, statusDelay: 500ms, resync: 5s, sweep: 5s, maxErrorBackoff: 1s}
deployer: {sharedNetwork: true, resync: 10s, maxSilence: 5s, callTimeout: 5s, recheck: 2s, backoff: {first: 50ms, max: 1s}}
`

// startWest starts the second cluster with its node.
func (s *Stack) startWest(ctx context.Context) error {
	dir := filepath.Join(s.Dir, West)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s.Sides = []*Side{{Name: East, Cluster: s.Cluster, Node: s.Node, Operators: s.Operators}, {Name: West}}
	west := s.Sides[1]
	var err error
	if west.Cluster, err = startCluster(ctx, s.Programs, dir); err != nil {
		return err
	}
	if west.Operators, err = operators.Start(ctx, west.Client, west.Dynamic, s.Programs.Task); err != nil {
		return err
	}
	west.Node = newProcess(dir, "node", s.Programs.Demo, frugal(),
		"internal-node", "--kubeconfig", west.kubeconfig, "--data-dir", filepath.Join(dir, "node"), "--cpus", "1000")
	return west.Node.Start()
}

// startControllers registers the clusters and starts their controllers.
func (s *Stack) startControllers(ctx context.Context) error {
	for _, side := range s.Sides {
		if err := s.startController(ctx, side); err != nil {
			return fmt.Errorf("controller of %s: %w", side.Name, err)
		}
	}
	if len(s.Sides) == 0 {
		return nil
	}
	return s.Server.await(ctx, s.allConnected)
}

// allConnected is an error until the controllers of all clusters have been heard. Before that, there are no clusters to place work in.
func (s *Stack) allConnected(ctx context.Context) error {
	database := s.Reader()
	defer database.Close()
	return database.Do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		known := 0
		if err := conn.QueryRow(ctx, `SELECT count(DISTINCT cluster) FROM cluster_states`).Scan(&known); err != nil {
			return err
		}
		if known < len(s.Sides) {
			return fmt.Errorf("%d of %d clusters have connected", known, len(s.Sides))
		}
		return nil
	})
}

func (s *Stack) startController(ctx context.Context, side *Side) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	if side.Line, err = proxy.NewTCP(s.address); err != nil {
		return err
	}
	credential, err := s.register(ctx, side.Name)
	if err != nil {
		return err
	}
	secret, config := filepath.Join(s.Dir, side.Name+"-credential"), filepath.Join(s.Dir, side.Name+".yaml")
	body := fmt.Appendf(nil, controllerConfig, side.Name, "http://"+side.Line.Addr(), secret, ports[0], s.Storage, side.kubeconfig, side.Line.Addr(), script.ClusterEnv, side.Name, s.worker())
	if err := errors.Join(os.WriteFile(secret, credential, 0o600), os.WriteFile(config, body, 0o600)); err != nil {
		return err
	}
	env := []string{"FLYTE_FAILPOINTS=" + s.failpoints(), "FLYTE_STREAMS_HANG=" + s.hang()}
	side.Controller = newProcess(s.Dir, "controller-"+side.Name, s.Programs.Server, env, "serve", "--config", config)
	return side.Controller.Start()
}

var secretOfCluster = regexp.MustCompile(`fbc_\w+`)

// register adds a cluster and returns the secret of its credential.
func (s *Stack) register(ctx context.Context, name string) ([]byte, error) {
	add := exec.CommandContext(ctx, s.Programs.Server, "clusters", "add", name, "--config", filepath.Join(s.Dir, "server.yaml"))
	said, err := add.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return secretOfCluster.Find(said), nil
}

// Clusters are all clusters of the stack.
func (s *Stack) Clusters() []*Cluster {
	if s.Sides == nil {
		return []*Cluster{s.Cluster}
	}
	all := make([]*Cluster, 0, len(s.Sides))
	for _, side := range s.Sides {
		all = append(all, side.Cluster)
	}
	return all
}

// OperatorsLeave stops the work of the operators of all clusters until OperatorsLeave(false).
func (s *Stack) OperatorsLeave(away bool) {
	for _, one := range s.allOperators() {
		one.Leave(away)
	}
}

// Settled is how many objects of operators have come to an end since the last call.
func (s *Stack) Settled() (n int) {
	for _, one := range s.allOperators() {
		n += one.Settled()
	}
	return n
}

func (s *Stack) allOperators() []*operators.Operators {
	all := []*operators.Operators{s.Operators}
	for _, side := range s.Sides {
		if side.Name == West {
			all = append(all, side.Operators)
		}
	}
	return all
}

// stopSides stops what only two clusters have.
func (s *Stack) stopSides() {
	for _, side := range s.Sides {
		side.Controller.Kill()
		if side.Line != nil {
			side.Line.Close()
		}
		if side.Name == West {
			if side.Node.latest() != nil {
				side.Node.Stop()
			}
			if side.Operators != nil {
				side.Operators.Close()
			}
			side.Cluster.stop()
		}
	}
}

// product are the processes of the product that may die at named points.
func (s *Stack) product() []*Process {
	all := []*Process{s.Server, s.Replica}
	for _, side := range s.Sides {
		all = append(all, side.Controller)
	}
	return all
}
