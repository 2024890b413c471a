package apps

import (
	"context"
	"maps"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps/rollout"
	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Update implements appconnect.AppServiceHandler. Another spec makes a new revision, which is started in the background. The
// desired state alone stops or starts the app; the same content again changes nothing, unless the newest revision has failed:
// then it is tried again, as a new one.
func (h *handler) Update(ctx context.Context, r *app.UpdateRequest) (*app.UpdateResponse, error) {
	meta, spec := r.GetApp().GetMetadata(), proto.CloneOf(r.GetApp().GetSpec())
	complete(spec)
	if err := h.config.check("app.spec", spec); err != nil {
		return nil, err
	}
	updated, err := h.update(ctx, meta.GetId(), func(a *store.App) (declaration, error) {
		if wanted := meta.GetRevision(); wanted != 0 && wanted != uint64(a.Revision) { //nolint:gosec // counts from 1
			return declaration{}, rpc.Aborted("app %s is at revision %d, not %d: it was changed; read it again", a.Name, a.Revision, wanted)
		}
		return declaration{meta: meta, spec: spec, reason: r.GetReason()}, nil
	})
	return &app.UpdateResponse{App: updated}, err
}

// declaration is what an app should be from now on.
type declaration struct {
	meta   *app.Meta
	spec   *app.Spec
	reason string
	// restores is the revision whose spec it repeats; 0 for none.
	restores int64
}

// update changes an app to what declare returns for its row, under lock.
func (h *handler) update(ctx context.Context, id *app.Identifier, declare func(*store.App) (declaration, error)) (*app.App, error) {
	known, err := h.facts(ctx)
	if err != nil {
		return nil, err
	}
	var updated *store.App
	err = h.store.Change(ctx, store.ByKey(keyOf(id)), func(found []*store.App) ([]store.Change, error) {
		if len(found) == 0 {
			return nil, store.NotFound(keyOf(id))
		}
		updated = found[0]
		declared, err := declare(updated)
		if err != nil {
			return nil, err
		}
		return h.redeclare(ctx, updated, declared, known)
	})
	if err != nil {
		return nil, err
	}
	return h.message(ctx, updated)
}

// redeclare writes a declaration to the row of an app and decides what follows; no changes if it says nothing new. A
// declaration that names no labels, code or source keeps those of the app.
func (h *handler) redeclare(ctx context.Context, a *store.App, declared declaration, known facts) ([]store.Change, error) {
	stored, err := decodeSpec(a.Spec)
	if err != nil {
		return nil, err
	}
	state, err := decodeState(a)
	if err != nil {
		return nil, err
	}
	before := *a
	spec := declared.spec
	// The creator is who created the app, not who changed it last.
	spec.Creator = stored.GetCreator()
	if err := apply(a, declared.meta, spec); err != nil {
		return nil, err
	}
	// The same spec again is how users ask for another try after a revision has failed.
	retry := (state.Failure != nil || state.Broken != nil) && spec.GetDesiredState() == app.Spec_DESIRED_STATE_ACTIVE
	var added *store.Revision
	var uses *store.Uses
	switch {
	case retry || !sameButDesired(stored, spec):
		a.Revision++
		if added, err = revision(ctx, a, declared.reason, declared.restores, known); err != nil {
			return nil, err
		}
		uses = usesOf(a.Key, spec)
	case a.DesiredState == before.DesiredState && sameMeta(a, &before):
		return nil, nil
	}
	if !samePlace(stored, spec) {
		if err := h.place(a, spec, known); err != nil {
			return nil, err
		}
	}
	if a.Cluster != before.Cluster { // it starts again elsewhere
		a.State, a.Observed, a.ObservedAt, a.Ready, a.Foreign = nil, nil, nil, 0, false
	}
	if !maps.Equal(a.Labels, before.Labels) {
		a.RunVersion++ // a deployer writes them to what it runs
	}
	a.UpdatedAt = known.now
	change, _, err := h.decide(a, known)
	if err != nil {
		return nil, err
	}
	if a.Foreign {
		a.RunVersion++
		waits := rollout.Condition{
			Status: int32(app.Status_DEPLOYMENT_STATUS_PENDING), Revision: uint64(a.Revision), Message: sentence.Say("waits for the operator of the cluster"), //nolint:gosec // counts from 1
		}
		a.Status = int16(waits.Status) //nolint:gosec // an enumeration
		change.Events = append(change.Events, event(waits, known.now))
	}
	if declared.reason != "" && added == nil && len(change.Events) > 0 {
		change.Events[0].Message += " (" + declared.reason + ")"
	}
	change.Added, change.Uses = added, uses
	return []store.Change{change}, act(ctx, change.Events)
}

// sameButDesired compares specs without their desired state.
func sameButDesired(a, b *app.Spec) bool {
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	a.DesiredState, b.DesiredState = 0, 0
	return proto.Equal(a, b)
}

func sameMeta(a, b *store.App) bool {
	return maps.Equal(a.Labels, b.Labels) && a.CodeBundleURI == b.CodeBundleURI && string(a.SourceCode) == string(b.SourceCode)
}
