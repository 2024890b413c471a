package taskactions

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
)

// uidIndex finds objects by the database id of their action.
const uidIndex = "uid"

// objects creates informers of TaskActions that keep nothing but names and ids.
type objects struct {
	client       metadata.Interface
	namespace    string
	installation string
}

func newObjects(config *rest.Config, namespace namespaces.Template, installation string) (*objects, error) {
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes metadata client: %w", err)
	}
	o := &objects{client: c, installation: installation}
	if namespace.Fixed() {
		o.namespace = string(namespace)
	}
	return o, nil
}

// informer creates an informer of a shard; one runs only once.
func (o *objects) informer(shard int) (cache.SharedIndexInformer, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(o.client, v1.Resource, o.namespace, 0,
		cache.Indexers{uidIndex: func(object any) ([]string, error) {
			if uid, ok := uidOf(object); ok {
				return []string{strconv.FormatInt(uid, 10)}, nil
			}
			return nil, nil
		}},
		func(options *metav1.ListOptions) { options.LabelSelector = o.selector(shard) },
	).Informer()
	if err := informer.SetTransform(strip); err != nil {
		return nil, fmt.Errorf("set transform: %w", err)
	}
	return informer, nil
}

// selector chooses the objects of this installation in a shard.
func (o *objects) selector(shard int) string {
	ours := v1.LabelManaged + "=" + v1.ManagedValue
	if o.installation != "" {
		ours += "," + v1.LabelInstallation + "=" + o.installation
	}
	if shard != ident.AllShards {
		ours += "," + v1.LabelShard + "=" + strconv.Itoa(shard)
	}
	return ours
}

// unmarked lists objects without the label of an installation.
func (o *objects) unmarked(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	var found []metav1.PartialObjectMetadata
	options := metav1.ListOptions{LabelSelector: v1.LabelManaged + "=" + v1.ManagedValue + ",!" + v1.LabelInstallation, Limit: 500}
	for {
		page, err := o.client.Resource(v1.Resource).Namespace(o.namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list TaskActions: %w", err)
		}
		found = append(found, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

// labelledAction is the action that the labels of an object name.
func labelledAction(labels map[string]string) ident.Action {
	return ident.Action{Name: labels[v1.LabelAction], Run: ident.Run{
		Project: labels[v1.LabelProject], Domain: labels[v1.LabelDomain], Name: labels[v1.LabelRun],
	}}
}

// strip keeps only the fields of an object that the owner reads.
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
				v1.LabelAction: full.Labels[v1.LabelAction], v1.LabelPlacement: full.Labels[v1.LabelPlacement],
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
