package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/churn"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

const kubeMemoryCase = "kube-memory"

// kubeMemory measures the memory and the CPU of the demo's processes after more and more tasks, at once after the last of them and while
// nothing happens: of its API server, of Postgres, and of the server with the node and the tasks. The tasks are of one process that ends at
// once: their pods go through the same states as those of Python tasks, at a rate that this machine can keep up.
type kubeMemory struct {
	demo        string // the program; empty for the usual one
	tasks       []int  // in all, at each look
	churn       bool   // write what tasks write, instead of running them
	concurrency int
	quiet       time.Duration // of each idle time
	profiles    string        // directory for heap profiles; empty for none
}

func (c kubeMemory) measure(ctx context.Context, s *stack.Stack, r *figures.Result) error {
	dir := filepath.Join(s.Dir, kubeMemoryCase)
	python, err := endsAtOnce(dir)
	if err != nil {
		return err
	}
	var more []string
	if c.profiles != "" {
		more = append(more, "--profile-kubernetes")
	}
	demo, address, err := stack.StartDemo(ctx, dir, c.demo, python, more...)
	if err != nil {
		return err
	}
	defer stack.StopProcess(demo)
	server := stack.NewClient("http://"+address, "")
	defer server.Close()
	config, err := demoKube(dir)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	kube := demoProcesses{client, demo.Pid()}
	do := func(ctx context.Context, from, to int) error { return c.run(ctx, server, from, to) }
	if c.churn {
		written, err := churn.New(ctx, config)
		if err != nil {
			return err
		}
		do = func(ctx context.Context, from, to int) error {
			_, err := stack.Each(to-from, c.concurrency, func(i int) int { return from + i }, func(i int) error { return written.Task(ctx, i) })
			return err
		}
	}
	if err := c.idle(ctx, r, kube, "at the start"); err != nil {
		return err
	}
	done := 0
	for _, n := range c.tasks {
		if err := c.work(ctx, r, kube, do, done, n); err != nil {
			return err
		}
		done = n
		if err := c.idle(ctx, r, kube, fmt.Sprintf("idle after %d tasks", n)); err != nil {
			return err
		}
	}
	return nil
}

