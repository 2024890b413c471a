package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// demoProcesses are the API server of a demo and the process that started it.
type demoProcesses struct {
	*kubernetes.Clientset
	pid int
}

// The names of the other processes of a demo. Processes of tasks are the node's, which is in the server.
const (
	kubeOfDemo     = "the API server"
	postgresOfDemo = "Postgres"
	serverOfDemo   = "the server, the node and tasks"
)

// nameInDemo is the name of a process of a demo.
func nameInDemo(arguments []string) string {
	switch {
	case strings.HasPrefix(filepath.Base(arguments[0]), "postgres"):
		return postgresOfDemo
	case len(arguments) > 1 && arguments[1] == "internal-kube":
		return kubeOfDemo
	}
	return serverOfDemo
}

// kubeFigures are what the API server says about its own process, and what the others use.
type kubeFigures struct {
	cpu, collections, heap, goal, resident, rings float64
	family                                        map[string]figures.Member
}

// read reads the metrics of the API server, which knows its own heap best, and what the machine says of the others.
func (d demoProcesses) read(ctx context.Context) (kubeFigures, error) {
	body, err := d.RESTClient().Get().AbsPath("/metrics").SetHeader("Accept", "*/*").DoRaw(ctx)
	if err != nil {
		return kubeFigures{}, fmt.Errorf("read metrics of the demo's API server: %w", err)
	}
	var f kubeFigures
	for name, figure := range map[string]*float64{
		"process_cpu_seconds_total": &f.cpu, "go_gc_duration_seconds_count": &f.collections, "go_memstats_alloc_bytes": &f.heap,
		"go_memstats_next_gc_bytes": &f.goal, "process_resident_memory_bytes": &f.resident,
	} {
		if *figure, err = stack.SumOf(body, name); err != nil {
			return f, err
		}
	}
	if f.family, err = figures.Family(d.pid, nameInDemo); err != nil {
		return f, err
	}
	f.rings, _ = stack.SumOf(body, "watch_cache_capacity") // none without watch caches
	return f, nil
}

func (f kubeFigures) report(r *figures.Result, when string) {
	const mib = 1 << 20
	r.Add("memory of the API server, "+when, f.resident/mib, "MiB")
	for _, name := range []string{postgresOfDemo, serverOfDemo} {
		r.Add("memory of "+name+", "+when, f.family[name].Memory, "MiB")
	}
	for _, name := range []string{kubeOfDemo, postgresOfDemo, serverOfDemo} {
		r.Add("heaps and stacks of "+name+", "+when, f.family[name].Anonymous, "MiB")
	}
	r.Add("next collection at a heap of, "+when, f.goal/mib, "MiB")
	r.Add("places in watch caches, "+when, f.rings, "")
}
