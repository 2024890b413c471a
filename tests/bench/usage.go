package main

import (
	"errors"
	"os"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// usage is the CPU time that the processes have used so far.
type usage struct {
	at   time.Time
	busy time.Duration
	cpu  map[string]time.Duration
}

// spent is the CPU time that they used between two moments.
type spent struct {
	elapsed time.Duration
	cpu     map[string]time.Duration
	// others is what everything else on the machine used, in cores.
	others float64
}

// The processes, in the order in which they are shown.
const (
	serverName    = "server"
	apiserverName = "API server"
	etcdName      = "etcd"
	postgresName  = "Postgres"
	clientName    = "client and node"
)

var processNames = []string{serverName, apiserverName, etcdName, postgresName, clientName}

func (s *stack) usage() (usage, error) {
	u := usage{at: time.Now(), cpu: map[string]time.Duration{}}
	var failures []error
	read := func(name string, of func(int) (time.Duration, error), pid int) {
		cpu, err := of(pid)
		failures = append(failures, err)
		u.cpu[name] = cpu
	}
	read(serverName, figures.CpuOf, s.server.Pid())
	read(apiserverName, figures.CpuOf, s.cluster.apiserver.Pid())
	read(etcdName, figures.CpuOf, s.cluster.etcd.Pid())
	read(postgresName, figures.CpuOfTree, s.postgres.Pid())
	read(clientName, figures.CpuOf, os.Getpid())
	var err error
	u.busy, err = figures.Busy()
	return u, errors.Join(append(failures, err)...)
}

func (u usage) since(before usage) spent {
	s := spent{elapsed: u.at.Sub(before.at), cpu: map[string]time.Duration{}}
	rest := u.busy - before.busy
	for name, cpu := range u.cpu {
		s.cpu[name] = cpu - before.cpu[name]
		rest -= s.cpu[name]
	}
	s.others = max(0, rest.Seconds()/s.elapsed.Seconds())
	return s
}

// total is the CPU time of all processes together.
func (s spent) total() time.Duration {
	var total time.Duration
	for _, cpu := range s.cpu {
		total += cpu
	}
	return total
}

// perAction records the CPU time of each process for one of n actions.
func (s spent) perAction(r *figures.Result, n int) {
	for _, name := range processNames {
		r.Add("CPU per action, "+name, figures.Milliseconds(s.cpu[name])/float64(n), "ms")
	}
	r.Add("others meanwhile", s.others, "cores")
}
