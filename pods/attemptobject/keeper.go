package attemptobject

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/work/stacks"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

const (
	// cacheLag is how long a cache may take at least to show an object that was just created.
	cacheLag = 2 * time.Second
	// maxCacheLag is how long it may take at most, while it has not seen the version of the object.
	maxCacheLag = time.Minute
	// namePause is the pause between two checks of an object that occupies the attempt's name.
	namePause = 500 * time.Millisecond
)

// Kind defines how objects of one type serve as the main objects of attempts.
type Kind[T client.Object] struct {
	// Name is for messages, such as pod.
	Name string
	// ObjectName is the name of an attempt's object. It is different for every attempt and always the same for one.
	ObjectName func(*plugin.Attempt) string
	// Blank returns an empty object to read into.
	Blank func() T
	// Build returns the object of an attempt with name, namespace and a TaskAction as its controlling owner. A
	// *failure.Failure in the error's chain means that the attempt is lost; any other error is retried.
	Build func(context.Context, *plugin.Attempt) (T, error)
	// First creates what the object that Build has returned refers to, before it; nil for nothing. It may change the object. Its errors
	// count as those of the creation of the object.
	First func(context.Context, *plugin.Attempt, T) error
	// Observe returns the state of the attempt from its object.
	Observe func(context.Context, *plugin.Attempt, T) (plugin.State, error)
	// DeleteOptions are added when the object of an attempt, or one that occupies its name, is deleted. The object is
	// blank when the cache does not have it.
	DeleteOptions func(*plugin.Attempt, T) []client.DeleteOption
}

// Keeper creates, finds and deletes the main objects of attempts.
type Keeper[T client.Object] struct {
	kind     Kind[T]
	deps     plugin.Deps
	created  created
	refusals refusals
}

// New returns a keeper of one kind of object.
func New[T client.Object](kind Kind[T], deps plugin.Deps) *Keeper[T] {
	return &Keeper[T]{
		kind: kind, deps: deps,
		created:  created{objects: map[types.NamespacedName]birth{}},
		refusals: refusals{tries: map[types.NamespacedName]int{}},
	}
}

// Advance creates the object if it never existed, and returns the attempt's state. It serves as plugin.Plugin's Advance.
func (k *Keeper[T]) Advance(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	key := k.Key(attempt)
	object := k.kind.Blank()
	switch err := k.deps.Cache.Get(ctx, key, object); {
	case err == nil:
		return k.judge(ctx, attempt, object)
	case !apierrors.IsNotFound(err):
		return plugin.State{}, k.wrap("read", key.Name, err)
	}
	born, made := k.created.get(key, attempt.Task.UID)
	switch {
	case made && k.late(born):
		return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_QUEUED, Object: born.object, Recheck: cacheLag}, nil
	case made || attempt.Known != "":
		return k.missing(ctx, attempt)
	case !attempt.MayLaunch:
		return plugin.State{}, nil
	}
	return k.create(ctx, attempt)
}

// late reports whether the cache may simply not show an object yet. In a burst, caches fall seconds behind; to read each object from
// the API server then would make it slower still.
func (k *Keeper[T]) late(born birth) bool {
	if born.seen {
		return false
	}
	age := k.deps.Clock.Now().Sub(born.at)
	if age < cacheLag || k.deps.Seen == nil {
		return age < cacheLag
	}
	seen, known := k.deps.Seen(k.kind.Blank(), born.version)
	return known && !seen && age < maxCacheLag
}

// missing decides about an object that existed and is not in the cache, which may be stale.
func (k *Keeper[T]) missing(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	key := k.Key(attempt)
	object := k.kind.Blank()
	switch err := k.deps.Live.Get(ctx, key, object); {
	case err == nil:
		return k.judge(ctx, attempt, object)
	case apierrors.IsNotFound(err):
		return plugin.Lost(failure.New(failure.DeletedExternally, "%s %s", k.kind.Name, key.Name)), nil
	default:
		return plugin.State{}, k.wrap("read", key.Name, err)
	}
}

func (k *Keeper[T]) create(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	stacks.Grow() // Build calls other services, on this stack if they are in this process
	key := k.Key(attempt)
	object, err := k.kind.Build(ctx, attempt)
	if err != nil {
		if lost := failure.Of(err); lost != nil {
			return plugin.Lost(lost), nil
		}
		return plugin.State{}, err
	}
	if k.kind.First != nil {
		err = k.kind.First(ctx, attempt, object)
	}
	if err == nil {
		err = k.deps.Writer.Create(ctx, object)
	}
	failpoint.Here("attempt.after-create")
	switch {
	case err == nil:
		k.refusals.forget(key)
		k.created.add(key, attempt.Task.UID, birth{object: object.GetUID(), version: object.GetResourceVersion(), at: k.deps.Clock.Now()})
		return k.kind.Observe(ctx, attempt, object)
	case apierrors.IsAlreadyExists(err):
		return k.adopt(ctx, attempt)
	case isQuota(err):
		return k.awaitQuota(key, err), nil
	}
	if lost := refusal(err); lost != nil {
		return plugin.Lost(lost), nil
	}
	return plugin.State{}, k.wrap("create", key.Name, err)
}

