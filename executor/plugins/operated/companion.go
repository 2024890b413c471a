package operated

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// companionField is where an object that is not created yet has the specification of its companion.
const companionField = "companion"

// firstField is where it has what Draft.First is.
const firstField = "first"

// first creates what the object of an attempt refers to.
func (p *Plugin) first(ctx context.Context, attempt *plugin.Attempt, object *unstructured.Unstructured) error {
	do, ok := object.Object[firstField].(func(context.Context, *unstructured.Unstructured) error)
	delete(object.Object, firstField)
	if ok {
		if err := do(ctx, object); err != nil {
			return err
		}
	}
	return p.createCompanion(ctx, attempt, object)
}

// createCompanion creates the second object of an attempt. One that a deleted TaskAction of the same name left is waited for: the
// garbage collector deletes it.
func (p *Plugin) createCompanion(ctx context.Context, attempt *plugin.Attempt, object *unstructured.Unstructured) error {
	if p.kind.Companion == nil {
		return nil
	}
	second := object.DeepCopy()
	second.SetGroupVersionKind(p.kind.Companion.Object)
	second.Object["spec"] = second.Object[companionField]
	for _, of := range []*unstructured.Unstructured{object, second} {
		delete(of.Object, companionField)
	}
	owners := second.GetOwnerReferences()
	for i := range owners {
		owners[i].Controller, owners[i].BlockOwnerDeletion = nil, nil // it is not the attempt's main object
	}
	second.SetOwnerReferences(owners)
	err := p.deps.Writer.Create(ctx, second)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if _, own, err := p.companion(ctx, attempt); err != nil || own {
		return err
	}
	return fmt.Errorf("%s %s belongs to another TaskAction, which is being deleted", second.GetKind(), second.GetName())
}

// removeCompanion deletes the second object of an attempt, if there is one.
func (p *Plugin) removeCompanion(ctx context.Context, attempt *plugin.Attempt) error {
	if p.kind.Companion == nil {
		return nil
	}
	second, own, err := p.companion(ctx, attempt)
	if err != nil || !own {
		return err
	}
	uid := second.GetUID()
	if err := p.deps.Writer.Delete(ctx, second, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", second.GetKind(), second.GetName(), err)
	}
	return nil
}

// companion reads the second object of an attempt, and whether it is the attempt's own.
func (p *Plugin) companion(ctx context.Context, attempt *plugin.Attempt) (second *unstructured.Unstructured, own bool, err error) {
	second = &unstructured.Unstructured{}
	second.SetGroupVersionKind(p.kind.Companion.Object)
	switch err := p.deps.Live.Get(ctx, p.Key(attempt), second); {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read %s %s: %w", p.kind.Companion.Object.Kind, p.Key(attempt).Name, err)
	}
	for _, owner := range second.GetOwnerReferences() {
		own = own || (owner.Kind == v1.Kind && owner.UID == attempt.Task.UID)
	}
	return second, own, nil
}
