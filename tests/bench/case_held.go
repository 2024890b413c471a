package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureHeld enqueues n children that sleep without a pod, so that all are live at once, and measures what they cost
// meanwhile and how late the last one ends.
func measureHeld(n, concurrency int, d time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := s.WriteSleep(stack.HeldSleep, d); err != nil {
			return err
		}
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		if err := addMemory(s, r, "at the start", false); err != nil {
			return err
		}
		began := time.Now()
		taken, err := stack.Each(n, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, stack.Asleep) })
		if err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		enqueued := time.Now()
		r.Add("Enqueue", float64(n)/enqueued.Sub(began).Seconds(), "/s")
		r.Latency("Enqueue", taken)
		// Only while all of them sleep. On a machine that needs most of the time to enqueue them, the figure is left
		// out.
		if left := time.Until(began.Add(d)); left > 2*time.Second {
			if err := quietly(ctx, s, r, left/2, meanwhile); err != nil {
				return err
			}
			if err := addMemory(s, r, "with all of them live", true); err != nil {
				return err
			}
		}
		last, err := p.AwaitAll(ctx, n)
		if err != nil {
			return err
		}
		// The last child was enqueued a little before its Enqueue returned.
		r.Add("end of the last after its time", max(0, last.Sub(enqueued.Add(d)).Seconds()*1000), "ms")
		if err := addMemory(s, r, "after their end", true); err != nil {
			return err
		}
		return p.Finish(ctx)
	}
}

// meanwhile ends the names of figures of the time that the case is about.
const meanwhile = "meanwhile"

// quietly measures the processes while they get no requests. when ends the names of the figures.
func quietly(ctx context.Context, s *stack.Stack, r *figures.Result, d time.Duration, when string) error {
	before, err := s.Usage()
	if err != nil {
		return err
	}
	if err := stack.Pause(ctx, d); err != nil {
		return err
	}
	after, err := s.Usage()
	if err != nil {
		return err
	}
	used := after.Since(before)
	for _, name := range []string{stack.ServerName, stack.PostgresName} {
		r.Add("CPU of the "+name+" "+when, 100*used.CPU[name].Seconds()/used.Elapsed.Seconds(), "% of a core")
	}
	return nil
}

// measurePaused enqueues n conditions, measures what they cost while they wait, and signals them all.
func measurePaused(n, concurrency int, quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		if err := addMemory(s, r, "at the start", false); err != nil {
			return err
		}
		began := time.Now()
		if _, err := stack.Each(n, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, stack.AsCondition) }); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		r.Add("Enqueue", float64(n)/time.Since(began).Seconds(), "/s")
		if err := quietly(ctx, s, r, quiet, meanwhile); err != nil {
			return err
		}
		if err := addMemory(s, r, "with all of them paused", true); err != nil {
			return err
		}
		began = time.Now()
		taken, err := stack.Each(n, concurrency, childName, func(name string) error {
			_, err := s.API.SignalEvent(ctx, &workflow.SignalEventRequest{
				ActionId: ident.Action{Run: p.Action.Run, Name: name}.Proto(), ParentActionName: p.Action.Name,
				Payload: &workflow.EventPayload{Value: &workflow.EventPayload_BoolValue{BoolValue: true}},
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("signal: %w", err)
		}
		r.Latency("SignalEvent", taken)
		last, err := p.AwaitAll(ctx, n)
		if err != nil {
			return err
		}
		r.Add("signalled and seen", float64(n)/last.Sub(began).Seconds(), "/s")
		return p.Finish(ctx)
	}
}

// startOperator starts what acts for RayJobs.
type startOperator func(context.Context, *stack.Stack) (io.Closer, error)

// playedKubeRay is an operator that this process plays, and realKubeRay is KubeRay itself.
func playedKubeRay(ctx context.Context, s *stack.Stack) (io.Closer, error) {
	return s.StartRayJobs(ctx)
}
func realKubeRay(ctx context.Context, s *stack.Stack) (io.Closer, error) { return s.StartKubeRay(ctx) }

// measureRayJobs runs n plain pods, then n RayJobs of three pods each, on the same server: how fast they begin and end, and what
// one of them costs the server in CPU, and in memory while all run.
func measureRayJobs(start startOperator, n, callers int, quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) (err error) {
		operator, err := start(ctx, s)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, operator.Close()) }()
		s.Env = append(s.Env, "FLYTE_EXECUTOR_PLUGINS_ENABLED=pod,ray")
		defer func() { s.Env = s.Env[:len(s.Env)-1] }()
		if err := s.RestartServer(ctx, r); err != nil {
			return err
		}
		if err := s.WriteSleep(stack.HeldSleep, 0); err != nil {
			return err
		}
		plain, ray := stack.PythonTask(stack.HeldTask), stack.PythonTask(stack.HeldTask)
		ray.TaskTemplate.Type = "ray"
		ray.TaskTemplate.Custom, err = structpb.NewStruct(map[string]any{"rayCluster": map[string]any{
			"headGroupSpec":   map[string]any{},
			"workerGroupSpec": []any{map[string]any{"groupName": "workers", "replicas": 1}},
		}})
		if err != nil {
			return err
		}
		if err := measureHeldPods(ctx, s, r, heldPods{"plain pods", plain, n, callers, quiet}); err != nil {
			return err
		}
		return measureHeldPods(ctx, s, r, heldPods{"RayJobs", ray, n, callers, quiet})
	}
}

