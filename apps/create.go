package apps

import (
	"context"
	"crypto/rand"
	"maps"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps/store"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/place"
)

// Create implements appconnect.AppServiceHandler. The app is at its first revision, which is started in the background.
func (h *handler) Create(ctx context.Context, r *app.CreateRequest) (*app.CreateResponse, error) {
	meta, spec := r.GetApp().GetMetadata(), proto.CloneOf(r.GetApp().GetSpec())
	key := keyOf(meta.GetId())
	if err := place.Accepts(ctx, h.projects, key.Project, key.Domain, "app"); err != nil {
		return nil, err
	}
	// Completed before it is checked, so that what is checked is what is stored.
	complete(spec)
	spec.Creator = caller.Identity(ctx)
	if err := h.config.check("app.spec", spec); err != nil {
		return nil, err
	}
	known, err := h.facts(ctx)
	if err != nil {
		return nil, err
	}
	a := &store.App{
		UID: strings.ToLower(rand.Text()), Key: key, Revision: 1, CreatedBy: caller.Subject(ctx), CreatedAt: known.now, UpdatedAt: known.now,
		RunVersion: 1,
	}
	if err := apply(a, meta, spec); err != nil {
		return nil, err
	}
	if err := h.place(a, spec, known); err != nil {
		return nil, err
	}
	added, err := revision(ctx, a, "", 0, known)
	if err != nil {
		return nil, err
	}
	change, _, err := h.decide(a, known)
	if err != nil {
		return nil, err
	}
	change.Added, change.Uses = added, usesOf(key, spec)
	if err := act(ctx, change.Events); err != nil {
		return nil, err
	}
	if err := h.store.Create(ctx, change); err != nil {
		return nil, err
	}
	created, err := h.message(ctx, a)
	return &app.CreateResponse{App: created}, err
}

// complete fills in what clients expect to be set when they read a spec again.
func complete(spec *app.Spec) {
	if spec.GetIngress() == nil {
		spec.Ingress = &app.IngressConfig{}
	}
	switch spec.GetDesiredState() {
	case app.Spec_DESIRED_STATE_STOPPED:
	default: // STARTED is an older word
		spec.DesiredState = app.Spec_DESIRED_STATE_ACTIVE
	}
}

// apply writes what a request declares to the row of an app. What identifies the code survives a request without it.
func apply(a *store.App, meta *app.Meta, spec *app.Spec) (err error) {
	a.Subdomain, a.CName = subdomainOf(a.Key, spec), nil
	if host := spec.GetIngress().GetCname(); host != "" {
		a.CName = &host
	}
	a.DesiredState = int16(spec.GetDesiredState()) //nolint:gosec // an enumeration
	if labels := meta.GetLabels(); len(labels) > 0 || a.Labels == nil {
		a.Labels = maps.Clone(labels)
	}
	if uri := meta.GetCodeBundleUri(); uri != "" {
		a.CodeBundleURI = uri
	} else if uri := bundleOf(spec); uri != "" {
		a.CodeBundleURI = uri
	}
	if code := meta.GetSourceCode(); code != nil {
		if a.SourceCode, err = encode(code); err != nil {
			return err
		}
	}
	a.Spec, err = encode(spec)
	return err
}

// revision is a new revision with the spec of the row.
func revision(ctx context.Context, a *store.App, reason string, restores int64, known facts) (*store.Revision, error) {
	who, err := caller.Encoded(ctx)
	if err != nil {
		return nil, err
	}
	return &store.Revision{
		Revision: a.Revision, Spec: a.Spec, CreatedAt: known.now, CreatedBy: who, Reason: reason, Restores: restores,
		State: int16(insightv1.AppRevisionState_APP_REVISION_STATE_STARTING),
	}, nil
}

// act makes the caller the one who caused the events.
func act(ctx context.Context, events []store.Event) error {
	who, err := caller.Encoded(ctx)
	for i := range events {
		events[i].Actor = who
	}
	return err
}
