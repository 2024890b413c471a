package watch

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// sharedRead is one read for several subscribers.
type sharedRead struct {
	seq   int64         // the read began when the log was read up to here
	done  chan struct{} // closed when value and err are set
	value proto.Message
	err   error
}

// maxShared bounds the shared reads of a feed; beyond it subscribers read for themselves.
const maxShared = 32

// share returns a read that began after the subscriber's position, joining one in flight or starting one.
func (f *feed) share(ctx context.Context, key string, s *Subscription, read func(context.Context) (proto.Message, error)) (proto.Message, error) {
	for {
		f.mu.Lock()
		current := f.shared[key]
		if current == nil || current.seq < s.seen {
			current = &sharedRead{seq: f.cursor, done: make(chan struct{})}
			// Subscribers that wait for a read hold it themselves, so none of them loses its result.
			if _, known := f.shared[key]; !known && len(f.shared) >= maxShared {
				clear(f.shared)
			}
			f.shared[key] = current
			f.mu.Unlock()
			current.value, current.err = read(ctx)
			if current.err != nil {
				f.forget(key, current)
			}
			close(current.done)
			return current.value, current.err
		}
		f.mu.Unlock()
		select {
		case <-current.done:
			if current.err == nil {
				return current.value, nil
			}
			// It failed, perhaps only because its own subscriber left: read again for this subscriber.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *feed) forget(key string, failed *sharedRead) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared[key] == failed {
		delete(f.shared, key)
	}
}
