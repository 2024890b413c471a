package apps

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps/rollout"
	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// facts are what a rollout decision needs besides the row of the app.
type facts struct {
	now time.Time
	// clusters are those whose deployers have ever been seen.
	clusters map[string]store.Cluster
	// view is how the clusters are; nil if the installation does not know its clusters.
	view View
	// load is nil when it is not known.
	load *rollout.Load
	wake bool
}

// heard reports whether the deployer of one of some clusters reports.
func (f facts) heard(clusters []string) bool {
	return slices.ContainsFunc(clusters, func(name string) bool {
		cluster, seen := f.clusters[name]
		return seen && !cluster.Silent
	})
}

// decider applies the decisions of package rollout to rows.
type decider struct {
	config Config
	meters *meters
}

// facts reads what decisions need; within a transaction that changes an app it must have been read before.
func (h *handler) facts(ctx context.Context) (facts, error) {
	clusters, err := h.store.Clusters(ctx)
	known := facts{now: h.clock.Now(), clusters: clusters}
	if err == nil && h.clusters != nil {
		known.view, err = h.clusters.Look(ctx)
	}
	return known, err
}

// decodeState reads the state of the rollout, which an app that was never decided does not have.
func decodeState(a *store.App) (state rollout.State, err error) {
	if len(a.State) == 0 {
		return state, nil
	}
	if err := json.Unmarshal(a.State, &state); err != nil {
		return state, rpc.DataLoss(err, "the stored state of app %s cannot be read", a.Name)
	}
	return state, nil
}

// decodeObserved reads the last report about an app; empty if there was none.
func decodeObserved(a *store.App) (*enginev1.ObservedApp, error) {
	observed := &enginev1.ObservedApp{}
	if err := proto.Unmarshal(a.Observed, observed); err != nil {
		return nil, rpc.DataLoss(err, "the stored report about app %s cannot be read", a.Name)
	}
	return observed, nil
}

// decide decides the rollout of an app again and writes the result to its row. It reports whether anything has changed.
func (d decider) decide(a *store.App, known facts) (change store.Change, changed bool, err error) {
	change.App = a
	// The app is run by an operator that is not a deployer of this installation. Its status is what that operator
	// reports.
	if a.Foreign {
		a.NextAt = nil
		return change, false, nil
	}
	before, err := decodeState(a)
	if err != nil {
		return change, false, err
	}
	in, err := d.input(a, known)
	if err != nil {
		return change, false, err
	}
	after := rollout.Next(before, in)
	body, err := json.Marshal(after)
	if err != nil {
		return change, false, rpc.Internal(err, "the state of an app cannot be stored")
	}
	// The encoding of a state is deterministic, so equal bytes mean that nothing was decided.
	if string(body) == string(a.State) && sameTime(a.NextAt, after.NextAt) {
		return change, false, nil
	}
	a.State, a.NextAt = body, nil
	if !after.NextAt.IsZero() {
		next := after.NextAt
		a.NextAt = &next
	}
	// RunVersion grows only when the deployer has something to do. Its stream compares this number, so a change of
	// status alone is not sent to it.
	if !after.SameRun(before) {
		a.RunVersion++
	}
	if after.Condition != before.Condition {
		change.Events = append(change.Events, event(after.Condition, known.now))
		a.Status, a.UpdatedAt = int16(after.Condition.Status), known.now //nolint:gosec // of an enumeration
	}
	change.Judged = judged(before, after)
	// Counted after the commit: a decision that is rolled back did not happen.
	change.Committed = func(ctx context.Context) { d.meters.decided(ctx, before, after, known.now) }
	if after.Serving.Number != before.Serving.Number || before.Replicas == 0 && after.Replicas > 0 {
		a.StartedAt = &known.now
	}
	return change, true, nil
}

func sameTime(stored *time.Time, next time.Time) bool {
	if stored == nil {
		return next.IsZero()
	}
	return stored.Equal(next)
}

