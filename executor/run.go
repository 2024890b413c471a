package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zerologr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/logs"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/executor/plugins/pod"
	"github.com/flyte-binary/flyte-binary/executor/reconciler"
)

const (
	// restartPause is the pause before a manager that ended is replaced.
	restartPause = time.Second
	// stopTimeout is how long a manager may take to stop.
	stopTimeout = 10 * time.Second
)

// supervise runs managers, one after the other, until the context ends: one ends when it cannot reach the cluster or
// lost the lease. Each begins without any memory.
func (s *Service) supervise(ctx context.Context, ready func()) {
	for {
		err := s.runOnce(ctx, ready)
		if ctx.Err() != nil {
			return
		}
		s.deps.Logger.Warn().Err(err).Msg("reconciler ended; it begins anew")
		timer := s.deps.Clock.NewTimer(restartPause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (s *Service) runOnce(ctx context.Context, ready func()) error {
	if s.config.InstallCRD {
		if err := v1.EnsureCRD(ctx, s.kube); err != nil {
			return err
		}
	}
	mgr, err := s.newManager()
	if err != nil {
		return fmt.Errorf("make manager: %w", err)
	}
	one, err := s.newReconciler(mgr)
	if err != nil {
		return err
	}
	if err := one.Attach(mgr); err != nil {
		return err
	}
	s.current.Store(one)
	go func() {
		if mgr.GetCache().WaitForCacheSync(ctx) {
			ready()
		}
	}()
	return mgr.Start(ctx)
}

func (s *Service) newManager() (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	stop := stopTimeout
	return ctrl.NewManager(s.kube, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(s.config.Namespaces, s.deps.Installation),
		Client:                        client.Options{Cache: &client.CacheOptions{}},
		Metrics:                       server.Options{BindAddress: "0"}, // The process serves the registry itself.
		HealthProbeBindAddress:        "0",
		Logger:                        s.logr(),
		LeaderElection:                s.config.LeaderElection.Enabled,
		LeaderElectionNamespace:       s.config.LeaderElection.Namespace,
		LeaderElectionID:              s.leaseName(),
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &stop,
	})
}

func (s *Service) newReconciler(mgr manager.Manager) (*reconciler.Reconciler, error) {
	pods, err := pod.New(s.config.Pod, pod.Deps{
		Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient(), Store: s.deps.Store, Clock: s.deps.Clock,
	})
	if err != nil {
		return nil, err
	}
	deps := reconciler.Deps{
		Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient(),
		Plugins: plugin.NewRegistry(pods),
		Sink:    s.deps.Sink, Store: s.deps.Store, Clock: s.deps.Clock, Logger: s.deps.Logger, Meter: s.deps.Meter,
	}
	if s.config.Logs.Seal {
		deps.Sealer = logs.NewSealer(s.config.Logs, s.clientset.CoreV1(), s.deps.Store)
	}
	return reconciler.New(s.config.Reconciler, deps)
}

// leaseName is this installation's own, so that another one in the same namespace has another.
func (s *Service) leaseName() string {
	if s.deps.Installation == "" {
		return s.config.LeaderElection.Name
	}
	return s.config.LeaderElection.Name + "-" + s.deps.Installation
}

// logr hands warnings and errors of the Kubernetes libraries to our logger.
func (s *Service) logr() logr.Logger {
	quiet := s.deps.Logger.With().Str("from", "controller-runtime").Logger()
	return logr.New(zerologr.NewLogSink(&quiet)).V(0)
}
