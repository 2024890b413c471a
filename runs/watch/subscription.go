package watch

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// Topic says which changes of a run a subscriber wants. The zero value means all.
type Topic struct {
	parent string
	action int64
}

// WholeRun is the topic of all changes.
func WholeRun() Topic { return Topic{} }

// ChildrenOf is the topic of the direct children of an action.
func ChildrenOf(name string) Topic { return Topic{parent: name} }

// OneAction is the topic of one action, by its id.
func OneAction(id int64) Topic { return Topic{action: id} }

func (t Topic) matches(row *lists.Listed) bool {
	switch {
	case t.parent != "":
		return row.ParentName != nil && *row.ParentName == t.parent
	case t.action != 0:
		return row.ID == t.action
	default:
		return true
	}
}

// Subscription is one subscriber's position in a run's feed. It holds no changes itself: those are in the feed's
// ring, so a slow subscriber needs no memory and delays no other.
type Subscription struct {
	feed  *feed
	topic Topic
	wake  chan struct{}
	once  sync.Once

	pending int64 // GUARDED_BY(feed.mu): seq of the first change not taken; 0 when there is none
	seen    int64 // GUARDED_BY(feed.mu): everything up to here is taken or not of the topic
}

// Ready delivers a value when Take has changes.
func (s *Subscription) Ready() <-chan struct{} { return s.wake }

// Taken is the result of Take.
type Taken struct {
	Changes []watches.Change
	// Lagged says that the ring dropped changes before they were taken: the subscriber must read what changed after
	// Since. Changes is then empty.
	Lagged bool
	Since  int64
	// UpTo is the position in the log up to which everything has been taken.
	UpTo int64
}

// Take returns the new changes of the topic, in order.
func (s *Subscription) Take() Taken {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := Taken{Since: s.seen, UpTo: f.cursor}
	first := s.pending
	s.pending, s.seen = 0, f.cursor
	switch {
	case first == 0:
	case first <= f.ring.dropped:
		taken.Lagged = true
	default:
		f.ring.from(first, func(change watches.Change) {
			if s.topic.matches(change.Row) {
				taken.Changes = append(taken.Changes, change)
			}
		})
	}
	return taken
}

// Close ends the subscription. It may be called twice.
func (s *Subscription) Close() {
	s.once.Do(func() {
		s.feed.remove(s)
		s.feed.hub.release(s.feed)
	})
}

// Share reads something about the run once for all subscribers that need it at the same time. The result is at least
// as new as every change that this subscription has taken. It must not be modified.
func (s *Subscription) Share(ctx context.Context, key string, read func(context.Context) (proto.Message, error)) (proto.Message, error) {
	return s.feed.share(ctx, key, s, read)
}
