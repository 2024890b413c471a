package taskactions

import (
	"maps"
	"slices"
	"sync"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// desired is the desired state: which actions are live, and the assignments of some of them. It survives outages of
// the runs service.
type desired struct {
	limit int // of pending

	mu      sync.Mutex
	known   bool                           // GUARDED_BY(mu): a whole snapshot has come
	live    map[int64]struct{}             // GUARDED_BY(mu)
	pending map[int64]*enginev1.Assignment // GUARDED_BY(mu): not yet objects
	missing map[int64]struct{}             // GUARDED_BY(mu): found missing by comparison
	room    chan struct{}                  // GUARDED_BY(mu): closed and replaced when pending shrinks
}

func newDesired(limit int) *desired {
	return &desired{
		limit: limit, live: map[int64]struct{}{}, pending: map[int64]*enginev1.Assignment{},
		missing: map[int64]struct{}{}, room: make(chan struct{}),
	}
}

// assign marks an action as live. Its assignment is kept if there is room, or else fetched when required.
func (d *desired) assign(a *enginev1.Assignment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	uid := a.GetRef().GetUid()
	d.live[uid] = struct{}{}
	if len(d.pending) < d.limit {
		d.pending[uid] = a
	}
}

// release marks an action as not live.
func (d *desired) release(uid int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.live, uid)
	delete(d.missing, uid)
	d.drop(uid)
}

// replace replaces the set of live actions.
func (d *desired) replace(live map[int64]struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live, d.known = live, true
	for uid := range d.pending {
		if _, ok := live[uid]; !ok {
			d.drop(uid)
		}
	}
	maps.DeleteFunc(d.missing, func(uid int64, _ struct{}) bool { _, ok := live[uid]; return !ok })
}

// isLive reports whether an action is live; known is false until the first snapshot.
func (d *desired) isLive(uid int64) (live, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, live = d.live[uid]
	return live, live || d.known
}

// uids are the live ones, in order.
func (d *desired) uids() []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.live))
}

func (d *desired) size() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

// assignment returns the kept assignment of an action that waits for its object; nil when there is none.
func (d *desired) assignment(uid int64) *enginev1.Assignment {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pending[uid]
}

// made drops the assignment of an action whose object exists now, since an old assignment must not create a second
// object. It reports whether the object had been found missing.
func (d *desired) made(uid int64) (wasMissing bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, wasMissing = d.missing[uid]
	delete(d.missing, uid)
	d.drop(uid)
	return wasMissing
}

// found adds assignments that were fetched because their objects are missing, except those released in the meantime.
func (d *desired) found(assignments []*enginev1.Assignment) (uids []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range assignments {
		uid := a.GetRef().GetUid()
		if _, ok := d.live[uid]; !ok {
			continue
		}
		d.pending[uid], d.missing[uid] = a, struct{}{}
		uids = append(uids, uid)
	}
	return uids
}

// full returns a channel that is closed when there may be room again; nil when there is room now.
func (d *desired) full() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) < d.limit {
		return nil
	}
	return d.room
}

// drop is called with mu held.
func (d *desired) drop(uid int64) {
	if _, ok := d.pending[uid]; !ok {
		return
	}
	delete(d.pending, uid)
	close(d.room)
	d.room = make(chan struct{})
}