// adopt takes over an object that another process created for this attempt.
func (k *Keeper[T]) adopt(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	key := k.Key(attempt)
	object := k.kind.Blank()
	if err := k.deps.Live.Get(ctx, key, object); err != nil {
		return plugin.State{}, k.wrap("read", key.Name, err)
	}
	return k.judge(ctx, attempt, object)
}

// judge returns the state of the attempt if the object with its name is its own. An object of a deleted TaskAction of
// the same name is deleted; anybody else's is waited for.
func (k *Keeper[T]) judge(ctx context.Context, attempt *plugin.Attempt, object T) (plugin.State, error) {
	if owns(attempt, object) {
		k.created.see(k.Key(attempt), attempt.Task.UID, object.GetUID())
		return k.kind.Observe(ctx, attempt, object)
	}
	if object.GetLabels()[v1.LabelManaged] == v1.ManagedValue && object.GetDeletionTimestamp() == nil {
		if err := k.delete(ctx, attempt, object); err != nil {
			return plugin.State{}, err
		}
	}
	return plugin.State{
		Phase:   common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
		Reason:  "NameTaken",
		Message: sentence.Say("waiting for another %s named %s to be deleted", k.kind.Name, object.GetName()),
		Recheck: namePause,
	}, nil
}

// Remove deletes the object, if it is the attempt's own. It serves as plugin.Plugin's Remove.
func (k *Keeper[T]) Remove(ctx context.Context, attempt *plugin.Attempt) error {
	key := k.Key(attempt)
	k.refusals.forget(key)
	object, found, err := k.removable(ctx, attempt)
	if err == nil && found {
		err = k.delete(ctx, attempt, object)
	}
	if err != nil {
		return err // A retry still has the UID of an object that the cache does not show yet.
	}
	k.created.remove(key, attempt.Task.UID)
	return nil
}

// removable returns the attempt's own object, of which only the identity is known if the cache does not show it yet.
func (k *Keeper[T]) removable(ctx context.Context, attempt *plugin.Attempt) (T, bool, error) {
	key := k.Key(attempt)
	object := k.kind.Blank()
	err := k.deps.Cache.Get(ctx, key, object)
	if err == nil {
		return object, owns(attempt, object), nil
	}
	if !apierrors.IsNotFound(err) {
		return object, false, k.wrap("read", key.Name, err)
	}
	born, made := k.created.get(key, attempt.Task.UID)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetUID(born.object)
	return object, made, nil
}

func (k *Keeper[T]) delete(ctx context.Context, attempt *plugin.Attempt, object T) error {
	uid := object.GetUID()
	options := append([]client.DeleteOption{client.Preconditions{UID: &uid}}, k.kind.DeleteOptions(attempt, object)...)
	// A conflict is retried: it does not prove that another object has the name by now.
	if err := k.deps.Writer.Delete(ctx, object, options...); client.IgnoreNotFound(err) != nil {
		return k.wrap("delete", object.GetName(), err)
	}
	return nil
}

// Key returns the name of the attempt's object.
func (k *Keeper[T]) Key(attempt *plugin.Attempt) types.NamespacedName {
	return types.NamespacedName{Namespace: attempt.Task.Namespace, Name: k.kind.ObjectName(attempt)}
}

// Find returns the attempt's own object from the cache; false if there is none.
func (k *Keeper[T]) Find(ctx context.Context, attempt *plugin.Attempt) (T, bool, error) {
	key := k.Key(attempt)
	object := k.kind.Blank()
	err := k.deps.Cache.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return object, false, nil
	case err != nil:
		return object, false, k.wrap("read", key.Name, err)
	}
	return object, owns(attempt, object), nil
}

// Live is the number of attempts that are remembered. It serves as plugin.Rememberer's Live.
func (k *Keeper[T]) Live() int { return k.created.size() }

func (k *Keeper[T]) wrap(verb, name string, err error) error {
	return fmt.Errorf("%s %s %s: %w", verb, k.kind.Name, name, err)
}

func owns(attempt *plugin.Attempt, object client.Object) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == attempt.Task.UID {
			return true
		}
	}
	return false
}
