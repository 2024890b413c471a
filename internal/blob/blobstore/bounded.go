package blobstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// ErrNoAnswer says that the store was silent for longer than Config.Timeout. What a write has done is unknown.
var ErrNoAnswer = errors.New("the object store does not answer")

// filesAtOnce bounds the calls to one directory at a time. A call to a disk that hangs keeps a thread of the process for
// good, and too many threads end it.
const filesAtOnce = 256

// bounded is a backend whose calls end in time: one step of an operation that takes longer than the limit is abandoned.
// The context of the step ends then. That ends a request to a bucket, but no call to a disk, so the step is not waited
// for.
type bounded struct {
	backend
	limit time.Duration
	clock clock.Clock
	slots chan struct{} // one for each call; nil means any number
}

// call runs one step. When the step exceeds the limit or the context ends, call returns; late, where set, gets what the
// step returns after that.
func call[T any](ctx context.Context, b *bounded, step func() (T, error), late func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	timer := b.clock.NewTimer(b.limit)
	defer timer.Stop()
	results, abandoned := make(chan result), make(chan struct{})
	var none T
	if b.slots != nil {
		select {
		case b.slots <- struct{}{}:
		case <-timer.C():
			return none, fmt.Errorf("%w: %d calls wait for it", ErrNoAnswer, cap(b.slots))
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
	}
	go func() {
		value, err := step()
		if b.slots != nil {
			<-b.slots
		}
		select {
		case results <- result{value, err}:
		case <-abandoned:
			if err == nil && late != nil {
				late(value)
			}
		}
	}()
	select {
	case r := <-results:
		return r.value, r.err
	case <-timer.C():
		close(abandoned)
		return none, b.silent()
	case <-ctx.Done():
		close(abandoned)
		return none, context.Cause(ctx)
	}
}

func (b *bounded) silent() error { return fmt.Errorf("%w within %s", ErrNoAnswer, b.limit) }

// do is call for a step without a result.
func (b *bounded) do(ctx context.Context, step func() error) error {
	_, err := call(ctx, b, func() (struct{}, error) { return struct{}{}, step() }, nil)
	return err
}

// readAll reads a whole object as one step, so that an object that comes drop by drop ends too.
func (b *bounded) readAll(ctx context.Context, key string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return call(ctx, b, func() ([]byte, error) {
		r, err := b.backend.open(ctx, key)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if limit <= 0 {
			return io.ReadAll(r)
		}
		return io.ReadAll(io.LimitReader(r, limit+1))
	}, nil)
}

// readRange reads a part of an object as one step.
func (b *bounded) readRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return call(ctx, b, func() ([]byte, error) {
		r, err := b.backend.openRange(ctx, key, offset, length)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(io.LimitReader(r, length))
	}, nil)
}

// writeAll writes a whole object as one step.
func (b *bounded) writeAll(ctx context.Context, key string, body []byte) error {
	// If its context ends before Close, the writer aborts, so that half an object never appears.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return b.do(ctx, func() error {
		w, err := b.backend.create(ctx, key)
		if err != nil {
			return err
		}
		if _, err := io.Copy(w, bytes.NewReader(body)); err != nil {
			cancel()
			_ = w.Close() // reports the cancel
			return err
		}
		return w.Close()
	})
}

func (b *bounded) open(ctx context.Context, key string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := call(ctx, b, func() (io.ReadCloser, error) { return b.backend.open(ctx, key) }, func(r io.ReadCloser) { _ = r.Close() })
	if err != nil {
		cancel()
		return nil, err
	}
	return &boundedReader{bounded: b, from: r, ctx: ctx, cancel: cancel}, nil
}

func (b *bounded) create(ctx context.Context, key string) (io.WriteCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	w, err := call(ctx, b, func() (io.WriteCloser, error) { return b.backend.create(ctx, key) }, func(w io.WriteCloser) { _ = w.Close() })
	if err != nil {
		cancel()
		return nil, err
	}
	return &boundedWriter{bounded: b, to: w, ctx: ctx, cancel: cancel}, nil
}

func (b *bounded) stat(ctx context.Context, key string) (Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return call(ctx, b, func() (Info, error) { return b.backend.stat(ctx, key) }, nil)
}

func (b *bounded) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return b.do(ctx, func() error { return b.backend.remove(ctx, key) })
}

func (b *bounded) signPut(ctx context.Context, key string, o PutOptions) (Signed, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return call(ctx, b, func() (Signed, error) { return b.backend.signPut(ctx, key, o) }, nil)
}

