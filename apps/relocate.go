package apps

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// spreadEvery is how often apps that should run in several clusters are looked at.
const spreadEvery = 10 * time.Second

// relocate moves apps from clusters that they have to leave, and places those that wait for one.
func (p *pass) relocate(ctx context.Context) error {
	if p.handler.clusters == nil {
		return nil
	}
	known, err := p.facts(ctx)
	if err != nil {
		return err
	}
	ids, err := p.concerned(ctx, known)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, perRead) {
		if err := p.relocateAll(ctx, part, known); err != nil {
			return err
		}
	}
	return nil
}

// concerned are the apps that may have to move.
func (p *pass) concerned(ctx context.Context, known facts) ([]int64, error) {
	if len(p.config.Spread) > 0 && known.now.Sub(p.spread) >= spreadEvery {
		p.spread = known.now
		return p.store.Placed(ctx, nil, true)
	}
	hosts, err := p.store.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	hosts = slices.DeleteFunc(hosts, func(name string) bool { return p.leave(known, name).Why == "" })
	return p.store.Placed(ctx, hosts, false)
}

// leave is View.Leave, without what may be the consequence of an outage of this server.
func (p *pass) leave(known facts, cluster string) Leave {
	must := known.view.Leave(cluster)
	if must.Lost && known.now.Sub(p.since) < p.settle {
		return Leave{}
	}
	return must
}

// relocateAll looks at apps without a lock first, as decideAll does.
func (p *pass) relocateAll(ctx context.Context, ids []int64, known facts) error {
	decide := func(rows []*store.App) (changes []store.Change) {
		for _, a := range rows {
			change, moved, err := p.move(a, known)
			if err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Str("app", a.Key.String()).Msg("cannot decide which cluster runs an app; skipping it")
				continue
			}
			if moved {
				changes = append(changes, change)
			}
		}
		return changes
	}
	rows, err := p.store.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	var ripe []int64
	for _, change := range decide(rows) {
		ripe = append(ripe, change.App.ID)
	}
	if len(ripe) == 0 {
		return nil
	}
	return p.store.Change(ctx, store.ByIDs(ripe...), func(rows []*store.App) ([]store.Change, error) { return decide(rows), nil })
}

// move gives an app the clusters that it should have now, and reports whether these are others.
func (p *pass) move(a *store.App, known facts) (store.Change, bool, error) {
	if a.Foreign {
		return store.Change{}, false, nil
	}
	spec, err := decodeSpec(a.Spec)
	if err != nil {
		return store.Change{}, false, err
	}
	before := *a
	why := p.resettle(a, spec, known)
	if err := p.left(a, before.Cluster, known); err != nil {
		return store.Change{}, false, err
	}
	if a.Cluster == before.Cluster && a.Waits == before.Waits && slices.Equal(a.Others, before.Others) && slices.Equal(a.Leaving, before.Leaving) {
		return store.Change{}, false, nil
	}
	observed, err := decodeObserved(a)
	if err != nil {
		return store.Change{}, false, err
	}
	observed = attributed(observed, a, before.Cluster)
	keep(observed, func(cluster string) bool { return runsOn(a, cluster) })
	observed.Applied = observed.GetAppliedBy()[a.Cluster]
	if a.Observed, err = encode(observed); err != nil {
		return store.Change{}, false, err
	}
	a.Ready = 0
	for _, r := range observed.GetRevisions() {
		a.Ready += int32(observedOf(r).Ready) //nolint:gosec // a count
	}
	a.RunVersion++ // streams of deployers compare it
	change, _, err := p.decide(a, known)
	if err != nil {
		return store.Change{}, false, err
	}
	if why != "" {
		state, err := decodeState(a)
		if err != nil {
			return store.Change{}, false, err
		}
		moved := state.Condition
		moved.Message = why
		change.Events = append([]store.Event{event(moved, known.now)}, change.Events...)
	}
	return change, true, nil
}

// resettle replaces the clusters that an app has to leave, if others take it. It says what it did.
func (p *pass) resettle(a *store.App, spec *app.Spec, known facts) (why string) {
	if spec.GetCluster() != "" && a.Cluster != "" { // it waits for the cluster that it names
		return ""
	}
	var stay, leave []string
	gone := false
	for _, cluster := range slices.Concat([]string{a.Cluster}, a.Others) {
		switch must := p.leave(known, cluster); {
		case cluster == "":
		case must.Why == "":
			stay = append(stay, cluster)
		default:
			leave, gone = append(leave, cluster), gone || must.Gone
		}
	}
	wanted := p.wanted(a, spec)
	if len(leave) == 0 && len(stay) >= wanted.Count {
		return ""
	}
	placed := known.view.Choose(wanted)
	for _, cluster := range placed.Clusters {
		if len(stay) < wanted.Count && !slices.Contains(stay, cluster) && !slices.Contains(leave, cluster) {
			stay = append(stay, cluster)
		}
	}
	if len(stay) == 0 {
		if a.Cluster == "" || gone {
			a.Cluster, a.Others, a.Waits = "", nil, placed.Words
		}
		return "" // nothing is gained by leaving a cluster for none
	}
	from := slices.Concat([]string{a.Cluster}, a.Others)
	a.Cluster, a.Others, a.Waits = stay[0], stay[1:], ""
	for _, cluster := range leave {
		if p.leave(known, cluster).Serves && !slices.Contains(a.Leaving, cluster) {
			a.Leaving = append(a.Leaving, cluster)
		}
	}
	a.Leaving = slices.DeleteFunc(a.Leaving, func(cluster string) bool { return slices.Contains(stay, cluster) })
	if slices.Equal(from, stay) {
		return ""
	}
	why = sentence.Say("runs in %s", strings.Join(stay, ", "))
	for _, cluster := range leave {
		why += "; " + sentence.Say("cluster %s %s", cluster, p.leave(known, cluster).Why)
	}
	return why
}

// left ends the app in clusters that it leaves, when it is ready elsewhere, does not run, or nothing can be expected of them.
// Reports that name no cluster are of the given one.
func (p *pass) left(a *store.App, reporter string, known facts) error {
	if len(a.Leaving) == 0 {
		return nil
	}
	state, err := decodeState(a)
	if err != nil {
		return err
	}
	observed, err := decodeObserved(a)
	if err != nil {
		return err
	}
	ready := state.Stopped || state.Replicas == 0 && !state.Trial
	for _, r := range attributed(observed, a, reporter).GetRevisions() {
		for _, replica := range r.GetReplicas() {
			ready = ready || r.GetRevision() == state.Route && replica.GetReady() && !replica.GetDraining() && !slices.Contains(a.Leaving, replica.GetCluster())
		}
	}
	a.Leaving = slices.DeleteFunc(slices.Clone(a.Leaving), func(cluster string) bool {
		must := p.leave(known, cluster)
		return ready || must.Why != "" && !must.Serves
	})
	return nil
}
