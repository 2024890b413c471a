package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
	"github.com/flyte-binary/flyte-binary/tests/bench/answers"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// appsCase measures apps: the way to one through the gateway, the start of one that sleeps, and what many that sleep cost.
type appsCase struct {
	idle, requests, clients, starts int
	quiet                           time.Duration
	python                          string // of the FastAPI app; empty for the usual one
}

func (c appsCase) measure(ctx context.Context, s *stack.Stack, r *figures.Result) error {
	node, err := stack.StartAppNode(ctx, s.Cluster.Client, s.Dir)
	if err != nil {
		return err
	}
	defer node.Stop()
	apps := newAppClient(s.URL)
	programs, err := c.programs()
	if err != nil {
		return err
	}
	for _, program := range programs {
		if err := c.measureGateway(ctx, s, r, node, apps, program); err != nil {
			return fmt.Errorf("the app %s: %w", program.name, err)
		}
	}
	if err := measureColdStarts(ctx, r, s.Dir, apps, c.starts); err != nil {
		return err
	}
	apps.close()
	if err := node.Empty(ctx); err != nil {
		return err
	}
	return c.measureSleeping(ctx, s, r, node)
}

// measureColdStarts sends requests to an app that sleeps, each when it sleeps again, and deletes it. The command of the app is
// also started without the product, so that its own share is known.
func measureColdStarts(ctx context.Context, r *figures.Result, dir string, apps *appClient, n int) error {
	const name = "sleeper"
	port, err := stack.FreePort()
	if err != nil {
		return err
	}
	command, err := answering(port)
	if err != nil {
		return err
	}
	// One start at a time: two at once would share the cores, and the figure would be that of a busy machine.
	var alone, woken, added []time.Duration
	for range n {
		took, err := startAlone(ctx, dir, command, fmt.Sprintf("http://127.0.0.1:%d/", port), apps)
		if err != nil {
			return err
		}
		alone = append(alone, took)
	}
	if err := apps.deploy(ctx, name, port, command, 0); err != nil {
		return err
	}
	for range n {
		if err := apps.await(ctx, name, true); err != nil {
			return err
		}
		began := time.Now()
		if err := apps.get(ctx, apps.address(name)); err != nil {
			return fmt.Errorf("wake the app: %w", err)
		}
		woken = append(woken, time.Since(began))
		if err := apps.await(ctx, name, false); err != nil {
			return err
		}
	}
	r.Latency("start of the program alone", alone)
	r.Latency("cold start", woken)
	for _, took := range woken {
		added = append(added, took-middle(alone))
	}
	r.Latency("cold start without the program's own", added)
	return apps.delete(ctx, name)
}

// startAlone runs a command until it has answered, and returns how long that took.
func startAlone(ctx context.Context, dir string, command []string, url string, apps *appClient) (time.Duration, error) {
	began := time.Now()
	process, err := stack.Spawn(dir, "alone", command[0], []string{answers.Env + "=1"}, command[1:]...)
	if err != nil {
		return 0, err
	}
	defer stack.StopProcess(process)
	err = process.AwaitReady(ctx, clock.System{}, supervise.Patience{}, time.Millisecond, func(ctx context.Context) error { return apps.get(ctx, url) })
	return time.Since(began), err
}

// measureSleeping compares the server without apps to the server with many that sleep. Both were just started: deploying
// leaves memory behind that sleeping apps do not need.
func (c appsCase) measureSleeping(ctx context.Context, s *stack.Stack, r *figures.Result, node *stack.AppNode) error {
	rested := func() (float64, error) {
		if err := s.RestartServer(ctx, &figures.Result{}); err != nil {
			return 0, err
		}
		if err := stack.Pause(ctx, min(settleTime, c.quiet)); err != nil {
			return 0, err
		}
		now, _, err := figures.MemoryOf(s.Server.Pid())
		return now, err
	}
	before, err := rested()
	if err != nil {
		return err
	}
	r.Add("memory of the server, without apps", before, "MiB")
	if err := quietly(ctx, s, r, c.quiet, "without apps"); err != nil {
		return err
	}
	apps := newAppClient(s.URL)
	began := time.Now()
	name := func(i int) string { return fmt.Sprintf("idle-%d", i) }
	for _, do := range []func(string) error{
		func(name string) error { return apps.deploy(ctx, name, 8080, nil, 0) },
		func(name string) error { return apps.await(ctx, name, true) },
	} {
		if _, err := stack.Each(c.idle, 8, name, do); err != nil {
			return err
		}
	}
	if err := node.Empty(ctx); err != nil {
		return err
	}
	r.Add("apps deployed, started and asleep", float64(c.idle)/time.Since(began).Seconds(), "/s")
	apps.close()
	after, err := rested()
	if err != nil {
		return err
	}
	r.Add("memory of the server, with the apps asleep", after, "MiB")
	r.Add("growth of the server by the apps", after-before, "MiB")
	if err := quietly(ctx, s, r, c.quiet, "with the apps asleep"); err != nil {
		return err
	}
	apps = newAppClient(s.URL)
	defer apps.close()
	_, err = stack.Each(c.idle, 8, name, func(name string) error { return apps.delete(ctx, name) })
	return err
}

// measureDemo starts apps from zero in the demo, where the controllers and the node are real. program is the built demo.
func measureDemo(program string, starts int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		python, err := endsAtOnce(s.Dir) // it is never used; so none is installed
		if err != nil {
			return err
		}
		demo, address, err := stack.StartDemo(ctx, s.Dir, program, python)
		if err != nil {
			return err
		}
		defer stack.StopProcess(demo)
		apps := newAppClient("http://" + address)
		defer apps.close()
		return measureColdStarts(ctx, r, s.Dir, apps, starts)
	}
}

// appProgram is a program that an app runs.
type appProgram struct {
	// name is that of the app; label is put before the names of the figures, empty for the main ones.
	name, label string
	// requests are those of each turn, and those sent at a constant rate.
	requests int
	command  func(port int) ([]string, error)
}

//go:embed app_fastapi.py
var fastAPI string

// programs are the apps that are measured: one that costs nothing by itself, and one that costs what apps of users do.
func (c appsCase) programs() ([]appProgram, error) {
	python, err := pythonWithSDK(c.python)
	if err != nil {
		return nil, err
	}
	return []appProgram{
		{name: "answers", requests: c.requests, command: answering},
		{
			name: "fastapi", label: "FastAPI ", requests: max(c.requests/5, 1),
			command: func(port int) ([]string, error) { return []string{python, "-c", fastAPI, strconv.Itoa(port)}, nil },
		},
	}, nil
}
