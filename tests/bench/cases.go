package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// benchCase is one measurement.
type benchCase struct {
	name, about string
	// fresh requires newly started processes, since earlier work would show in its figures.
	fresh bool
	// long cases run only if they are named.
	long bool
	run  func(context.Context, *stack.Stack, *figures.Result) error
}

// cases are all cases, in the best order to run them.
func cases(o options) []benchCase {
	all := []benchCase{
		{"idle", "time to ready, memory and CPU of an idle server", true, false, measureIdle(o.quiet)},
		{"pod", "CreateRun to its pod, and to its end, on an idle system", false, false, measurePod(o.samples)},
		{"child-end", "end of a child's pod to the parent's watch", false, false, measureChildEnd(o.samples)},
		{"create", "CreateRun at concurrency 1, 8 and 32", false, false, measureCreate(o.creates)},
		{"create-engine", "the same, of runs that the runs service executes itself", false, false, measureCreateBuiltIn(o.creates)},
		{"chain-pods", "actions with pods, one after the other", false, false, measureChain(o.chain, stack.WithPod)},
		{"chain-engine", "the same, executed by the runs service", false, false, measureChain(o.chain, stack.InEngine)},
		{"chain-traces", "the same, of traces", false, false, measureChain(o.chain, stack.AsTrace)},
		{"fan-out-traces", fmt.Sprintf("%d traces enqueued by one parent", o.plain), true, false, measureFanOut(o.plain, o.concurrency, stack.AsTrace)},
		{"fan-out-engine", fmt.Sprintf("%d children that the runs service executes itself", o.plain), true, false, measureFanOut(o.plain, o.concurrency, stack.InEngine)},
	}
	all = append(all,
		benchCase{"bare-commits", "rows that are inserted and committed without the server, by 1, 8 and 32 callers", false, false, measureBareCommits(o.creates)},
		benchCase{"bare-pods", fmt.Sprintf("%d pods that are created and deleted without the server", o.fanOut[0]), true, false, measureBarePods(o.fanOut[0], o.concurrency)},
		benchCase{
			"bare-pods-kubelet", "the same, scheduled, run and ended, each with its report", true, false,
			likeKubelet(measureBarePods(o.fanOut[0], o.concurrency)),
		},
	)
	for _, n := range o.fanOut {
		all = append(all, benchCase{
			fmt.Sprintf("fan-out-%d", n), fmt.Sprintf("%d children with pods that end at once", n), true, false,
			measureFanOut(n, o.concurrency, stack.WithPod),
		}, benchCase{
			fmt.Sprintf("fan-out-%d-kubelet", n), fmt.Sprintf("%d children with pods that are scheduled, run and end, each with its report", n), true, false,
			likeKubelet(measureFanOut(n, o.concurrency, stack.WithPod)),
		}, benchCase{
			fmt.Sprintf("fan-out-%d-dropped", n), fmt.Sprintf("the same %d children, created without managed fields", n), true, true,
			likeKubelet(measureDropped(n, o.concurrency)),
		}, benchCase{
			fmt.Sprintf("fan-out-%d-events", n), fmt.Sprintf("the same %d children, and the Events of each start", n), true, true,
			likeKubelet(tellEvents(measureFanOut(n, o.concurrency, stack.WithPod))),
		})
	}
	return append(all,
		benchCase{
			"fan-out-retries", fmt.Sprintf("%d children with pods whose first attempt fails", o.retried), true, false,
			measureFanOut(o.retried, o.concurrency, stack.WithRetry),
		},
		benchCase{
			"fan-out-cached", fmt.Sprintf("%d children whose outputs come from the cache, each with a key of its own", o.cached), true, false,
			measureCacheHits(o.cached, o.concurrency),
		},
		benchCase{
			"held", fmt.Sprintf("%d children that sleep without a pod, all at once", o.held), true, false,
			measureHeld(o.held, o.concurrency, o.heldFor),
		},
		benchCase{"paused", fmt.Sprintf("%d conditions that wait, all at once", o.paused), true, false, measurePaused(o.paused, o.concurrency, o.quiet)},
		benchCase{"abort", fmt.Sprintf("abort of a run with %d children whose pods run", o.aborted), true, false, measureAbort(o.aborted, o.concurrency)},
		benchCase{
			"abort-waiting", fmt.Sprintf("abort of a run with %d children that wait", o.waiting), true, false,
			measureAbortWaiting(o.waiting, o.concurrency),
		},
		benchCase{"memory", fmt.Sprintf("memory while %d actions (traces) are done", o.memory), true, false, measureMemory(o.memory, o.concurrency, o.quiet)},
		benchCase{
			"triggers", fmt.Sprintf("%d active triggers, then %d that fire within %s", o.triggers, o.firing, o.within), true, false,
			measureTriggers(o.triggers, o.firing, o.within, o.quiet),
		},
		benchCase{"events", fmt.Sprintf("%d built-in children without a sink of events and with one", o.published), true, false, measureEvents(o.published, o.concurrency)},
		benchCase{"notifications", fmt.Sprintf("%d runs without a notification rule and with one", o.notified), true, false, measureNotifications(o.notified, o.concurrency)},
		benchCase{
			"reusable", fmt.Sprintf("%d children of a reusable environment with two workers that end them at once: one slot each", o.reused), true, false,
			measureReusable(o.reused, o.concurrency, 1),
		},
		benchCase{
			"reusable-wide", fmt.Sprintf("%d children of a reusable environment with two workers that end them at once: 20 slots each", o.reused), true, false,
			measureReusable(o.reused, o.concurrency, 20),
		},
		benchCase{
			"connectors", fmt.Sprintf("%d jobs of a connector in flight at once, looked at %s after they began", o.jobs, o.settle), true, false,
			measureConnectors(o.jobs, o.concurrency, o.settle, o.quiet),
		},
		benchCase{
			"rayjobs", fmt.Sprintf("%d plain pods that run at once, then %d RayJobs of three pods each, whose operator this process plays", o.rayJobs, o.rayJobs), true, false,
			measureRayJobs(playedKubeRay, o.rayJobs, o.concurrency, o.quiet),
		},
		benchCase{
			"rayjobs-kuberay", fmt.Sprintf("the same with KubeRay itself, which must be built (make operators): %d plain pods, then %d RayJobs", o.rayJobs, o.rayJobs), true, true,
			measureRayJobs(realKubeRay, o.rayJobs, o.concurrency, o.quiet),
		},
		benchCase{
			"apps", fmt.Sprintf("an app through the gateway and without it, starts from zero, and %d apps that sleep", o.apps), true, false,
			appsCase{idle: o.apps, requests: o.requests, clients: o.concurrency, starts: o.starts, quiet: o.quiet, python: o.python}.measure,
		},
		benchCase{"reads", fmt.Sprintf("lists and first snapshots with %d actions stored", o.stored), true, false, measureReads(o.stored, o.samples)},
		benchCase{"console", fmt.Sprintf("what the console asks about a run of %d actions", o.shown), true, false, measureConsole(o.shown, o.samples)},
		benchCase{
			"kill", fmt.Sprintf("kill -9 of the server in the middle of %d children with pods, and a start at once", o.fanOut[0]), true, true,
			measureKill(o.fanOut[0], o.concurrency),
		},
		benchCase{"restart", fmt.Sprintf("start of a server with %d live actions", o.live), true, false, measureRestart(o.live, o.quiet)},
		// Its API replaces the server of the stack.
		benchCase{
			"clusters", fmt.Sprintf("up to %d clusters that run %d actions, and %d assignments a second for %s", o.clusters, o.placed, o.rate, o.streamFor), true, true,
			clustersCase{clusters: o.clusters, held: o.placed, rate: o.rate, streamFor: o.streamFor, callers: o.concurrency, quiet: o.quiet}.measure,
		},
		benchCase{
			"migrations", fmt.Sprintf("an upgrade of the tables with %d actions and with %d, while others read and write", o.stored/10, o.stored), false, true,
			measureMigrations(o.stored, o.quiet),
		},
		benchCase{"apps-demo", "starts of an app from zero in the demo, which must be built", false, true, measureDemo(o.demo, o.starts)},
		benchCase{
			"python-demo", fmt.Sprintf("trivial Python tasks in the demo, which must be built: alternating cold and warm starts, %d at once, and in worker pools", o.tasks), false, true,
			pythonDemo{demo: o.demo, python: o.python, examples: o.examples, rounds: o.rounds, tasks: o.tasks}.measure,
		},
		benchCase{
			kubeMemoryCase, fmt.Sprintf("memory and CPU of the API server of the demo, which must be built, after %v tasks, busy and idle for %s", o.kubeTasks, o.quiet), false, true,
			kubeMemory{demo: o.demo, tasks: o.kubeTasks, churn: o.churn, concurrency: o.concurrency, quiet: o.quiet, profiles: o.profile}.measure,
		},
		benchCase{"soak", "actions of all kinds for a long time: nothing may grow", true, true, measureSoak(o.soak, o.soakFor, o.soakRound, o.concurrency)},
		// Its replicas replace the server of the stack, which the cases after it would lack.
		benchCase{
			"replicas", fmt.Sprintf("%d children with one replica and with three, then an upgrade of the three, then the death of one", o.fanOut[0]), true, true,
			measureReplicas(o.fanOut[0], o.concurrency, o.quiet),
		},
	)
}

