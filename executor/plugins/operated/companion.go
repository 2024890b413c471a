package operated

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// createSecond creates the second object of an attempt. One that a deleted TaskAction of the same name left is waited for: the garbage
// collector deletes it.
func (p *Plugin) createSecond(ctx context.Context, attempt *plugin.Attempt, second *unstructured.Unstructured) error {
	err := p.deps.Writer.Create(ctx, second)
	if !apierrors.IsAlreadyExists(err) {
		return err // with the words of the API server, which the keeper of the first object reads
	}
	found := second.DeepCopy()
	if err := p.deps.Live.Get(ctx, client.ObjectKeyFromObject(second), found); err != nil {
		return fmt.Errorf("read %s %s: %w", second.GetKind(), second.GetName(), err)
	}
	if owner := metav1.GetControllerOf(found); owner == nil || owner.UID != attempt.Task.UID {
		return fmt.Errorf("%s %s belongs to another TaskAction, which is being deleted", second.GetKind(), second.GetName())
	}
	return nil
}

// removeSecond deletes the second object of an attempt, if its kind has one.
func (p *Plugin) removeSecond(ctx context.Context, attempt *plugin.Attempt) error {
	if p.kind.Companion == nil {
		return nil
	}
	second := &unstructured.Unstructured{}
	second.SetGroupVersionKind(p.kind.Companion.Object)
	key := p.Key(attempt)
	second.SetNamespace(key.Namespace)
	second.SetName(key.Name)
	if err := p.deps.Writer.Delete(ctx, second); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", second.GetKind(), second.GetName(), err)
	}
	return nil
}