// heldPods is one kind of task whose attempts all run at once.
type heldPods struct {
	name       string
	spec       *task.TaskSpec
	n, callers int
	quiet      time.Duration
}

func measureHeldPods(ctx context.Context, s *stack.Stack, r *figures.Result, h heldPods) error {
	p, err := stack.StartFakeParent(ctx, s)
	if err != nil {
		return err
	}
	if err := stack.Pause(ctx, h.quiet); err != nil {
		return err
	}
	before, _, err := figures.MemoryOf(s.Server.Pid())
	if err != nil {
		return err
	}
	usage, err := s.Usage()
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := stack.Each(h.n, h.callers, childName, func(name string) error { return s.EnqueueJob(ctx, p.Action, name, h.spec) }); err != nil {
		return fmt.Errorf("enqueue %s: %w", h.name, err)
	}
	for s.Node.Held() < h.n {
		if err := stack.Pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d %s run: %w", s.Node.Held(), h.n, h.name, err)
		}
	}
	r.Add(h.name+", started", float64(h.n)/time.Since(began).Seconds(), "/s")
	if err := stack.Pause(ctx, h.quiet); err != nil {
		return err
	}
	during, _, err := figures.MemoryOf(s.Server.Pid())
	if err != nil {
		return err
	}
	r.Add(h.name+", memory of the server for each", max(0, during-before)*1024/float64(h.n), "KiB")
	ending := time.Now()
	if err := s.Node.Release(ctx); err != nil {
		return err
	}
	last, err := p.AwaitAll(ctx, h.n)
	if err != nil {
		return err
	}
	r.Add(h.name+", ended", float64(h.n)/last.Sub(ending).Seconds(), "/s")
	if err := settled(ctx, s, 1); err != nil { // the parent
		return err
	}
	used, err := s.Usage()
	if err != nil {
		return err
	}
	spent := used.Since(usage)
	r.Add(h.name+", finished actions", float64(h.n)/(last.Sub(ending)+ending.Sub(began)-h.quiet).Seconds(), "/s")
	for _, process := range []string{stack.ServerName, stack.ApiserverName} {
		r.Add(h.name+", CPU of the "+process+" for each", figures.Milliseconds(spent.CPU[process])/float64(h.n), "ms")
	}
	r.Add(h.name+", others meanwhile", spent.Others, "cores")
	return p.Finish(ctx)
}
