package bridge

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// session is the bridge while it is active. It begins with no knowledge, so that nothing is done upon what was true when
// the bridge was active before.
type session struct {
	*Bridge
	desired *desired
	queue   workqueue.TypedRateLimitingInterface[int64]
	indexer cache.Indexer
	extra   sync.Map // uids of objects found superfluous by comparison
	lost    sync.Map // uids of live actions whose object vanished
	spared  sync.Map // uids of objects that are left to the executor until SealGrace is over
}

func newSession(b *Bridge) *session {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[int64](b.config.FirstBackoff, b.config.MaxBackoff)
	return &session{
		Bridge:  b,
		desired: newDesired(b.config.MaxPending),
		queue:   workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

// run works until ctx ends.
func (s *session) run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	defer s.queue.ShutDown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	informer, err := s.objects.informer()
	if err != nil {
		s.logger.Error().Err(err).Msg("the bridge cannot watch TaskActions")
		<-ctx.Done()
		return
	}
	s.indexer = informer.GetIndexer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: s.appeared, DeleteFunc: s.vanished})
	if err != nil {
		s.logger.Error().Err(err).Msg("the bridge cannot watch TaskActions")
		<-ctx.Done()
		return
	}
	parts.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return
	}
	for range s.config.Workers {
		parts.Go(func() { s.work(ctx) })
	}
	s.subscribe(ctx)
}

// appeared looks at objects that nobody wants. Those of live actions are as they should be.
func (s *session) appeared(object any) {
	if uid, ok := uidOf(object); ok {
		if live, known := s.desired.isLive(uid); known && !live {
			s.queue.AddAfter(uid, s.config.ReleaseGrace)
		}
	}
}

// vanished looks again, a little later, at live actions whose object is gone. Most have just ended.
func (s *session) vanished(object any) {
	if uid, ok := uidOf(object); ok {
		s.spared.Delete(uid)
		if live, _ := s.desired.isLive(uid); live {
			s.lost.Store(uid, nil)
			s.queue.AddAfter(uid, s.config.RecreateDelay)
		}
	}
}

// existing are the objects of an action: none or one, but for accidents.
func (s *session) existing(uid int64) []*metav1.PartialObjectMetadata {
	found, err := s.indexer.ByIndex(uidIndex, strconv.FormatInt(uid, 10))
	if err != nil {
		return nil // only an unknown index is an error
	}
	objects := make([]*metav1.PartialObjectMetadata, 0, len(found))
	for _, object := range found {
		if o, ok := object.(*metav1.PartialObjectMetadata); ok {
			objects = append(objects, o)
		}
	}
	return objects
}

// work takes actions from the queue and brings their objects in line.
func (s *session) work(ctx context.Context) {
	for {
		uid, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		s.finish(ctx, uid, s.sync(ctx, uid))
		s.queue.Done(uid)
	}
}

func (s *session) finish(ctx context.Context, uid int64, err error) {
	var later *laterError
	switch {
	case err == nil:
		s.queue.Forget(uid)
	case ctx.Err() != nil:
	case errors.As(err, &later):
		s.metrics.failures.Add(ctx, 1)
		s.queue.AddAfter(uid, later.delay)
	default:
		s.metrics.failures.Add(ctx, 1)
		level := zerolog.WarnLevel
		if s.queue.NumRequeues(uid) > 0 {
			level = zerolog.DebugLevel
		}
		s.logger.WithLevel(level).Err(err).Int64("uid", uid).Msg("the TaskAction is not in line; trying again")
		s.queue.AddRateLimited(uid)
	}
}
