package leader

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// term is the time in which this replica leads, from the candidature on.
type term struct {
	ctx    context.Context //nolint:containedctx // of the works
	cancel context.CancelFunc
	works  sync.WaitGroup
	over   bool // GUARDED_BY(Election.mu)
}

// run is one work in a term that was joined. A work that returns early is not called again in the same term.
func (t *term) run(ctx context.Context, work func(context.Context)) {
	func() {
		defer t.works.Done()
		working, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(t.ctx, cancel)()
		work(working)
	}()
	select {
	case <-t.ctx.Done():
	case <-ctx.Done():
	}
}

// run stands for election until ctx ends.
func (e *Election) run(ctx context.Context) {
	for ctx.Err() == nil {
		e.stand(ctx)
	}
}

// stand is one candidature: it waits for the Lease, leads, and returns when the Lease is lost or released.
func (e *Election) stand(ctx context.Context) {
	e.ensureNamespace(ctx)
	candidate := &term{}
	candidate.ctx, candidate.cancel = context.WithCancel(ctx)
	defer e.end(candidate)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.config.Namespace, Name: e.config.Name},
		Client:     e.client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.identity},
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:          e.config.Name,
		Lock:          lock,
		LeaseDuration: e.config.Duration,
		RenewDeadline: e.config.Duration * 2 / 3,
		RetryPeriod:   e.config.Duration / 6,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { e.begin(candidate) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		// Only a wrong configuration makes an error, and Validate has seen it.
		e.logger.Error().Err(err).Msg("cannot run for the lease; this replica never leads")
		<-ctx.Done()
		return
	}
	elector.Run(ctx)
	e.end(candidate)
	e.release(context.WithoutCancel(ctx), lock)
}

// release releases the Lease, if this replica still has it, so that the next leader need not wait until it expires. The
// elector would do so before the works have stopped.
func (e *Election) release(ctx context.Context, lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(ctx, e.config.Duration)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err == nil && record.HolderIdentity == e.identity {
		now := metav1.Now()
		err = lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		e.logger.Warn().Err(err).Str("lease", e.config.Name).Msg("cannot give the lease up; it expires")
	}
}

// begin lets the works of the term start, unless it is over already.
func (e *Election) begin(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.over {
		return
	}
	e.logger.Info().Str("identity", e.identity).Str("lease", e.config.Name).Msg("this replica leads")
	e.term = t
	close(e.began)
	e.began = make(chan struct{})
}

// end stops the works of the term and waits for them. It may be called twice.
func (e *Election) end(t *term) {
	e.mu.Lock()
	t.over = true
	if e.term == t {
		e.term = nil
		e.logger.Info().Str("identity", e.identity).Str("lease", e.config.Name).Msg("this replica leads no more")
	}
	e.mu.Unlock()
	t.cancel()
	t.works.Wait()
}

// ensureNamespace creates the namespace of the Lease. A failure shows when the Lease cannot be taken.
func (e *Election) ensureNamespace(ctx context.Context) {
	namespaces := e.client.CoreV1().Namespaces()
	if _, err := namespaces.Get(ctx, e.config.Namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return
	}
	_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.config.Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		e.logger.Warn().Err(err).Str("namespace", e.config.Namespace).Msg("cannot create the namespace of the lease")
	}
}
