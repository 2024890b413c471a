package stack

import (
	"errors"
	"os"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// usage is the CPU time that the processes have used so far.
type usage struct {
	At   time.Time
	busy time.Duration
	cpu  map[string]time.Duration
}

// spent is the CPU time that they used between two moments.
type spent struct {
	Elapsed time.Duration
	CPU     map[string]time.Duration
	// Others is what everything else on the machine used, in cores.
	Others float64
}

// The processes, in the order in which they are shown.
const (
	ServerName    = "server"
	ApiserverName = "API server"
	EtcdName      = "etcd"
	PostgresName  = "Postgres"
	ClientName    = "client and node"
)

var processNames = []string{ServerName, ApiserverName, EtcdName, PostgresName, ClientName}

// Usage reads the CPU times of all processes of the stack. Postgres has a process for each connection, so its children
// count.
func (s *Stack) Usage() (usage, error) {
	u := usage{At: time.Now(), cpu: map[string]time.Duration{}}
	var failures []error
	read := func(name string, of func(int) (time.Duration, error), pid int) {
		cpu, err := of(pid)
		failures = append(failures, err)
		u.cpu[name] = cpu
	}
	read(ServerName, figures.CPUOf, s.Server.Pid())
	read(ApiserverName, figures.CPUOf, s.Cluster.Apiserver.Pid())
	read(EtcdName, figures.CPUOf, s.Cluster.etcd.Pid())
	read(PostgresName, figures.CPUOfTree, s.Postgres.Pid())
	read(ClientName, figures.CPUOf, os.Getpid())
	var err error
	u.busy, err = figures.Busy()
	return u, errors.Join(append(failures, err)...)
}

// Since is what was used after an earlier reading.
func (u usage) Since(before usage) spent {
	s := spent{Elapsed: u.At.Sub(before.At), CPU: map[string]time.Duration{}}
	rest := u.busy - before.busy
	for name, cpu := range u.cpu {
		s.CPU[name] = cpu - before.cpu[name]
		rest -= s.CPU[name]
	}
	s.Others = max(0, rest.Seconds()/s.Elapsed.Seconds())
	return s
}

// Total is the CPU time of all processes together.
func (s spent) Total() time.Duration {
	var total time.Duration
	for _, cpu := range s.CPU {
		total += cpu
	}
	return total
}

// PerAction records the CPU time of each process for one of n actions.
func (s spent) PerAction(r *figures.Result, n int) {
	for _, name := range processNames {
		r.Add("CPU per action, "+name, figures.Milliseconds(s.CPU[name])/float64(n), "ms")
	}
	r.Add("others meanwhile", s.Others, "cores")
}
