// Package sharing keeps the RayClusters that attempts share: it creates one where there is none, notes when it was used last, and
// deletes it when no attempt has used it for its time. All of its memory is in the cluster, so that any number of processes may do
// this at once, and each may stop at any time.
package sharing

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

const (
	// LabelCluster is the name of the shared cluster, on the cluster, its pods and the RayJobs that use it.
	LabelCluster = v1.Group + "/shared-ray-cluster"
	// LabelUID is the uid of the shared cluster that a RayJob was created for.
	LabelUID = v1.Group + "/shared-ray-cluster-uid"
	// labelScope is the run whose attempts share the cluster; absent if those of all runs do.
	labelScope = v1.Group + "/shared-by-run"
	// annotationUsed is when an attempt used the cluster last, in RFC 3339.
	annotationUsed = v1.Group + "/last-used"
	// annotationTTL is how long the cluster is kept without attempts, in seconds.
	annotationTTL = v1.Group + "/idle-ttl-seconds"
)

var (
	clusterKind = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}
	jobKind     = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}
)

// Rights are what a Keeper asks the API server for, besides the Secrets of pods and the list of TaskActions.
func Rights() []plugin.Right {
	return []plugin.Right{{Group: clusterKind.Group, Resource: "rayclusters", Verbs: []string{"get", "list", "create", "patch", "delete"}}}
}

// Wanted is a cluster that an attempt uses.
type Wanted struct {
	// Name and Namespace are those of the cluster. Clusters that differ in anything else have different names.
	Name, Namespace string
	// Labels are for finding the cluster.
	Labels map[string]string
	// Run is the only run whose attempts use the cluster; empty for all runs.
	Run string
	// Idle is how long the cluster is kept without attempts.
	Idle time.Duration
	// Spec is the specification of the cluster.
	Spec map[string]any
	// Secrets are those that its pods refer to. They end with it.
	Secrets []*corev1.Secret
}

// Keeper keeps shared clusters. It is safe for concurrent use.
type Keeper struct {
	deps   plugin.Deps
	limits Limits
	known  known
}

// New returns a keeper.
func New(deps plugin.Deps, limits Limits) *Keeper {
	return &Keeper{deps: deps, limits: limits, known: known{states: map[types.NamespacedName]seen{}}}
}

// errEnding is the error for a cluster that is being deleted: the next try creates another one.
var errEnding = errors.New("the shared Ray cluster of this name is being deleted; waiting until it is gone")

// tries is how often Ensure begins again because another process did something at the same time.
const tries = 3

// Ensure makes the cluster exist, notes its use, and returns its uid. Where several processes create it at once, one does. It may be
// called any number of times. A *FullError means that there is no room for another cluster.
func (k *Keeper) Ensure(ctx context.Context, wanted *Wanted) (types.UID, error) {
	key := types.NamespacedName{Namespace: wanted.Namespace, Name: wanted.Name}
	for range tries {
		found, err := k.get(ctx, key)
		switch {
		case apierrors.IsNotFound(err):
			if err := k.room(ctx, wanted); err != nil {
				return "", err
			}
			found, err = k.create(ctx, wanted)
			if apierrors.IsAlreadyExists(err) {
				continue
			}
		case err == nil && found.GetDeletionTimestamp() != nil:
			return "", errEnding
		case err == nil && found.GetLabels()[LabelCluster] != wanted.Name:
			return "", fmt.Errorf("RayCluster %s is not one of this installation", wanted.Name)
		case err == nil:
			err = k.touch(ctx, found)
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				continue
			}
		}
		if err != nil {
			return "", fmt.Errorf("create RayCluster %s: %w", wanted.Name, err)
		}
		k.known.forget(key)
		return found.GetUID(), k.secrets(ctx, wanted, found)
	}
	return "", errEnding
}

func (k *Keeper) get(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(clusterKind)
	return found, k.deps.Live.Get(ctx, key, found)
}

func (k *Keeper) create(ctx context.Context, wanted *Wanted) (*metav1.PartialObjectMetadata, error) {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": wanted.Spec}}
	object.SetGroupVersionKind(clusterKind)
	object.SetNamespace(wanted.Namespace)
	object.SetName(wanted.Name)
	labels := map[string]string{LabelCluster: wanted.Name}
	for name, value := range wanted.Labels {
		labels[name] = value
	}
	if wanted.Run != "" {
		labels[labelScope] = v1.LabelValue(wanted.Run)
	}
	object.SetLabels(labels)
	object.SetAnnotations(map[string]string{
		annotationUsed: k.now(), annotationTTL: strconv.FormatInt(int64(wanted.Idle/time.Second), 10),
	})
	if err := k.deps.Writer.Create(ctx, object); err != nil {
		return nil, err
	}
	result := &metav1.PartialObjectMetadata{}
	result.SetUID(object.GetUID())
	return result, nil
}

func (k *Keeper) now() string { return k.deps.Clock.Now().UTC().Format(time.RFC3339) }

// touch notes that the cluster is used now. It changes the version of the cluster, so that a process which has just found it idle does
// not delete it.
func (k *Keeper) touch(ctx context.Context, found *metav1.PartialObjectMetadata) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, found.GetUID(), annotationUsed, k.now())
	return k.deps.Writer.Patch(ctx, found, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// secrets creates what the pods of a cluster refer to. Until then they wait.
func (k *Keeper) secrets(ctx context.Context, wanted *Wanted, of *metav1.PartialObjectMetadata) error {
	for _, secret := range wanted.Secrets {
		secret = secret.DeepCopy()
		secret.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: clusterKind.GroupVersion().String(), Kind: clusterKind.Kind, Name: wanted.Name, UID: of.GetUID(),
		}}
		if err := k.secret(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// secret creates a Secret once. One of an earlier cluster of the same name is deleted: the garbage collector would do that later.
func (k *Keeper) secret(ctx context.Context, wanted *corev1.Secret) error {
	for range tries {
		err := k.deps.Writer.Create(ctx, wanted.DeepCopy())
		if !apierrors.IsAlreadyExists(err) {
			if err != nil {
				return fmt.Errorf("create Secret %s: %w", wanted.Name, err)
			}
			return nil
		}
		existing := &corev1.Secret{}
		if err := k.deps.Live.Get(ctx, client.ObjectKeyFromObject(wanted), existing); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Secret %s: %w", wanted.Name, err)
		}
		owners := existing.OwnerReferences
		switch {
		case len(owners) == 1 && owners[0].UID == wanted.OwnerReferences[0].UID:
			return nil
		case existing.Name == "": // it is gone by now
			continue
		case len(owners) != 1 || owners[0].Kind != clusterKind.Kind:
			return fmt.Errorf("secret %s does not belong to a Ray cluster", wanted.Name)
		}
		if err := k.deps.Writer.Delete(ctx, existing, client.Preconditions{UID: &existing.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Secret %s of an earlier Ray cluster: %w", wanted.Name, err)
		}
	}
	return errEnding
}
