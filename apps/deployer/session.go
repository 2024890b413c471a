package deployer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

// session is one term of this replica. It begins without any knowledge, so that it acts on nothing that was true in an
// earlier term only.
type session struct {
	config       Config
	installation string
	cluster      string
	root         string // of the object store
	fleet        Fleet
	clock        clock.Clock
	logger       zerolog.Logger
	meters       *meters
	heard        atomic.Int64 // when the stream of apps said something last, in ns since 1970

	cache      cache.Cache
	client     client.Client
	namespace  namespaces.Template
	namespaces *namespaces.Keeper
	builder    *podspec.Builder
	image      string // of the forwarder; empty for none
	secrets    *attemptsecret.Keeper
	states     *podstatus.Reader

	desired *desired
	queue   workqueue.TypedRateLimitingInterface[string] // labels of uids
	reports *reports
	keeper  *logKeeper

	checked sync.Map // deployments whose pods are known to be built as this process builds them
	routed  sync.Map // by uid: the route that was written last
}

func newSession(s *Service) (*session, error) {
	objects, err := newCluster(s)
	if err != nil {
		return nil, err
	}
	builder, err := podspec.New(s.deps.Pod, podspec.Deps{Live: objects.client, Clock: s.deps.Clock})
	if err != nil {
		return nil, fmt.Errorf("pods of apps: %w", err)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](s.config.Backoff.First, s.config.Backoff.Max)
	one := &session{
		config: s.config, installation: s.deps.Installation, cluster: s.deps.Cluster, root: s.deps.Store.Root(), fleet: s.deps.Fleet,
		clock: s.deps.Clock, logger: s.deps.Logger, meters: s.meters, cache: objects.cache, client: objects.client, namespace: s.deps.Namespace,
		namespaces: namespaces.New(s.deps.Namespaces, objects.client, s.deps.Clock), builder: builder,
		secrets: attemptsecret.New(plugin.Deps{Live: objects.client, Writer: objects.client, Secrets: s.deps.Secrets, Tokens: s.deps.Tokens, Clock: s.deps.Clock}),
		states:  podstatus.NewReader(s.deps.Pod, s.deps.Clock),
		desired: newDesired(), queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
	if !s.config.SharedNetwork {
		one.image = s.deps.Pod.Copilot.Image
	}
	one.heard.Store(s.deps.Clock.Now().UnixNano())
	one.keeper = newLogKeeper(s, objects.client, func(uid string) { one.queue.Add(uid) })
	one.reports = newReports(s.config, s.deps, s.meters, one.reported)
	return one, nil
}

// reported forgets what had to be kept until the apps service knew it, and looks again: a later report has less.
func (s *session) reported(state *enginev1.ObservedApp) {
	uid := v1.LabelValue(state.GetUid())
	if s.keeper.reported(uid, state) {
		s.queue.Add(uid)
	}
}

// run works until ctx ends.
func (s *session) run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	defer s.queue.ShutDown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.image == "" && !s.config.SharedNetwork {
		s.logger.Warn().Msg("executor.pod.copilot.image is not set; apps that listen on 127.0.0.1 only (the SDK's default) cannot be reached")
	}
	for _, kind := range s.kinds() {
		informer, err := s.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(s.handler())
		}
		if err != nil {
			s.logger.Error().Err(err).Msg("cannot watch the objects of apps")
			<-ctx.Done()
			return
		}
	}
	parts.Go(func() {
		if err := s.cache.Start(ctx); err != nil && ctx.Err() == nil {
			s.logger.Error().Err(err).Msg("cannot watch the objects of apps")
		}
	})
	if !s.cache.WaitForCacheSync(ctx) {
		return
	}
	parts.Go(func() { s.reports.run(ctx) })
	parts.Go(func() { s.keeper.run(ctx) })
	for range s.config.Workers {
		parts.Go(func() { s.work(ctx) })
	}
	s.subscribe(ctx)
}

// kinds are the kinds of objects that are watched. Routes are not: a cluster may not know them.
func (s *session) kinds() []client.Object {
	kinds := []client.Object{&appsv1.Deployment{}, &corev1.Pod{}}
	if !s.config.SharedNetwork {
		kinds = append(kinds, &corev1.Service{})
	}
	return kinds
}

// compare looks at all apps that should run, and at all that have objects.
func (s *session) compare(ctx context.Context, wanted []string) {
	for _, uid := range wanted {
		s.queue.Add(uid)
	}
	found, err := s.uids(ctx)
	if err != nil {
		s.logger.Warn().Err(err).Msg("cannot list the objects of apps; comparing again with the next stream")
		return
	}
	for uid := range found {
		s.queue.Add(uid)
	}
}

// work takes apps from the queue.
func (s *session) work(ctx context.Context) {
	for {
		uid, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		call, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
		again, err := s.sync(call, uid)
		cancel()
		s.settle(ctx, uid, again, err)
		s.queue.Done(uid)
	}
}

// settle decides when an app is compared again.
func (s *session) settle(ctx context.Context, uid string, again time.Duration, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if errors.Is(err, errWait) {
			count(ctx, s.meters.syncs, resultWaiting)
		} else {
			count(ctx, s.meters.syncs, resultError)
		}
		level := zerolog.DebugLevel
		if s.queue.NumRequeues(uid) == 0 && !errors.Is(err, errWait) {
			level = zerolog.WarnLevel
		}
		s.logger.WithLevel(level).Err(err).Str("uid", uid).Msg("cannot deploy the app; retrying")
		s.queue.AddRateLimited(uid)
	default:
		count(ctx, s.meters.syncs, resultOK)
		s.queue.Forget(uid)
		if again > 0 {
			s.queue.AddAfter(uid, again)
		}
	}
}
