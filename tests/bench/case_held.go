package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// measureHeld enqueues n children that sleep without a pod, so that all are live at once, and measures what they cost
// meanwhile and how late the last one ends.
func measureHeld(n, concurrency int, d time.Duration) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		if err := s.writeSleep(heldSleep, d); err != nil {
			return err
		}
		p, err := s.startFakeParent(ctx)
		if err != nil {
			return err
		}
		if err := s.addMemory(r, "at the start", false); err != nil {
			return err
		}
		began := time.Now()
		taken, err := each(n, concurrency, childName, func(name string) error { return s.enqueue(ctx, p.action, name, asleep) })
		if err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		enqueued := time.Now()
		r.Add("Enqueue", float64(n)/enqueued.Sub(began).Seconds(), "/s")
		r.Latency("Enqueue", taken)
		if left := time.Until(began.Add(d)); left > 2*time.Second {
			if err := s.quietly(ctx, r, left/2, meanwhile); err != nil {
				return err
			}
			if err := s.addMemory(r, "with all of them live", true); err != nil {
				return err
			}
		}
		last, err := p.awaitAll(ctx, n)
		if err != nil {
			return err
		}
		// The last child was enqueued a little before its Enqueue returned.
		r.Add("end of the last after its time", max(0, last.Sub(enqueued.Add(d)).Seconds()*1000), "ms")
		if err := s.addMemory(r, "after their end", true); err != nil {
			return err
		}
		return p.finish(ctx)
	}
}

// meanwhile ends the names of figures of the time that the case is about.
const meanwhile = "meanwhile"

// quietly measures the processes while they get no requests. when ends the names of the figures.
func (s *stack) quietly(ctx context.Context, r *figures.Result, d time.Duration, when string) error {
	before, err := s.usage()
	if err != nil {
		return err
	}
	if err := pause(ctx, d); err != nil {
		return err
	}
	after, err := s.usage()
	if err != nil {
		return err
	}
	used := after.since(before)
	for _, name := range []string{serverName, postgresName} {
		r.Add("CPU of the "+name+" "+when, 100*used.cpu[name].Seconds()/used.elapsed.Seconds(), "% of a core")
	}
	return nil
}

// measurePaused enqueues n conditions, measures what they cost while they wait, and signals them all.
func measurePaused(n, concurrency int, quiet time.Duration) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		p, err := s.startFakeParent(ctx)
		if err != nil {
			return err
		}
		if err := s.addMemory(r, "at the start", false); err != nil {
			return err
		}
		began := time.Now()
		if _, err := each(n, concurrency, childName, func(name string) error { return s.enqueue(ctx, p.action, name, asCondition) }); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		r.Add("Enqueue", float64(n)/time.Since(began).Seconds(), "/s")
		if err := s.quietly(ctx, r, quiet, meanwhile); err != nil {
			return err
		}
		if err := s.addMemory(r, "with all of them paused", true); err != nil {
			return err
		}
		began = time.Now()
		taken, err := each(n, concurrency, childName, func(name string) error {
			_, err := s.api.SignalEvent(ctx, &workflow.SignalEventRequest{
				ActionId: ident.Action{Run: p.action.Run, Name: name}.Proto(), ParentActionName: p.action.Name,
				Payload: &workflow.EventPayload{Value: &workflow.EventPayload_BoolValue{BoolValue: true}},
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("signal: %w", err)
		}
		r.Latency("SignalEvent", taken)
		last, err := p.awaitAll(ctx, n)
		if err != nil {
			return err
		}
		r.Add("signalled and seen", float64(n)/last.Sub(began).Seconds(), "/s")
		return p.finish(ctx)
	}
}