// work does the tasks from the number done to n, and records what the API server used meanwhile.
func (c kubeMemory) work(ctx context.Context, r *figures.Result, kube demoProcesses, do func(ctx context.Context, from, to int) error, done, n int) error {
	before, err := kube.read(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := do(ctx, done, n); err != nil {
		return err
	}
	elapsed := time.Since(began)
	after, err := kube.read(ctx)
	if err != nil {
		return err
	}
	when := fmt.Sprintf(", %d to %d tasks", done, n)
	r.Add("tasks per second"+when, float64(n-done)/elapsed.Seconds(), "")
	r.Add("CPU of the API server per task"+when, (after.cpu-before.cpu)*1000/float64(n-done), "ms")
	for _, name := range []string{postgresOfDemo, serverOfDemo} {
		r.Add("CPU of "+name+" per task"+when, figures.Milliseconds(after.family[name].CPU-before.family[name].CPU)/float64(n-done), "ms")
	}
	after.report(r, fmt.Sprintf("at the end of %d tasks", n))
	return c.profile(ctx, kube.Clientset, fmt.Sprintf("busy-%d", n))
}

// run runs tasks and waits for their ends.
func (c kubeMemory) run(ctx context.Context, server *stack.Client, from, to int) error {
	// No more than some hundreds are on their way: many that wait would measure Postgres.
	const onTheirWay = 400
	const part = 200
	for first := from; first < to; first += part {
		if _, err := stack.Each(min(part, to-first), c.concurrency, func(i int) int { return first + i }, func(i int) error {
			return createShortRun(ctx, server, ident.Run{Project: stack.Project, Domain: stack.Domain, Name: fmt.Sprintf("short-%d", i)})
		}); err != nil {
			return err
		}
		if err := awaitUnfinished(ctx, server, onTheirWay); err != nil {
			return err
		}
	}
	return awaitUnfinished(ctx, server, 0)
}

// idle records what the API server uses while nothing happens.
func (c kubeMemory) idle(ctx context.Context, r *figures.Result, kube demoProcesses, when string) error {
	if err := stack.Pause(ctx, min(settleTime, c.quiet)); err != nil {
		return err
	}
	before, err := kube.read(ctx)
	if err != nil {
		return err
	}
	if err := stack.Pause(ctx, c.quiet); err != nil {
		return err
	}
	after, err := kube.read(ctx)
	if err != nil {
		return err
	}
	r.Add("CPU of the API server, "+when, (after.cpu-before.cpu)*1000/c.quiet.Seconds(), "ms/s")
	for _, name := range []string{postgresOfDemo, serverOfDemo} {
		r.Add("CPU of "+name+", "+when, figures.Milliseconds(after.family[name].CPU-before.family[name].CPU)/c.quiet.Seconds(), "ms/s")
	}
	r.Add("collections, "+when, after.collections-before.collections, "")
	after.report(r, when)
	return c.profile(ctx, kube.Clientset, fmt.Sprint("idle-", when))
}

// profile saves the heap of the API server after a collection, if profiles were asked for.
func (c kubeMemory) profile(ctx context.Context, kube *kubernetes.Clientset, name string) error {
	if c.profiles == "" {
		return nil
	}
	stack.Save(filepath.Join(c.profiles, "kube-memory."+name+".heap"), func() ([]byte, error) {
		return kube.RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").SetHeader("Accept", "*/*").DoRaw(ctx)
	})
	return ctx.Err()
}

// awaitUnfinished waits until no more than some actions wait or are live.
func awaitUnfinished(ctx context.Context, server *stack.Client, most float64) error {
	for {
		unfinished, err := unfinishedIn(ctx, server)
		if err == nil && unfinished <= most {
			return nil
		}
		if stack.Pause(ctx, 200*time.Millisecond) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// unfinishedIn is how many actions wait or are live.
func unfinishedIn(ctx context.Context, server *stack.Client) (float64, error) {
	body, err := server.Get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	waiting, err := stack.SumOf(body, "flyte_queue_waiting")
	if err != nil {
		return 0, err
	}
	live, err := stack.SumOf(body, "flyte_task_actions_live")
	return waiting + live, err
}

// createShortRun creates a run of one task without inputs and outputs.
func createShortRun(ctx context.Context, server *stack.Client, run ident.Run) error {
	spec := stack.PythonTask("short")
	spec.TaskTemplate.GetContainer().Resources.Requests = []*core.Resources_ResourceEntry{
		{Name: core.Resources_CPU, Value: "10m"}, {Name: core.Resources_MEMORY, Value: "1Mi"},
	}
	_, err := server.API.CreateRun(ctx, &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: run.Proto()},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: spec},
	})
	return err
}

// endingTask is a task that succeeds without outputs.
const endingTask = `#!/bin/sh
while [ $# -gt 1 ]; do
	if [ "$1" = --outputs-path ]; then
		mkdir -p "$2" && : >"$2/outputs.pb"
	fi
	shift
done
`

// endsAtOnce makes a directory with an environment whose tasks end at once.
func endsAtOnce(dir string) (string, error) {
	python := filepath.Join(dir, "python")
	if err := os.MkdirAll(filepath.Join(python, "bin"), 0o755); err != nil {
		return "", err
	}
	return python, os.WriteFile(filepath.Join(python, "bin", "a0"), []byte(endingTask), 0o755)
}

// demoKube connects to the API server of the demo whose output is in dir.
func demoKube(dir string) (*rest.Config, error) {
	said, err := os.ReadFile(filepath.Join(dir, "demo.log"))
	if err != nil {
		return nil, err
	}
	found := stack.DemoKubeconfig.FindSubmatch(said)
	if found == nil {
		return nil, fmt.Errorf("the demo does not say where its kubeconfig is: %s", said)
	}
	return clientcmd.BuildConfigFromFlags("", string(found[1]))
}
