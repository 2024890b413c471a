package taskactions

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/flyte-binary/flyte-binary/internal/kube/drift"
)

// session is one term of this replica for one shard, or for all. It begins without any knowledge, so that it acts on nothing that was true in an
// earlier term only.
type session struct {
	*Owner
	shard   int
	desired *desired
	indexer cache.Indexer
	journal *drift.Journal
	lost    sync.Map // ids of live actions whose object was deleted from outside
	// extra are ids of actions that were found not live although they had an object, with whether the first comparison of
	// the session found them: those are what an earlier owner did not get to.
	extra    sync.Map
	compared atomic.Bool // the first comparison is over

	done    sync.Map // by id of action: the object with which the executor is done
	deleted sync.Map // UIDs of objects that were deleted and are still in the cache

	fence  *fence
	unseen unseen
	failed atomic.Bool // the last stream failed

	fetching sync.Mutex // held while assignments are fetched

	// creations are actions that may lack their object, removals those that may have one too many. Each has workers of its own, so that
	// objects are deleted while new ones wait for that.
	creations, removals queue
}

// queue holds ids of actions.
type queue = workqueue.TypedRateLimitingInterface[int64]

func newSession(o *Owner, shard int) *session {
	return &session{
		Owner:     o,
		shard:     shard,
		desired:   newDesired(o.config.MaxPending),
		journal:   drift.NewJournal(o.clock, o.logger),
		fence:     newFence(),
		creations: newQueue(o.config),
		removals:  newQueue(o.config),
	}
}

func newQueue(config Config) queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[int64](config.Backoff.First, config.Backoff.Max))
}

// run works until ctx ends.
func (s *session) run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	defer s.creations.ShutDown()
	defer s.removals.ShutDown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts.Go(func() { s.journal.Run(ctx) })

	informer, err := s.objects.informer(s.shard)
	if err != nil {
		s.logger.Error().Err(err).Msg("cannot watch TaskActions")
		<-ctx.Done()
		return
	}
	s.indexer = informer.GetIndexer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: s.appeared, DeleteFunc: s.vanished})
	if err != nil {
		s.logger.Error().Err(err).Msg("cannot watch TaskActions")
		<-ctx.Done()
		return
	}
	parts.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return
	}
	for range s.config.Workers {
		parts.Go(func() { s.work(ctx, s.creations, s.awaitRoom, s.create) })
		parts.Go(func() { s.work(ctx, s.removals, func(context.Context) {}, s.createLater) })
	}
	s.subscribe(ctx)
}

// appeared queues objects whose action is not live, or has come back since: their creation was under way when the action was taken back.
// Others are as they should be.
func (s *session) appeared(object any) {
	if uid, ok := uidOf(object); ok {
		s.unseen.settle(uid)
		if live, known := s.desired.isLive(uid); known && (!live || s.isEarlier(uid, object)) {
			if s.doubtful() {
				s.fence.give(uid)
			}
			s.removals.Add(uid)
		}
	}
}

// vanished looks again, a little later, at live actions whose object is gone. Most have just ended.
func (s *session) vanished(object any) {
	if uid, ok := uidOf(object); ok {
		s.forget(object)
		if live, _ := s.desired.isLive(uid); live {
			s.lost.Store(uid, nil)
			s.creations.AddAfter(uid, s.config.RecreateDelay)
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

// forget drops the state of an object that is gone.
func (s *session) forget(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if gone, ok := object.(*metav1.PartialObjectMetadata); ok {
		s.deleted.Delete(gone.UID)
		if uid, ok := uidOf(gone); ok {
			s.done.CompareAndDelete(uid, gone.UID)
			s.unseen.settle(uid)
		}
	}
}

// work takes actions from a queue and reconciles their objects, each when there is room for it.
func (s *session) work(ctx context.Context, from queue, room func(context.Context), create func(ctx context.Context, uid int64) error) {
	for {
		uid, shutdown := from.Get()
		if shutdown {
			return
		}
		room(ctx)
		s.settle(ctx, from, uid, s.sync(ctx, uid, create))
		from.Done(uid)
	}
}

// createLater leaves it to the workers that wait for the fence to create an object: an action that was taken back may have come back.
func (s *session) createLater(_ context.Context, uid int64) error {
	s.creations.Add(uid)
	return nil
}

// awaitRoom waits until new objects may be created and the executor has room for them.
func (s *session) awaitRoom(ctx context.Context) {
	s.fence.await(ctx)
	if s.executor != nil {
		s.executor.AwaitRoom(ctx, s.shard)
	}
}

// settle decides when an action is looked at again.
func (s *session) settle(ctx context.Context, from queue, uid int64, err error) {
	var later *laterError
	switch {
	case err == nil:
		from.Forget(uid)
	case ctx.Err() != nil:
	case errors.Is(err, errRetained), errors.Is(err, errEarlier):
		from.AddRateLimited(uid) // Finished comes first, as a rule.
	case errors.As(err, &later):
		s.metrics.failures.Add(ctx, 1)
		from.AddAfter(uid, later.delay)
	default:
		s.metrics.failures.Add(ctx, 1)
		level := zerolog.WarnLevel
		if from.NumRequeues(uid) > 0 {
			level = zerolog.DebugLevel
		}
		s.logger.WithLevel(level).Err(err).Int64("uid", uid).Msg("cannot reconcile the TaskAction; retrying")
		from.AddRateLimited(uid)
	}
}
