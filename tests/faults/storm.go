package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/monitor"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// result is how a storm went.
type result struct {
	seed       uint64
	runs       int
	actions    int // in the database
	lost       int // attempts after the first
	curves     int // of what attempts used
	objects    int // of operators, that came to an end
	jobs       int // of the connector
	slots      int // of triggers, that fired
	told       int // notifications and events that were received, repetitions too
	asked      int // calls whose answers were searched for what is another tenant's
	answered   int // requests for apps
	visited    int // answers to visitors of a tenant with something of it
	faults     []fault
	restarts   []time.Duration
	deaths     []string // the named points at which the server died
	took       time.Duration
	processor  time.Duration // of everything, while the storm lasted
	striking   time.Duration // of took: the faults
	healing    time.Duration // of took: until the server was ready
	settling   time.Duration // of took: until everything had ended
	violations []check.Violation
	memory     int64
	err        error
}

func (r result) failed() bool { return r.err != nil || len(r.violations) > 0 }

// stormLimit bounds one storm with its settling. On a quiet machine a storm takes less than two minutes; what makes no progress is given
// up long before this.
const stormLimit = 20 * time.Minute

// storm runs the plan of one seed on a stack and checks what is left.
func storm(ctx context.Context, s *stack.Stack, p plan, w *injector) (r result) {
	began := time.Now()
	r = result{seed: p.seed, runs: len(p.runs), faults: p.faults}
	used := stack.Processor()
	defer func() {
		r.took, r.processor, r.restarts, r.deaths = time.Since(began), stack.Processor()-used, w.server.restarts(), s.Deaths()
	}()
	ctx, cancel := context.WithTimeout(ctx, stormLimit)
	defer cancel()

	d, err := newDriver(ctx, s, p)
	if err != nil {
		r.err = err
		return r
	}
	defer d.close()
	driving, stopDriving := context.WithCancel(ctx)
	defer d.work.Wait()
	defer stopDriving()
	look := monitor.WatchPods(s)
	defer look.Close()
	placed := monitor.WatchClusters(s)
	defer placed.Close()
	w.outsider = &outsider{stack: s, client: d.root, seed: p.seed}

	d.start(driving)
	w.inject(ctx, p.faults)
	r.striking = time.Since(began)
	if r.err = w.heal(ctx); r.err != nil {
		return r
	}
	r.healing = time.Since(began) - r.striking
	if r.err = d.stopTriggers(ctx); r.err != nil {
		return r
	}
	c := &collector{stack: s, driver: d, look: look, placed: placed, healed: time.Now()}
	if r.err = c.settleApps(ctx); r.err == nil {
		r.err = c.settle(ctx)
	}
	r.settling = time.Since(c.healed)
	if r.err != nil && ctx.Err() == nil {
		return r
	}
	evidence, err := c.collect(context.WithoutCancel(ctx))
	if err != nil {
		r.err = errors.Join(r.err, err)
		return r
	}
	r.curves, r.jobs = len(evidence.Curves), len(evidence.Jobs)
	r.memory, r.objects = evidence.Memory, s.Settled()
	for _, t := range evidence.Triggers {
		r.slots += len(t.Fires)
	}
	for _, run := range evidence.Runs {
		r.actions += len(run.Rows)
		r.told += len(run.Told) + len(run.Published)
		for _, row := range run.Rows {
			r.lost += int(row.Attempt) - 1
		}
	}
	for _, asked := range evidence.Asked {
		r.asked += asked.Calls
	}
	r.visited = len(evidence.Shown)
	for _, one := range evidence.Apps {
		r.answered += len(one.Answers)
	}
	r.violations = check.Check(evidence)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, problem := range d.problems {
		r.violations = append(r.violations, check.Violation{Promise: "client", Text: problem})
	}
	if !r.failed() {
		forget(s, evidence.Runs)
	}
	return r
}

// forget removes what was noted and received in a storm without violations.
func forget(s *stack.Stack, runs []check.Run) {
	for _, run := range runs {
		_ = os.RemoveAll(filepath.Join(s.Ledger, run.Name)) // only to save space
	}
	s.Sink.Forget()
	s.Connector.Forget()
}

// line is the result in one line.
func (r result) line() string {
	verdict := "ok    "
	if r.failed() {
		verdict = "FAILED"
	}
	var kinds []string
	for _, f := range r.faults {
		if f.point != "" {
			kinds = append(kinds, "dies-at:"+f.point)
		} else {
			kinds = append(kinds, f.kind)
		}
	}
	text := fmt.Sprintf("seed %-4d %s %5.1fs (%.0f faults, %.0f ready, %.0f settled, %.0f CPU)  %2d runs %3d actions %3d lost attempts  %2d curves %2d objects %2d jobs %2d slots %4d sent %4d asked %3d visits %3d at apps  %3d MiB  %s", r.seed, verdict,
		r.took.Seconds(), r.striking.Seconds(), r.healing.Seconds(), r.settling.Seconds(), r.processor.Seconds(), r.runs, r.actions, r.lost, r.curves, r.objects, r.jobs, r.slots, r.told, r.asked, r.visited, r.answered, r.memory>>20, strings.Join(kinds, " "))
	if len(r.deaths) > 0 {
		text += "  died at " + strings.Join(r.deaths, " ")
	}
	if len(r.restarts) > 0 {
		var took []string
		for _, one := range r.restarts {
			took = append(took, fmt.Sprintf("%.1fs", one.Seconds()))
		}
		text += "  ready after " + strings.Join(took, " ")
	}
	return text
}
