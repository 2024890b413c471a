package leader

import (
	"context"
	"sync"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// term is the time in which this replica works on a shard.
type term struct {
	ctx    context.Context //nolint:containedctx // of the works
	cancel context.CancelFunc
	works  sync.WaitGroup
	over   bool // GUARDED_BY(Election.mu): its works are stopping
}

// while calls work in each term of one shard.
func (e *Election) while(ctx context.Context, shard int, work func(ctx context.Context)) {
	for {
		current := e.join(ctx, shard)
		if current == nil {
			return
		}
		current.run(ctx, work)
	}
}

// join waits for a term and takes part in it; nil when ctx ended first.
func (e *Election) join(ctx context.Context, shard int) *term {
	for ctx.Err() == nil {
		e.mu.Lock()
		current, began := e.terms[shard], e.began
		running := current != nil && !current.over
		if running {
			current.works.Add(1)
		}
		e.mu.Unlock()
		if running {
			return current
		}
		select {
		case <-began:
		case <-ctx.Done():
		}
	}
	return nil
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

// begin starts terms of shards for which nothing runs.
func (e *Election) begin(shards []int) {
	if len(shards) == 0 {
		return
	}
	e.logger.Info().Str("identity", e.identity).Str("lease", e.config.Name).Ints("shards", shards).Msg("shards acquired")
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, shard := range shards {
		one := &term{}
		one.ctx, one.cancel = context.WithCancel(context.Background())
		e.terms[shard] = one
	}
	close(e.began)
	e.began = make(chan struct{})
}

// end ends terms. It does not wait for their works: ended tells when they have stopped.
func (e *Election) end(shards []int) {
	if len(shards) == 0 {
		return
	}
	e.logger.Info().Str("identity", e.identity).Str("lease", e.config.Name).Ints("shards", shards).Msg("shards released")
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, shard := range shards {
		one := e.terms[shard]
		one.over = true
		one.cancel()
		go func() {
			one.works.Wait()
			e.mu.Lock()
			e.terms[shard] = nil
			e.mu.Unlock()
			select {
			case e.ended <- struct{}{}:
			default:
			}
		}()
	}
}

// activity is what this replica does, at one moment.
type activity struct {
	running  []int              // shards with a term
	stopping int                // how many terms are over and have works that still run
	idle     [ident.Shards]bool // shards for which nothing runs
}

func (e *Election) activity() activity {
	e.mu.Lock()
	defer e.mu.Unlock()
	var a activity
	for shard, one := range e.terms {
		switch {
		case one == nil:
			a.idle[shard] = true
		case one.over:
			a.stopping++
		default:
			a.running = append(a.running, shard)
		}
	}
	return a
}
