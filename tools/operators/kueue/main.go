// Kueue runs the controllers, the scheduler and the webhooks of Kueue. Its own program does the same, but needs certificates at
// fixed paths, serves metrics, and finds its webhooks by a Service.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	configv1beta1 "sigs.k8s.io/kueue/apis/config/v1beta1"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueuealpha "sigs.k8s.io/kueue/apis/kueue/v1alpha1"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/config"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/kubeversion"
	"sigs.k8s.io/kueue/pkg/webhooks"
)

func main() {
	file := flag.String("config", "", "the file with Kueue's Configuration")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), *file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	options, cfg, err := config.Load(types(), file)
	if err != nil {
		return err
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(cfg.FeatureGates); err != nil {
		return err
	}
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cluster, options)
	if err != nil {
		return err
	}
	if err := indexer.Setup(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	frameworks := jobframework.WithEnabledFrameworks(cfg.Integrations.Frameworks)
	if err := jobframework.SetupIndexes(ctx, mgr.GetFieldIndexer(), frameworks); err != nil {
		return err
	}
	if err := control(ctx, mgr, &cfg); err != nil {
		return err
	}
	if name, err := webhooks.Setup(mgr); err != nil {
		return fmt.Errorf("webhook of %s: %w", name, err)
	}
	return mgr.Start(ctx)
}

func types() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, kueue.AddToScheme, kueuev1beta1.AddToScheme, kueuealpha.AddToScheme, configv1beta1.AddToScheme, configapi.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	utilruntime.Must(jobframework.ForEachIntegration(func(_ string, kind jobframework.IntegrationCallbacks) error {
		if kind.AddToScheme == nil {
			return nil
		}
		return kind.AddToScheme(scheme)
	}))
	return scheme
}

// control adds the controllers of queues and of the kinds that they admit, and the scheduler.
func control(ctx context.Context, mgr manager.Manager, cfg *configapi.Configuration) error {
	client, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	version := kubeversion.NewServerVersionFetcher(client)
	if err := version.FetchServerVersion(); err != nil {
		return err
	}
	cache := schdcache.New(mgr.GetClient())
	queues := queue.NewManager(mgr.GetClient(), cache)
	go queues.CleanUpOnContext(ctx)
	go cache.CleanUpOnContext(ctx)
	if name, err := core.SetupControllers(mgr, queues, cache, cfg); err != nil {
		return fmt.Errorf("controller %s: %w", name, err)
	}
	namespaces, err := metav1.LabelSelectorAsSelector(cfg.ManagedJobsNamespaceSelector)
	if err != nil {
		return err
	}
	err = jobframework.SetupControllers(ctx, mgr, ctrl.Log,
		jobframework.WithManageJobsWithoutQueueName(cfg.ManageJobsWithoutQueueName),
		jobframework.WithManagedJobsNamespaceSelector(namespaces),
		jobframework.WithKubeServerVersion(version),
		jobframework.WithEnabledFrameworks(cfg.Integrations.Frameworks),
		jobframework.WithManagerName(constants.KueueName),
		jobframework.WithCache(cache),
		jobframework.WithQueues(queues),
	)
	if err != nil {
		return err
	}
	return mgr.Add(scheduler.New(queues, cache, mgr.GetClient(), mgr.GetEventRecorderFor(constants.AdmissionName)))
}
