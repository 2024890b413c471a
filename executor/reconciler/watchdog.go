package reconciler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// maxStoreWaits is how many reconciles of a process may wait for the object store alongside those that work. Each shard has its part:
	// every place is a goroutine.
	maxStoreWaits = 256
	// endAfter is the age, as a multiple of SlowAfter, at which the context of a reconcile ends.
	endAfter = 5
)

// errSlow ends the context of a reconcile that has taken too long.
var errSlow = errors.New("the reconcile took too long")

// Running describes a reconcile that runs now.
type Running struct {
	// Action is the action whose TaskAction is reconciled; if that is gone, the name of the TaskAction.
	Action string
	// Doing is what the reconcile does now, such as "reading s3://bucket/outputs.pb".
	Doing string
	// Age is how long the reconcile has run.
	Age time.Duration
}

// String implements fmt.Stringer.
func (r Running) String() string {
	return fmt.Sprintf("the reconcile of %s has run for %s and is %s", r.Action, r.Age.Round(time.Second), r.Doing)
}

// reconciles are those that run now. One that works holds a slot; one that waits for the object store holds none, so that
// objects that cannot be read do not keep others from being reconciled.
type reconciles struct {
	clock clock.Clock
	slots Slots

	mu  sync.Mutex
	all map[*reconciling]struct{} // GUARDED_BY(mu)
}

// reconciling is one of them. Its fields below owner are guarded by the owner's mutex.
type reconciling struct {
	owner  *reconciles
	action string
	doing  string
	began  time.Time
	warned time.Time // when the log last mentioned it
	cancel context.CancelCauseFunc
}

// Slots are the places of reconciles that work at the same time. The reconcilers of a process share them.
type Slots chan struct{}

// NewSlots makes places for as many reconciles as the configuration says.
func NewSlots(config Config) Slots { return make(Slots, config.Workers) }

func newReconciles(clk clock.Clock, slots Slots) *reconciles {
	return &reconciles{clock: clk, slots: slots, all: map[*reconciling]struct{}{}}
}

type reconcilingKey struct{}

// begin takes a slot and returns the context of a reconcile. The caller calls end.
func (r *reconciles) begin(ctx context.Context, name string) (_ context.Context, end func(), _ error) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	one := &reconciling{owner: r, action: name, doing: "deciding what to do", began: r.clock.Now(), cancel: cancel}
	r.mu.Lock()
	r.all[one] = struct{}{}
	r.mu.Unlock()
	return context.WithValue(ctx, reconcilingKey{}, one), func() {
		r.mu.Lock()
		delete(r.all, one)
		r.mu.Unlock()
		cancel(nil)
		<-r.slots
	}, nil
}

// reconcilingIn is the reconcile of a context; nil in background work.
func reconcilingIn(ctx context.Context) *reconciling {
	one, _ := ctx.Value(reconcilingKey{}).(*reconciling)
	return one
}

// concerns notes the action of a reconcile.
func concerns(ctx context.Context, action ident.Action) {
	if one := reconcilingIn(ctx); one != nil {
		one.owner.mu.Lock()
		defer one.owner.mu.Unlock()
		one.action = action.String()
	}
}

// doing notes what the reconcile of a context does until the returned function is called.
func doing(ctx context.Context, what string) (done func()) {
	one := reconcilingIn(ctx)
	if one == nil {
		return func() {}
	}
	one.owner.mu.Lock()
	defer one.owner.mu.Unlock()
	before := one.doing
	one.doing = what
	return func() {
		one.owner.mu.Lock()
		defer one.owner.mu.Unlock()
		one.doing = before
	}
}

// lend is doing for a reconcile that only waits: others have its slot meanwhile.
func lend(ctx context.Context, what string) (done func()) {
	one := reconcilingIn(ctx)
	if one == nil {
		return func() {}
	}
	noted := doing(ctx, what)
	<-one.owner.slots
	return func() {
		one.owner.slots <- struct{}{}
		noted()
	}
}

// longest is the reconcile that has run longest; false when none runs.
func (r *reconciles) longest() (Running, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var oldest *reconciling
	for one := range r.all {
		if oldest == nil || one.began.Before(oldest.began) {
			oldest = one
		}
	}
	if oldest == nil {
		return Running{}, false
	}
	return oldest.describe(r.clock.Now()), true
}

func (r *reconciling) describe(now time.Time) Running {
	return Running{Action: r.action, Doing: r.doing, Age: now.Sub(r.began)}
}

// watch logs, until the context ends, every reconcile that has run for longer than slow, once in each such span. It ends
// the context of those that have run for endAfter times as long.
func (r *reconciles) watch(ctx context.Context, slow time.Duration, log zerolog.Logger) {
	for clock.Sleep(ctx, r.clock, slow/4) == nil {
		for _, one := range r.slow(slow) {
			log.Warn().Str("action", one.Action).Str("doing", one.Doing).Stringer("age", one.Age.Round(time.Second)).
				Msg("a reconcile takes long")
		}
	}
}

// slow are the reconciles to be logged now.
func (r *reconciles) slow(limit time.Duration) []Running {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	var found []Running
	for one := range r.all {
		age := now.Sub(one.began)
		if age >= endAfter*limit {
			one.cancel(errSlow)
		}
		if age >= limit && now.Sub(one.warned) >= limit {
			one.warned = now
			found = append(found, one.describe(now))
		}
	}
	return found
}

// Waiting returns a store for reconciles and their plugins: a read occupies no worker.
func Waiting(store Store) Store { return waitingStore{store} }

type waitingStore struct{ store Store }

// ReadAll implements Store.
func (s waitingStore) ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error) {
	defer lend(ctx, "reading "+uri)()
	return s.store.ReadAll(ctx, uri, limit)
}

// NewReader implements Store.
func (s waitingStore) NewReader(ctx context.Context, uri string) (io.ReadCloser, error) {
	defer lend(ctx, "opening "+uri)()
	reader, err := s.store.NewReader(ctx, uri)
	return &waitingReader{ReadCloser: reader, ctx: ctx, what: "reading " + uri}, err
}

// waitingReader is a stream of a reconcile.
type waitingReader struct {
	io.ReadCloser
	ctx  context.Context //nolint:containedctx // of the reconcile
	what string
}

// Read implements io.Reader.
func (r *waitingReader) Read(p []byte) (int, error) {
	defer lend(r.ctx, r.what)()
	return r.ReadCloser.Read(p)
}

// Stat implements Store.
func (s waitingStore) Stat(ctx context.Context, uri string) (blobstore.Info, error) {
	defer lend(ctx, "looking for "+uri)()
	return s.store.Stat(ctx, uri)
}