func (b *bounded) signGet(ctx context.Context, key string, o GetOptions) (Signed, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return call(ctx, b, func() (Signed, error) { return b.backend.signGet(ctx, key, o) }, nil)
}

// list bounds the time between two objects. visit runs in the caller's goroutine, so that no visit follows the return.
func (b *bounded) list(ctx context.Context, key string, visit func(Object) error) error {
	return follow(ctx, b, visit, func(ctx context.Context, send func(Object) error) error { return b.backend.list(ctx, key, send) })
}

// measure bounds the time between two pages.
func (b *bounded) measure(ctx context.Context, key, after string, size int, visit func(Page) error) error {
	return follow(ctx, b, visit, func(ctx context.Context, send func(Page) error) error {
		return b.backend.measure(ctx, key, after, size, send)
	})
}

// removePrefix bounds the time between two objects.
func (b *bounded) removePrefix(ctx context.Context, key string, removed func(Object)) error {
	note := func(o Object) error { removed(o); return nil }
	return follow(ctx, b, note, func(ctx context.Context, send func(Object) error) error {
		return b.backend.removePrefix(ctx, key, func(o Object) { _ = send(o) })
	})
}

// follow runs work, which sends what visit gets, and fails when nothing comes for longer than the limit.
func follow[T any](ctx context.Context, b *bounded, visit func(T) error, work func(ctx context.Context, send func(T) error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	things := make(chan T)
	send := func(thing T) error {
		select {
		case things <- thing:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	timer := b.clock.NewTimer(b.limit)
	defer func() { timer.Stop() }()
	ended := make(chan error, 1)
	go func() { ended <- work(ctx, send) }()
	for {
		select {
		case thing := <-things:
			timer.Stop()
			if err := visit(thing); err != nil {
				return err
			}
			timer = b.clock.NewTimer(b.limit)
		case err := <-ended:
			return err
		case <-timer.C():
			return b.silent()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readChunk is how much of a stream is read in one step.
const readChunk = 64 << 10

// boundedReader bounds each read of a stream.
type boundedReader struct {
	*bounded
	from   io.ReadCloser
	using  sync.Mutex      // held by the step that uses from, which may be an abandoned one
	ctx    context.Context //nolint:containedctx // of the stream
	cancel context.CancelFunc
	chunk  []byte // where a step reads into; given up with an abandoned step
	rest   []byte // read and not yet returned
	err    error  // what follows the rest
}

// Read implements io.Reader. After an error every further call returns it.
func (r *boundedReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		chunk := r.chunk
		if chunk == nil {
			chunk = make([]byte, readChunk)
		}
		r.chunk = nil
		r.rest, r.err = call(r.ctx, r.bounded, func() ([]byte, error) {
			r.using.Lock()
			defer r.using.Unlock()
			n, err := r.from.Read(chunk)
			return chunk[:n], err
		}, nil)
		if r.err == nil {
			r.chunk = chunk
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// Close implements io.Closer.
func (r *boundedReader) Close() error {
	r.cancel()
	if !r.using.TryLock() {
		closeAfter(&r.using, r.from)
		return nil
	}
	defer r.using.Unlock()
	return r.do(context.WithoutCancel(r.ctx), r.from.Close)
}

// closeAfter closes a stream when an abandoned step no longer uses it. If that never happens, neither does this.
func closeAfter(using *sync.Mutex, stream io.Closer) {
	go func() {
		using.Lock()
		defer using.Unlock()
		_ = stream.Close() // those who used the stream know that it failed
	}()
}

// boundedWriter bounds each write of a stream.
type boundedWriter struct {
	*bounded
	to     io.WriteCloser
	using  sync.Mutex      // held by the step that uses to, which may be an abandoned one
	ctx    context.Context //nolint:containedctx // of the stream
	cancel context.CancelFunc
	err    error // why a write failed
}

// Write implements io.Writer. It copies p, which an abandoned step may still read.
func (w *boundedWriter) Write(p []byte) (int, error) {
	chunk := bytes.Clone(p)
	n, err := call(w.ctx, w.bounded, func() (int, error) {
		w.using.Lock()
		defer w.using.Unlock()
		return w.to.Write(chunk)
	}, nil)
	if err != nil {
		w.err = err
		w.cancel() // half an object must not appear
	}
	return n, err
}

// Close implements io.Closer: it makes the object appear, or removes what was written if the context has ended.
func (w *boundedWriter) Close() error {
	defer w.cancel()
	if !w.using.TryLock() {
		closeAfter(&w.using, w.to)
		return w.err
	}
	defer w.using.Unlock()
	return w.do(context.WithoutCancel(w.ctx), w.to.Close)
}
