package launch

import (
	"cmp"
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	// maxRecoveredTraces is how many traces of one action are reused at most; the functions of others run again. It keeps
	// the recording of an action within the time that its client waits.
	maxRecoveredTraces = 5000
	// tracesAtOnce is how many outputs of traces are looked for at a time.
	tracesAtOnce = 64
)

// traces finds the traces that an action of a recovering run need not run again: those that succeeded below the same
// action of the source. They are stored with the action, since its process reads them only in its first snapshot. An
// action that must run again has none.
func (rs *Recoveries) traces(ctx context.Context, run *runContext, a *schema.Action) ([]store.RecoveredTrace, error) {
	r := run.Recovery
	name := cmp.Or(a.Name, ident.RootAction)
	if r == nil || a.Phase == state.Recovered || r.listed[name] {
		return nil, nil
	}
	results, err := rs.Results.TraceResults(ctx, r.runIDs(), name, maxRecoveredTraces)
	if err != nil {
		return nil, err
	}
	var traces []store.RecoveredTrace
	seen := make(map[string]bool, len(results))
	for i := range results {
		name := results[i].Name
		if seen[name] || r.again[name] {
			continue
		}
		seen[name] = true
		found := r.newest(results, name)
		if found == nil || !good(found.Phase) || found.OutputURI == "" {
			continue
		}
		from, err := origin(run.ID, found)
		if err != nil {
			return nil, err
		}
		traces = append(traces, store.RecoveredTrace{Result: *found, From: from})
	}
	return rs.withOutputs(ctx, traces)
}

// withOutputs leaves out traces whose outputs are gone.
func (rs *Recoveries) withOutputs(ctx context.Context, traces []store.RecoveredTrace) ([]store.RecoveredTrace, error) {
	there := make([]bool, len(traces))
	looks, ctx := errgroup.WithContext(ctx)
	looks.SetLimit(tracesAtOnce)
	for i := range traces {
		looks.Go(func() (err error) {
			there[i], err = rs.there(ctx, traces[i].OutputURI)
			return err
		})
	}
	if err := looks.Wait(); err != nil {
		return nil, err
	}
	kept := traces[:0]
	for i := range traces {
		if there[i] {
			kept = append(kept, traces[i])
		}
	}
	return kept, nil
}
