package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureIdle watches a newly started server for a while.
func measureIdle(quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := s.RestartServer(ctx, r); err != nil {
			return err
		}
		before, err := s.Usage()
		if err != nil {
			return err
		}
		if err := stack.Pause(ctx, quiet); err != nil {
			return err
		}
		after, err := s.Usage()
		if err != nil {
			return err
		}
		r.Add("CPU of the server", figures.Milliseconds(after.Since(before).CPU[stack.ServerName])/quiet.Seconds(), "ms/s")
		return addMemory(s, r, "", false)
	}
}

// measurePod creates runs one at a time, each after the previous one has left nothing behind.
func measurePod(samples int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		var accepted, made, seen []time.Duration
		for range samples {
			run := s.NewRun("single")
			// Before the call: the pod may exist before CreateRun is answered.
			pod := s.Node.Want(run.Root())
			began := time.Now()
			if err := s.CreateRun(ctx, run); err != nil {
				return err
			}
			accepted = append(accepted, time.Since(began))
			select {
			case found := <-pod:
				made = append(made, max(0, found.At.Sub(began)))
				if err := s.Node.End(ctx, found.Pod); err != nil {
					return err
				}
			case <-ctx.Done():
				return fmt.Errorf("the pod did not appear: %w", ctx.Err())
			}
			if err := awaitRun(ctx, s, run); err != nil {
				return err
			}
			seen = append(seen, time.Since(began))
			if err := s.Node.Drained(ctx, 0); err != nil {
				return err
			}
		}
		r.Latency("CreateRun answered", accepted)
		r.Latency("CreateRun to pod", made)
		r.Latency("CreateRun to end seen", seen)
		return nil
	}
}

// awaitRun watches a run until it succeeds.
func awaitRun(ctx context.Context, s *stack.Stack, run ident.Run) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.API.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: run.Proto()})
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // read as far as needed
	for stream.Receive() {
		switch at := stream.Msg().GetDetails().GetAction().GetStatus().GetPhase(); {
		case at == common.ActionPhase_ACTION_PHASE_SUCCEEDED:
			return nil
		case phase.Terminal(at):
			return fmt.Errorf("run %s: %s", run, phase.Name(at))
		}
	}
	return fmt.Errorf("the watch of run %s ended: %w", run, stream.Err())
}

// measureChildEnd ends children one at a time.
func measureChildEnd(samples int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		var fromWrite, fromStored []time.Duration
		for i := range samples {
			child := ident.Action{Run: p.Action.Run, Name: fmt.Sprintf("c%d", i)}
			pod := s.Node.Want(child)
			if err := s.Enqueue(ctx, p.Action, child.Name, stack.WithPod); err != nil {
				return err
			}
			var found stack.Appearance
			select {
			case found = <-pod:
			case <-ctx.Done():
				return fmt.Errorf("the child's pod did not appear: %w", ctx.Err())
			}
			began := time.Now()
			if err := s.Node.End(ctx, found.Pod); err != nil {
				return err
			}
			stored := time.Now()
			at, err := p.Await(ctx, child.Name)
			if err != nil {
				return err
			}
			fromWrite = append(fromWrite, at.Sub(began))
			// The watch may have the end before the node has the answer to its write.
			fromStored = append(fromStored, max(0, at.Sub(stored)))
			if err := s.Node.Drained(ctx, 1); err != nil {
				return err
			}
		}
		r.Latency("from its status stored", fromStored)
		r.Latency("from its status sent", fromWrite)
		return p.Finish(ctx)
	}
}

// measureCreate creates runs as fast as the server accepts them. Their pods run meanwhile.
func measureCreate(n int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		for _, concurrency := range []int{1, 8, 32} {
			started := s.Node.StartedPods()
			before, err := s.Usage()
			if err != nil {
				return err
			}
			began := time.Now()
			taken, err := stack.Each(n, concurrency, namer(s, "many"), func(run ident.Run) error { return s.CreateRun(ctx, run) })
			if err != nil {
				return err
			}
			elapsed := time.Since(began)
			if err := awaitStarted(ctx, s, started+n); err != nil {
				return err
			}
			if err := s.Node.Drained(ctx, 0); err != nil {
				return err
			}
			all := time.Since(began)
			name := fmt.Sprintf("concurrency %d", concurrency)
			r.Add(name+", accepted", float64(n)/elapsed.Seconds(), "runs/s")
			r.Latency(name, taken)
			after, err := s.Usage()
			if err != nil {
				return err
			}
			r.Add(name+", done", float64(n)/all.Seconds(), "runs/s")
			used := after.Since(before)
			r.Add(name+", CPU per run of all processes", figures.Milliseconds(used.Total())/float64(n), "ms")
			r.Add(name+", others meanwhile", used.Others, "cores")
			r.Add(name+", extra pods", float64(s.Node.StartedPods()-started-n), "")
		}
		return nil
	}
}

// measureCreateBuiltIn creates runs of a built-in task, so that no pods compete with the calls.
func measureCreateBuiltIn(n int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		for _, concurrency := range []int{1, 8, 32} {
			began := time.Now()
			taken, err := stack.Each(n, concurrency, namer(s, "sleep"), func(run ident.Run) error { return createSleep(ctx, s, run.Name, nil) })
			if err != nil {
				return err
			}
			name := fmt.Sprintf("concurrency %d", concurrency)
			r.Add(name+", accepted", float64(n)/time.Since(began).Seconds(), "runs/s")
			r.Latency(name, taken)
		}
		return nil
	}
}

// namer returns names of new runs. Callers use it concurrently, and the stack's counter is not safe for that.
func namer(s *stack.Stack, prefix string) func(int) ident.Run {
	var mu sync.Mutex
	return func(int) ident.Run {
		mu.Lock()
		defer mu.Unlock()
		return s.NewRun(prefix)
	}
}

// awaitStarted waits until the node has seen n pods.
func awaitStarted(ctx context.Context, s *stack.Stack, n int) error {
	for s.Node.StartedPods() < n {
		if err := stack.Pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d pods appeared: %w", s.Node.StartedPods(), n, err)
		}
	}
	return nil
}

// measureChain runs actions one after the other.
func measureChain(links int, k stack.Kind) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := s.WriteSleepInputs(); err != nil {
			return err
		}
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		began := time.Now()
		taken := make([]time.Duration, 0, links)
		for i := range links {
			from := time.Now()
			name := fmt.Sprintf("c%d", i)
			if err := s.Enqueue(ctx, p.Action, name, k); err != nil {
				return err
			}
			at, err := p.Await(ctx, name)
			if err != nil {
				return err
			}
			taken = append(taken, at.Sub(from))
		}
		r.Add("per link", figures.Milliseconds(time.Since(began))/float64(links), "ms")
		r.Latency("link", taken)
		return p.Finish(ctx)
	}
}
