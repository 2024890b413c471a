package apps

import (
	"cmp"
	"context"
	"slices"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// WatchApps implements enginev1connect.AppFleetServiceHandler. While the stream is open, the deployer counts as alive.
func (h *handler) WatchApps(ctx context.Context, r *enginev1.WatchAppsRequest, to *connect.ServerStream[enginev1.WatchAppsResponse]) error {
	cluster := cmp.Or(r.GetCluster(), ident.DefaultCluster)
	if !ident.IsCluster(cluster) {
		return rpc.InvalidArgument("cluster", "%s, got %q", ident.ClusterRule, cluster)
	}
	network := &store.Network{Shared: r.GetSharedNetwork(), GivesPorts: r.GetGivesPorts()}
	if err := h.seen(ctx, cluster, network); err != nil {
		return err
	}
	sentinel := func() error {
		return to.Send(&enginev1.WatchAppsResponse{Message: &enginev1.WatchAppsResponse_Sentinel{Sentinel: &enginev1.AppsSentinel{}}})
	}
	removed := func(uid string) error {
		return to.Send(&enginev1.WatchAppsResponse{Message: &enginev1.WatchAppsResponse_Removed{Removed: &enginev1.RemovedApp{Uid: uid}}})
	}
	s := &follower{
		h: h, scope: store.Scope{Cluster: cluster}, version: func(head store.Head) int64 { return head.RunVersion }, maxAge: h.config.MaxAge,
		first: sentinel,
		beat: func() error {
			if err := sentinel(); err != nil {
				return err
			}
			return h.seen(ctx, cluster, network)
		},
		gone: func(head store.Head) error { return removed(head.UID) },
		changed: func(ctx context.Context, rows []*store.App, _ map[int64]store.Head) error {
			for _, a := range rows {
				// The deployer must not run what another operator runs: to this stream, the app is removed.
				if !a.Foreign {
					continue
				}
				if err := removed(a.UID); err != nil {
					return err
				}
			}
			desired, err := h.desired(ctx, rows)
			if err != nil {
				return err
			}
			for _, d := range desired {
				if err := to.Send(&enginev1.WatchAppsResponse{Message: &enginev1.WatchAppsResponse_App{App: d}}); err != nil {
					return err
				}
			}
			return nil
		},
	}
	return s.run(ctx)
}

// seen notes that the deployer of a cluster is alive. If it was silent before, its apps are decided again.
func (h *handler) seen(ctx context.Context, cluster string, network *store.Network) error {
	now := h.clock.Now()
	changed, err := h.store.Seen(ctx, cluster, network, now)
	if err != nil || !changed {
		return err
	}
	return h.store.Nudge(ctx, cluster, now)
}

// desired is what a cluster should run for some apps. An app of a foreign operator is left out.
func (h *handler) desired(ctx context.Context, rows []*store.App) ([]*enginev1.DesiredApp, error) {
	var desired []*enginev1.DesiredApp
	var ids, revisions []int64
	for _, a := range rows {
		state, err := decodeState(a)
		if err != nil {
			return nil, err
		}
		d := &enginev1.DesiredApp{Uid: a.UID, Id: idOf(a.Key), Serving: state.Route, Version: a.RunVersion}
		if a.Foreign {
			continue
		}
		for _, want := range state.Want {
			d.Revisions = append(d.Revisions, &enginev1.DesiredRevision{Revision: want.Revision, Replicas: want.Replicas, Labels: a.Labels})
			ids, revisions = append(ids, a.ID), append(revisions, int64(want.Revision)) //nolint:gosec // counts from 1
		}
		desired = append(desired, d)
	}
	specs, err := h.store.Named(ctx, ids, revisions)
	if err != nil {
		return nil, err
	}
	// ids and revisions were filled in the order of this loop.
	at := 0
	for _, d := range desired {
		for _, r := range d.GetRevisions() {
			body := specs[[2]int64{ids[at], revisions[at]}]
			at++
			if r.Spec, err = decodeSpec(body); err != nil {
				return nil, err
			}
			r.Port, _ = portOf(r.GetSpec())
			r.TakesPort = takesPort(r.GetSpec())
		}
	}
	return desired, nil
}

// ReportApps implements enginev1connect.AppFleetServiceHandler.
func (h *handler) ReportApps(ctx context.Context, r *enginev1.ReportAppsRequest) (*enginev1.ReportAppsResponse, error) {
	cluster := cmp.Or(r.GetCluster(), ident.DefaultCluster)
	if !ident.IsCluster(cluster) {
		return nil, rpc.InvalidArgument("cluster", "%s, got %q", ident.ClusterRule, cluster)
	}
	if err := h.seen(ctx, cluster, nil); err != nil {
		return nil, err
	}
	reports := map[string]*enginev1.ObservedApp{}
	for _, observed := range r.GetApps() {
		reports[observed.GetUid()] = observed // the last one counts
	}
	uids := make([]string, 0, len(reports))
	for uid := range reports {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	answer := &enginev1.ReportAppsResponse{}
	if len(uids) == 0 {
		return answer, nil
	}
	known, err := h.facts(ctx)
	if err != nil {
		return nil, err
	}
	// Apps that are in the report but not in the database, or are on another cluster now, are returned as unknown: the
	// deployer removes what it has of them.
	met := map[string]bool{}
	err = h.store.Change(ctx, store.ByUIDs(uids...), func(rows []*store.App) (changes []store.Change, err error) {
		for _, a := range rows {
			if !runsOn(a, cluster) {
				continue // it has moved
			}
			met[a.UID] = true
			change, changed, err := h.observe(a, cluster, reports[a.UID], known)
			if err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Str("app", a.Key.String()).Msg("cannot record the report about an app")
				continue // the others are well
			}
			if changed {
				changes = append(changes, change)
			}
		}
		return changes, nil
	})
	if err != nil {
		return nil, err
	}
	for _, uid := range uids {
		if !met[uid] {
			answer.Unknown = append(answer.Unknown, uid)
		}
	}
	return answer, nil
}

// observe records a report. The same report again changes nothing; one that is older than the last does not count.
func (h *handler) observe(a *store.App, cluster string, report *enginev1.ObservedApp, known facts) (store.Change, bool, error) {
	before, err := decodeObserved(a)
	if err != nil {
		return store.Change{}, false, err
	}
	if report.GetApplied() > 0 && report.GetApplied() < appliedBy(before, a, cluster) || report.GetApplied() > a.RunVersion {
		return store.Change{}, false, nil
	}
	report = merged(before, report, a, cluster)
	body, err := encode(report)
	if err != nil {
		return store.Change{}, false, err
	}
	same := a.ObservedAt != nil && string(body) == string(a.Observed)
	gone, err := logged(before, report, known)
	if err != nil {
		return store.Change{}, false, err
	}
	a.Observed, a.ObservedAt, a.Ready = body, &known.now, 0
	for _, r := range report.GetRevisions() {
		a.Ready += int32(observedOf(r).Ready) //nolint:gosec // a count
	}
	change, changed, err := h.decide(a, known)
	change.Gone = gone
	return change, changed || !same, err
}

// logged are the replicas of a report whose log has been kept since the report before.
func logged(before, after *enginev1.ObservedApp, known facts) ([]store.Replica, error) {
	had := map[string]string{}
	for _, r := range before.GetRevisions() {
		for _, replica := range r.GetReplicas() {
			had[replica.GetName()] = replica.GetLogUri()
		}
	}
	var found []store.Replica
	for _, r := range after.GetRevisions() {
		for _, replica := range r.GetReplicas() {
			if uri := replica.GetLogUri(); uri == "" || uri == had[replica.GetName()] {
				continue
			}
			body, err := encode(replica)
			if err != nil {
				return nil, err
			}
			found = append(found, store.Replica{Name: replica.GetName(), Revision: int64(r.GetRevision()), Replica: body, GoneAt: known.now}) //nolint:gosec // counts from 1
		}
	}
	return found, nil
}

// UpdateStatus implements appconnect.AppServiceHandler, for operators other than the deployers of this installation: the last
// condition of the request is appended. From the first one on, the app is the operator's.
func (h *handler) UpdateStatus(ctx context.Context, r *app.UpdateStatusRequest) (*app.UpdateStatusResponse, error) {
	conditions := r.GetApp().GetStatus().GetConditions()
	if len(conditions) == 0 {
		return nil, rpc.InvalidArgument("app.status.conditions", "a condition is required")
	}
	last, key, now := conditions[len(conditions)-1], keyOf(r.GetApp().GetMetadata().GetId()), h.clock.Now()
	var updated *store.App
	err := h.store.Change(ctx, store.ByKey(key), func(found []*store.App) ([]store.Change, error) {
		if len(found) == 0 {
			return nil, store.NotFound(key)
		}
		updated = found[0]
		if !updated.Foreign {
			updated.RunVersion++
		}
		updated.Foreign, updated.NextAt, updated.UpdatedAt = true, nil, now
		updated.Status = int16(last.GetDeploymentStatus()) //nolint:gosec // an enumeration
		appended := store.Event{
			Time: now, Revision: updated.Revision, Status: updated.Status, Substate: int16(last.GetSubstate()), Message: last.GetMessage(), //nolint:gosec // an enumeration
		}
		if revision := last.GetRevision(); revision != 0 && revision <= uint64(updated.Revision) { //nolint:gosec // counts from 1
			appended.Revision = int64(revision) //nolint:gosec // at most the newest
		}
		change := store.Change{App: updated, Events: []store.Event{appended}}
		return []store.Change{change}, act(ctx, change.Events)
	})
	if err != nil {
		return nil, err
	}
	answer, err := h.message(ctx, updated)
	return &app.UpdateStatusResponse{App: answer}, err
}

// Lease implements appconnect.AppServiceHandler, for operators other than the deployers of this installation: the apps of a
// cluster, then those that change. A message without apps shows that the stream is alive.
func (h *handler) Lease(ctx context.Context, r *app.LeaseRequest, to *connect.ServerStream[app.LeaseResponse]) error {
	empty := func() error { return to.Send(&app.LeaseResponse{}) }
	s := &follower{
		h: h, scope: store.Scope{Cluster: cmp.Or(r.GetId().GetName(), ident.DefaultCluster)}, maxAge: h.config.MaxAge,
		version: func(head store.Head) int64 { return head.RunVersion },
		first:   empty, beat: empty,
		gone: func(head store.Head) error { // the contract has no word for it but an app that should not run
			return to.Send(&app.LeaseResponse{Apps: []*app.App{{
				Metadata: &app.Meta{Id: idOf(head.Key), Revision: uint64(head.Revision)}, //nolint:gosec // counts from 1
				Spec:     &app.Spec{DesiredState: app.Spec_DESIRED_STATE_STOPPED},
			}}})
		},
		changed: func(ctx context.Context, rows []*store.App, _ map[int64]store.Head) error {
			found, err := h.messages(ctx, rows, listConditions)
			if err != nil {
				return err
			}
			return to.Send(&app.LeaseResponse{Apps: found})
		},
	}
	return s.run(ctx)
}
