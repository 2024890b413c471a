package embedded

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	namespacecontroller "k8s.io/kubernetes/pkg/controller/namespace"
	serviceaccountcontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
)

const (
	// discoverEvery is how soon the garbage collector learns of new kinds of objects.
	discoverEvery = 5 * time.Second
	resync        = 10 * time.Minute
	gcWorkers     = 10
)

// startControllers runs the garbage collector, the controllers of namespaces and service accounts, and those of workloads,
// once the API server answers. The channel receives the error if they cannot be started.
func startControllers(ctx context.Context, loopback *rest.Config) <-chan error {
	failed := make(chan error, 1)
	go func() {
		if err := runControllers(ctx, loopback); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()
	return failed
}

func runControllers(ctx context.Context, loopback *rest.Config) error {
	cfg := rest.CopyConfig(loopback)
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(cfg)
	if err != nil {
		return err
	}
	if err := waitReady(ctx, client); err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, resync)
	started := make(chan struct{})
	gc, err := newGarbageCollector(ctx, client, meta, shared, started)
	if err != nil {
		return fmt.Errorf("garbage collector: %w", err)
	}
	namespaces := namespacecontroller.NewNamespaceController(ctx, client, meta,
		client.Discovery().ServerPreferredNamespacedResources, shared.Core().V1().Namespaces(), resync, v1.FinalizerKubernetes)
	accounts, err := serviceaccountcontroller.NewServiceAccountsController(klog.FromContext(ctx),
		shared.Core().V1().ServiceAccounts(), shared.Core().V1().Namespaces(), client,
		serviceaccountcontroller.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return fmt.Errorf("service accounts: %w", err)
	}
	workloads, err := newWorkloads(ctx, client, shared)
	if err != nil {
		return fmt.Errorf("workloads: %w", err)
	}
	shared.Start(ctx.Done())
	close(started)
	var group wait.Group
	for _, run := range workloads {
		group.StartWithContext(ctx, run)
	}
	group.StartWithContext(ctx, func(ctx context.Context) { gc.Run(ctx, gcWorkers, discoverEvery) })
	group.StartWithContext(ctx, func(ctx context.Context) { gc.Sync(ctx, client.Discovery(), discoverEvery) })
	group.StartWithContext(ctx, func(ctx context.Context) { namespaces.Run(ctx, 5) })
	group.StartWithContext(ctx, func(ctx context.Context) { accounts.Run(ctx, 1) })
	group.Wait()
	return nil
}

func newGarbageCollector(ctx context.Context, client kubernetes.Interface, meta metadata.Interface,
	shared informers.SharedInformerFactory, started <-chan struct{},
) (*garbagecollector.GarbageCollector, error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.NewDiscoveryClient(client.Discovery().RESTClient())))
	objects := metadatainformer.NewSharedInformerFactory(meta, resync)
	return garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(shared, objects), started)
}

func waitReady(ctx context.Context, client kubernetes.Interface) error {
	rest := client.Discovery().RESTClient()
	if rest == nil {
		return errors.New("no connection to the API server")
	}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return rest.Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
}