// bench runs cases, each on a stack of its own or on the one before it.
type bench struct {
	options  options
	dir      string
	progress io.Writer
	stack    *stack.Stack
	started  int
}

// measure runs one case. A failure is part of its result, and the next case gets a new stack.
func (b *bench) measure(ctx context.Context, c benchCase) figures.Result {
	fmt.Fprintf(b.progress, "%s: %s\n", c.name, c.about)
	ctx, cancel := context.WithTimeout(ctx, b.options.timeout)
	defer cancel()
	result := figures.Result{Case: c.name, About: c.about}
	if c.name == kubeMemoryCase { // it measures a demo, and the processes of a stack would be in its way
		began := time.Now()
		result.Progress = b.progress
		if err := c.run(ctx, &stack.Stack{Dir: b.dir}, &result); err != nil {
			result.Error = err.Error()
		}
		result.Seconds = time.Since(began).Seconds()
		return result
	}
	if b.stack == nil || c.fresh && !b.options.reuse {
		b.close()
		b.started++
		var err error
		if b.stack, err = stack.Start(ctx, b.options.Programs, filepath.Join(b.dir, fmt.Sprint(b.started))); err != nil {
			result.Error = err.Error()
			return result
		}
	}
	// Usage of other programs is measured with each case: the report
	// shows how busy the machine was with something else.
	before, err := b.stack.Usage()
	if err != nil {
		result.Error = err.Error()
		return result
	}
	finish := b.stack.Profile(ctx, b.options.profile, c.name)
	began := time.Now()
	err = c.run(ctx, b.stack, &result)
	result.Seconds = time.Since(began).Seconds()
	finish()
	if after, failure := b.stack.Usage(); failure == nil {
		result.OthersCores = after.Since(before).Others
	}
	if err != nil {
		result.Error = err.Error()
		fmt.Fprintf(b.progress, "%s: %v; see the logs in %s\n", c.name, err, b.stack.Dir)
		b.close()
	}
	result.PrintRows(b.progress)
	return result
}

func (b *bench) close() {
	if b.stack != nil {
		b.stack.Stop() // Its files stay until the end: deletions would make creations slower in the next case, see fileCost.
		b.stack = nil
		runtime.GC() // so that this process starts each case alike
	}
}

// likeKubelet lets the node of a case write as much as a scheduler and a kubelet do.
func likeKubelet(run func(context.Context, *stack.Stack, *figures.Result) error) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		s.Node.LikeKubelet()
		return run(ctx, s, r)
	}
}

// tellEvents lets the node of a case create Events, too.
func tellEvents(run func(context.Context, *stack.Stack, *figures.Result) error) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		s.Node.TellEvents()
		return run(ctx, s, r)
	}
}