// event is the entry of an app's history for a condition.
func event(c rollout.Condition, now time.Time) store.Event {
	return store.Event{
		Time: now, Revision: int64(c.Revision), Status: int16(c.Status), Substate: int16(c.Substate), Message: c.Message, //nolint:gosec // of enumerations
	}
}

// judged are the new states of revisions.
func judged(before, after rollout.State) []store.Revision {
	var judged []store.Revision
	add := func(number uint64, state insightv1.AppRevisionState, message string) {
		judged = append(judged, store.Revision{Revision: int64(number), State: int16(state), Message: message}) //nolint:gosec // counts from 1
	}
	if old, now := before.Serving.Number, after.Serving.Number; old != now {
		if old != 0 {
			add(old, insightv1.AppRevisionState_APP_REVISION_STATE_REPLACED, "")
		}
		if now != 0 {
			add(now, insightv1.AppRevisionState_APP_REVISION_STATE_SERVING, "")
		}
	}
	if after.Failure != nil && (before.Failure == nil || *before.Failure != *after.Failure) {
		add(after.Newest, insightv1.AppRevisionState_APP_REVISION_STATE_FAILED, after.Failure.Message)
	}
	if after.Newest != before.Newest && before.Trial && before.Newest != 0 {
		add(before.Newest, insightv1.AppRevisionState_APP_REVISION_STATE_REPLACED, "a later revision came before it was ready")
	}
	return judged
}

// input assembles what package rollout decides on: the row, the last report of the deployer, the load, and whether the
// cluster is silent.
func (d decider) input(a *store.App, known facts) (rollout.Input, error) {
	spec, err := decodeSpec(a.Spec)
	if err != nil {
		return rollout.Input{}, err
	}
	observed, err := decodeObserved(a)
	if err != nil {
		return rollout.Input{}, err
	}
	in := rollout.Input{
		Now: known.now, Stopped: a.DesiredState == int16(app.Spec_DESIRED_STATE_STOPPED), Newest: d.config.revisionOf(a.Revision, spec),
		Observed: map[uint64]rollout.Observed{}, Reported: a.ObservedAt != nil, Applied: observed.GetApplied(), Version: a.RunVersion,
		Load: known.load, Wake: known.wake,
		Limits: rollout.Limits{Start: d.config.StartTimeout, Drain: d.config.Drain, Stop: d.config.StopTimeout},
	}
	cluster, seen := known.clusters[a.Cluster]
	in.Shared = cluster.Shared && !cluster.GivesPorts
	switch {
	case a.Waits != "":
		in.Silence = sentence.Say("it waits for a cluster") + "; " + a.Waits
	case len(a.Others) > 0 && known.heard(a.Others): // the other clusters run it
	case !seen:
		in.Silence = sentence.Say("no deployer of cluster %s has ever been seen", a.Cluster)
	case cluster.Silent:
		in.Silence = sentence.Say("the deployer of cluster %s has been silent since %s", a.Cluster, cluster.SeenAt.UTC().Format(time.RFC3339))
	}
	for _, r := range observed.GetRevisions() {
		in.Observed[r.GetRevision()] = observedOf(r)
	}
	return in, nil
}

// phaseEnded is how a deployer reports a replica of which only the log is left.
const phaseEnded = "Ended"

// observedOf counts the replicas of a revision. A draining replica still exists, but takes no new requests, so it is
// not ready.
func observedOf(r *enginev1.ObservedRevision) rollout.Observed {
	seen := rollout.Observed{}
	for _, replica := range r.GetReplicas() {
		if replica.GetPhase() == phaseEnded {
			continue
		}
		seen.Replicas++
		if replica.GetReady() && !replica.GetDraining() {
			seen.Ready++
		}
	}
	if p := r.GetProblem(); p != nil {
		seen.Problem = &rollout.Problem{Substate: int32(p.GetSubstate()), Message: p.GetMessage(), Permanent: p.GetPermanent()}
	}
	return seen
}
