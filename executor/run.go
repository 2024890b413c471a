package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/reconciler"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/obs/klogs"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/logs"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

const (
	// restartPause is the pause before a manager that stopped is replaced.
	restartPause = time.Second
	// stopTimeout is how long a manager may take to stop.
	stopTimeout = 10 * time.Second
)

// supervise runs managers for a shard, one after the other, until the context ends. A manager stops when it cannot reach the
// cluster. Each starts without memory of its predecessor.
func (s *Service) supervise(ctx context.Context, shard int, ready func()) {
	for {
		err := s.runOnce(ctx, shard, ready)
		if ctx.Err() != nil {
			return
		}
		var changed *changedError
		if errors.As(err, &changed) {
			s.deps.Logger.Info().Str("now", changed.words).Msg("types of plugins changed; restarting the reconciler")
			continue
		}
		s.deps.Logger.Warn().Err(err).Msg("reconciler stopped; restarting")
		if clock.Sleep(ctx, s.deps.Clock, restartPause) != nil {
			return
		}
	}
}

func (s *Service) runOnce(ctx context.Context, shard int, ready func()) error {
	if s.config.InstallCRD {
		if err := v1.EnsureCRD(ctx, s.kube); err != nil {
			return err
		}
	}
	definitions, missing, err := s.presence.look(ctx, 0)
	if err != nil {
		return err
	}
	if err := s.adopt(ctx, shard, definitions); err != nil {
		return err
	}
	mgr, err := s.newManager(shard, definitions)
	if err != nil {
		return fmt.Errorf("create manager: %w", err)
	}
	if err := addIndexes(ctx, mgr.GetFieldIndexer(), definitions); err != nil {
		return err
	}
	one, err := s.newReconciler(mgr, shard, definitions, missing)
	if err != nil {
		return err
	}
	if err := one.Attach(mgr); err != nil {
		return err
	}
	s.current.set(shard, one)
	defer s.current.set(shard, nil)
	s.caches.set(shard, mgr.GetClient())
	defer s.caches.set(shard, nil)
	ctx, cancel := context.WithCancelCause(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer cancel(nil)
	watchers.Go(func() {
		if mgr.GetCache().WaitForCacheSync(ctx) {
			ready()
		}
	})
	watchers.Go(func() { cancel(s.presence.awaitChange(ctx, missing)) })
	if err := mgr.Start(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (s *Service) newManager(shard int, definitions []plugin.Definition) (manager.Manager, error) {
	scheme, err := newScheme(definitions)
	if err != nil {
		return nil, err
	}
	informers, err := informersOf(definitions, scheme)
	if err != nil {
		return nil, err
	}
	stop := stopTimeout
	return ctrl.NewManager(s.kube, ctrl.Options{
		Scheme:                  scheme,
		MapperProvider:          func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return s.mapper, nil },
		Cache:                   cacheOptions(s.config.Namespaces, selector(s.deps.Installation, shard), informers),
		Client:                  client.Options{Cache: &client.CacheOptions{}},
		Metrics:                 server.Options{BindAddress: "0"}, // The process serves the registry itself.
		HealthProbeBindAddress:  "0",
		Logger:                  s.logr(),
		GracefulShutdownTimeout: &stop,
	})
}

func (s *Service) newReconciler(mgr manager.Manager, shard int, definitions []plugin.Definition, missing []Absence) (*reconciler.Reconciler, error) {
	store := reconciler.Waiting(s.deps.Store)
	plugins, err := s.config.Plugins.registry(s.presence.definitions, definitions, missing, plugin.Deps{
		Cache: mgr.GetClient(), Seen: seenBy(mgr.GetCache()), Live: mgr.GetAPIReader(), Writer: mgr.GetClient(), Store: store,
		Secrets: s.deps.Secrets, Tokens: s.deps.Tokens, Clock: s.deps.Clock, Installation: s.deps.Installation, Namespaces: s.config.Namespaces,
	})
	if err != nil {
		return nil, err
	}
	if shard == ident.AllShards || shard == 0 {
		if err := s.addRunners(mgr, plugins); err != nil {
			return nil, err
		}
	}
	deps := reconciler.Deps{
		Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient(),
		Plugins: plugins,
		Sink:    s.deps.Sink, Assignments: ofCluster{s.deps.Assignments, s.deps.Cluster}, Store: store, Clock: s.deps.Clock, Logger: s.deps.Logger, Meter: s.deps.Meter,
		Finished: s.finished, Cluster: s.deps.Cluster,
		Slots: s.slots, OneShard: shard != ident.AllShards,
	}
	if s.deps.Tracer != nil {
		deps.Tracer = s.deps.Tracer.Tracer("github.com/flyte-binary/flyte-binary/executor")
	}
	if s.config.Logs.Seal {
		deps.Sealer = logs.NewSealer(s.config.Logs, s.clientset.CoreV1(), s.deps.Store)
	}
	return reconciler.New(s.config.Reconciler, deps)
}

// addRunners makes the manager do what plugins do besides the attempts.
func (s *Service) addRunners(mgr manager.Manager, plugins *plugin.Registry) error {
	for _, one := range plugins.All() {
		runner, ok := one.(plugin.Runner)
		if !ok {
			continue
		}
		log := s.deps.Logger.With().Str("plugin", one.Name()).Logger()
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return runner.Run(log.WithContext(ctx)) })); err != nil {
			return fmt.Errorf("plugin %s: %w", one.Name(), err)
		}
	}
	return nil
}

// logr passes warnings and errors of the Kubernetes libraries to the service's logger.
func (s *Service) logr() logr.Logger {
	return klogs.Logger(s.deps.Logger.With().Str("from", "controller-runtime").Logger().Level(zerolog.WarnLevel))
}
