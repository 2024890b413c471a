package executor

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// adoptions is how many objects are labelled at once.
const adoptions = 16

// adopt labels the objects of a shard that are from before there were shards, so that the informers of the shard see them.
// TaskActions come last: then a TaskAction that is seen has all its objects, and who continues after a crash finds those
// that are left.
func (s *Service) adopt(ctx context.Context, shard int, definitions []plugin.Definition) error {
	if shard == ident.AllShards {
		return nil
	}
	scheme, err := newScheme(definitions)
	if err != nil {
		return err
	}
	api, err := client.New(s.kube, client.Options{Scheme: scheme, Mapper: s.mapper})
	if err != nil {
		return fmt.Errorf("make Kubernetes client: %w", err)
	}
	kinds := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")}
	for _, definition := range definitions {
		for _, informer := range definition.Informers {
			kind, err := apiutil.GVKForObject(informer.Object, scheme)
			if err != nil {
				return err
			}
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range append(kinds, v1.GroupVersion.WithKind(v1.Kind)) {
		for _, namespace := range s.config.namespaces() {
			if err := s.adoptKind(ctx, api, kind, namespace, shard); err != nil {
				return fmt.Errorf("label each %s with its shard: %w", kind.Kind, err)
			}
		}
	}
	return nil
}

// adoptKind labels the objects of one kind in a namespace, or in all.
func (s *Service) adoptKind(ctx context.Context, api client.Client, kind schema.GroupVersionKind, namespace string, shard int) error {
	without, err := labels.NewRequirement(v1.LabelShard, selection.DoesNotExist, nil)
	if err != nil {
		return err
	}
	ours := selector(s.deps.Installation, ident.AllShards).Add(*without)
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, v1.LabelShard, strconv.Itoa(shard)))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(adoptions)
	page := &metav1.PartialObjectMetadataList{}
	for {
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := api.List(ctx, page, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: ours}, client.Limit(500),
			client.Continue(page.Continue))
		if err != nil {
			return errors.Join(err, work.Wait())
		}
		for i := range page.Items {
			object := page.Items[i]
			object.SetGroupVersionKind(kind)
			if !runOf(object.Labels).In(shard) || object.Labels[v1.LabelRun] == "" { // apps have no runs
				continue
			}
			work.Go(func() error { return client.IgnoreNotFound(api.Patch(ctx, &object, patch)) })
		}
		if page.Continue == "" {
			return work.Wait()
		}
	}
}

// runOf is the run that the labels of an object name.
func runOf(of map[string]string) ident.Run {
	return ident.Run{Project: of[v1.LabelProject], Domain: of[v1.LabelDomain], Name: of[v1.LabelRun]}
}
