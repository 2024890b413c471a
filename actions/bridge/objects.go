package bridge

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// uidIndex finds objects by the database id of their action.
const uidIndex = "uid"

// objects makes informers of TaskActions that keep nothing but their names and ids.
type objects struct {
	client    metadata.Interface
	namespace string
}

func newObjects(config *rest.Config, namespace template) (*objects, error) {
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes metadata client: %w", err)
	}
	o := &objects{client: c}
	if namespace.fixed() {
		o.namespace = string(namespace)
	}
	return o, nil
}

// informer makes a fresh informer; an informer runs only once.
func (o *objects) informer() (cache.SharedIndexInformer, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(o.client, v1.Resource, o.namespace, 0,
		cache.Indexers{uidIndex: func(object any) ([]string, error) {
			if uid, ok := uidOf(object); ok {
				return []string{strconv.FormatInt(uid, 10)}, nil
			}
			return nil, nil
		}},
		func(options *metav1.ListOptions) { options.LabelSelector = v1.LabelManaged + "=" + v1.ManagedValue },
	).Informer()
	if err := informer.SetTransform(strip); err != nil {
		return nil, fmt.Errorf("set transform: %w", err)
	}
	return informer, nil
}

// strip keeps of an object what the bridge reads.
func strip(object any) (any, error) {
	full, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta: full.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: full.Namespace, Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion,
			DeletionTimestamp: full.DeletionTimestamp,
			Labels: map[string]string{
				v1.LabelUID: full.Labels[v1.LabelUID], v1.LabelProject: full.Labels[v1.LabelProject],
				v1.LabelDomain: full.Labels[v1.LabelDomain], v1.LabelRun: full.Labels[v1.LabelRun],
				v1.LabelAction: full.Labels[v1.LabelAction],
			},
		},
	}, nil
}

// uidOf is the database id of the action to which an object, or what is left of a deleted one, belongs.
func uidOf(object any) (int64, bool) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	metadata, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return 0, false
	}
	uid, err := strconv.ParseInt(metadata.Labels[v1.LabelUID], 10, 64)
	return uid, err == nil
}
