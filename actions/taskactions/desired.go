package taskactions

import (
	"maps"
	"slices"
	"sync"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// desired is the desired state: which actions are live, and the assignments of some of those that wait for their object. It survives
// outages of the runs service.
type desired struct {
	limit int // of pending

	mu      sync.Mutex
	known   bool                           // GUARDED_BY(mu): a whole snapshot has come
	live    map[int64]uint32               // GUARDED_BY(mu): the placement of each
	pending map[int64]*enginev1.Assignment // GUARDED_BY(mu): not yet objects
	wanted  map[int64]struct{}             // GUARDED_BY(mu): not yet objects, and not in pending
	order   []int64                        // GUARDED_BY(mu): of wanted, as they came; some may no longer be wanted
	missing map[int64]struct{}             // GUARDED_BY(mu): found missing by comparison
}

func newDesired(limit int) *desired {
	return &desired{
		limit: limit, live: map[int64]uint32{}, pending: map[int64]*enginev1.Assignment{},
		wanted: map[int64]struct{}{}, missing: map[int64]struct{}{},
	}
}

// assign marks an action as live. Its assignment is kept if there is room, or else fetched when required.
func (d *desired) assign(a *enginev1.Assignment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	uid := a.GetRef().GetUid()
	d.live[uid] = a.GetRef().GetPlacement()
	if _, kept := d.pending[uid]; kept || len(d.pending) < d.limit {
		d.pending[uid] = a
		delete(d.wanted, uid)
		return
	}
	d.want(uid)
}

// miss marks live actions as ones whose objects are missing.
func (d *desired) miss(uids []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, uid := range uids {
		if _, live := d.live[uid]; !live {
			continue
		}
		d.missing[uid] = struct{}{}
		if d.pending[uid] == nil {
			d.want(uid)
		}
	}
}

// want is called with mu held.
func (d *desired) want(uid int64) {
	if !d.wants(uid) {
		d.wanted[uid] = struct{}{}
		d.order = append(d.order, uid)
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
func (d *desired) replace(live map[int64]uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live, d.known = live, true
	ended := func(uid int64) bool { _, ok := live[uid]; return !ok }
	maps.DeleteFunc(d.pending, func(uid int64, _ *enginev1.Assignment) bool { return ended(uid) })
	for _, uids := range []map[int64]struct{}{d.wanted, d.missing} {
		maps.DeleteFunc(uids, func(uid int64, _ struct{}) bool { return ended(uid) })
	}
	d.order = slices.DeleteFunc(d.order, func(uid int64) bool { return !d.wants(uid) })
}

// isLive reports whether an action is live; known is false until the first snapshot.
func (d *desired) isLive(uid int64) (live, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, live = d.live[uid]
	return live, live || d.known
}

// placement is that of a live action.
func (d *desired) placement(uid int64) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[uid]
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

// page returns an action whose assignment is to be fetched, and up to size-1 others, which have waited longest, as far as there is room
// to keep theirs.
func (d *desired) page(uid int64, size int) []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.order) > 0 && !d.wants(d.order[0]) {
		d.order = d.order[1:]
	}
	uids := []int64{uid}
	size = min(size, d.limit-len(d.pending))
	for _, next := range d.order {
		if len(uids) >= size {
			break
		}
		if next != uid && d.wants(next) {
			uids = append(uids, next)
		}
	}
	return uids
}

// wants is called with mu held.
func (d *desired) wants(uid int64) bool { _, wanted := d.wanted[uid]; return wanted }

// fetched keeps the assignments of a page, except those released in the meantime, and marks those that were not found as not live.
func (d *desired) fetched(page []int64, found []*enginev1.Assignment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	byUID := make(map[int64]*enginev1.Assignment, len(found))
	for _, a := range found {
		byUID[a.GetRef().GetUid()] = a
	}
	for _, uid := range page {
		switch {
		case byUID[uid] == nil:
			delete(d.live, uid)
			delete(d.missing, uid)
			d.drop(uid)
		case d.wants(uid) && len(d.pending) < d.limit:
			d.pending[uid] = byUID[uid]
			delete(d.wanted, uid)
		}
	}
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

// drop is called with mu held.
func (d *desired) drop(uid int64) {
	delete(d.pending, uid)
	delete(d.wanted, uid)
}
