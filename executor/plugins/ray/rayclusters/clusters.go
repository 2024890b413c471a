// Package rayclusters reads and writes the RayClusters that attempts share. Which attempts share one, when one was last used and how
// long it is kept is on the objects, so any number of processes may use them at once.
package rayclusters

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

// ErrEnding is the error for a cluster that is being deleted: the next try creates another one.
var ErrEnding = errors.New("the shared Ray cluster of this name is being deleted; waiting until it is gone")

// Rights are what Clusters asks the API server for, besides the Secrets of pods and the list of TaskActions.
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

// Clusters are those of one installation. It is safe for concurrent use, and remembers nothing.
type Clusters struct{ deps plugin.Deps }

// New returns the clusters of the installation that deps names.
func New(deps plugin.Deps) *Clusters { return &Clusters{deps: deps} }

// Get returns the metadata of a cluster, or the error of the API server.
func (c *Clusters) Get(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(clusterKind)
	return found, c.deps.Live.Get(ctx, key, found)
}

// Create creates a cluster, used now, or returns the error of the API server.
func (c *Clusters) Create(ctx context.Context, wanted *Wanted) (types.UID, error) {
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
		annotationUsed: c.now(), annotationTTL: strconv.FormatInt(int64(wanted.Idle/time.Second), 10),
	})
	if err := c.deps.Writer.Create(ctx, object); err != nil {
		return "", err
	}
	return object.GetUID(), nil
}

func (c *Clusters) now() string { return c.deps.Clock.Now().UTC().Format(time.RFC3339) }

// Touch notes that the cluster is used now. It changes the version of the cluster, so that a process which has just found it idle does
// not delete it.
func (c *Clusters) Touch(ctx context.Context, found *metav1.PartialObjectMetadata) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, found.GetUID(), annotationUsed, c.now())
	return c.deps.Writer.Patch(ctx, found, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// Release notes that an attempt no longer uses a cluster.
func (c *Clusters) Release(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(clusterKind)
	cluster.Namespace, cluster.Name, cluster.UID = key.Namespace, key.Name, uid
	return IgnoreChanges(c.Touch(ctx, cluster))
}

// End deletes a cluster, unless it has changed since it was read.
func (c *Clusters) End(ctx context.Context, cluster *metav1.PartialObjectMetadata) error {
	only := client.Preconditions{UID: &cluster.UID, ResourceVersion: &cluster.ResourceVersion}
	return c.deps.Writer.Delete(ctx, cluster, only, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// IgnoreChanges ignores that a cluster is gone or has changed.
func IgnoreChanges(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
