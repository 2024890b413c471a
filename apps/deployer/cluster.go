package deployer

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/podsecret"
)

// uidIndex finds the cached objects of an app.
const uidIndex = "app-uid"

// cluster is the way to the API server: a cache of the objects of apps, and a client that reads and writes directly.
type cluster struct {
	cache  cache.Cache
	client client.Client
}

func newCluster(s *Service) (*cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, networkingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("add kinds: %w", err)
		}
	}
	// A static mapper needs no calls to the API server, which may be unavailable.
	mapper := meta.NewDefaultRESTMapper(scheme.PreferredVersionAllGroups())
	for _, kind := range []string{"Pod", "PodTemplate", "Secret", "Service"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	mapper.Add(networkingv1.SchemeGroupVersion.WithKind("Ingress"), meta.RESTScopeNamespace)
	mapper.Add(httpRouteKind, meta.RESTScopeNamespace)
	made, err := client.New(s.kube, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	ours, err := oursOf(s.deps.Installation)
	if err != nil {
		return nil, err
	}
	only := map[string]cache.Config{}
	for _, namespace := range s.deps.Only {
		only[namespace] = cache.Config{}
	}
	shared := true
	one := func() cache.ByObject {
		return cache.ByObject{Label: ours, Transform: strip, UnsafeDisableDeepCopy: &shared}
	}
	objects, err := cache.New(s.kube, cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultNamespaces: only,
		ByObject: map[client.Object]cache.ByObject{&appsv1.Deployment{}: one(), &corev1.Service{}: one(), &corev1.Pod{}: one()},
	})
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	kinds := []client.Object{&appsv1.Deployment{}, &corev1.Pod{}}
	if !s.config.SharedNetwork {
		kinds = append(kinds, &corev1.Service{})
	}
	for _, kind := range kinds {
		if err := objects.IndexField(context.Background(), kind, uidIndex, func(object client.Object) []string {
			return []string{object.GetLabels()[labelUID]}
		}); err != nil {
			return nil, fmt.Errorf("index objects of apps: %w", err)
		}
	}
	return &cluster{cache: objects, client: made}, nil
}

// oursOf selects the objects of the apps of an installation.
func oursOf(installation string) (labels.Selector, error) {
	marks := labels.Set{v1.LabelManaged: v1.ManagedValue}
	if installation != "" {
		marks[v1.LabelInstallation] = installation
	}
	ofApp, err := labels.NewRequirement(labelUID, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("select objects of apps: %w", err)
	}
	return labels.SelectorFromSet(marks).Add(*ofApp), nil
}

// strip removes what no one reads from objects that enter the cache. Cached objects are shared and must not be changed.
func strip(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Pod:
		object.ManagedFields = nil
		spec := corev1.PodSpec{
			NodeName: object.Spec.NodeName, TerminationGracePeriodSeconds: object.Spec.TerminationGracePeriodSeconds, Volumes: podsecret.Keep(&object.Spec),
		}
		for _, container := range object.Spec.InitContainers {
			spec.InitContainers = append(spec.InitContainers, corev1.Container{Name: container.Name, RestartPolicy: container.RestartPolicy})
		}
		for _, container := range object.Spec.Containers {
			spec.Containers = append(spec.Containers, corev1.Container{Name: container.Name})
		}
		object.Spec = spec
	case *appsv1.Deployment:
		object.ManagedFields = nil
		object.Spec.Template.Spec = corev1.PodSpec{}
	case *corev1.Service:
		object.ManagedFields = nil
	}
	return object, nil
}

// handler queues the app of every object that changes.
func (s *session) handler() toolscache.ResourceEventHandler {
	add := func(object any) {
		if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		if o, ok := object.(client.Object); ok {
			s.queue.Add(o.GetLabels()[labelUID])
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add}
}

// found is what the cluster has of an app, according to the cache.
type found struct {
	deployments []appsv1.Deployment
	services    []corev1.Service
	pods        []corev1.Pod
}

// deployment returns that of a revision; nil for none.
func (f *found) deployment(revision uint64) *appsv1.Deployment {
	for i := range f.deployments {
		if revisionOf(f.deployments[i].Labels) == revision {
			return &f.deployments[i]
		}
	}
	return nil
}

func (s *session) find(ctx context.Context, uid string) (*found, error) {
	of := client.MatchingFields{uidIndex: uid}
	var deployments appsv1.DeploymentList
	var services corev1.ServiceList
	var pods corev1.PodList
	lists := []client.ObjectList{&deployments, &pods}
	if !s.config.SharedNetwork {
		lists = append(lists, &services)
	}
	for _, list := range lists {
		if err := s.cache.List(ctx, list, of); err != nil {
			return nil, fmt.Errorf("list objects of the app: %w", err)
		}
	}
	for i := range pods.Items { // what is said of a pod is reported, and may have a value that it was given
		cleaned, err := podsecret.Clean(ctx, podsecret.From(s.client), &pods.Items[i])
		if err != nil {
			return nil, err
		}
		pods.Items[i] = *cleaned
	}
	return &found{deployments: deployments.Items, services: services.Items, pods: pods.Items}, nil
}

// uids are those of all apps that have objects.
func (s *session) uids(ctx context.Context) (map[string]bool, error) {
	result := map[string]bool{}
	var deployments appsv1.DeploymentList
	if err := s.cache.List(ctx, &deployments); err != nil {
		return nil, err
	}
	for i := range deployments.Items {
		result[deployments.Items[i].Labels[labelUID]] = true
	}
	if s.config.SharedNetwork {
		return result, nil
	}
	var services corev1.ServiceList
	if err := s.cache.List(ctx, &services); err != nil {
		return nil, err
	}
	for i := range services.Items {
		result[services.Items[i].Labels[labelUID]] = true
	}
	return result, nil
}
