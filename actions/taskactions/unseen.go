package taskactions

import (
	"sync"
	"time"
)

// unseenFor is how long an object whose creation was sent may be missing in the cache. The watch of an API server that was down is opened
// again after some seconds.
const unseenFor = 30 * time.Second

// unseen are actions for which an object may exist that the cache does not show: its creation is under way, or the answer was lost, or the
// watch is late. It is safe for concurrent use. The zero value is empty.
type unseen struct {
	mu   sync.Mutex
	sent map[int64]time.Time // GUARDED_BY(mu): when the last call returned; zero while it is under way
}

// sending notes that a creation is being sent.
func (u *unseen) sending(uid int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sent == nil {
		u.sent = map[int64]time.Time{}
	}
	u.sent[uid] = time.Time{}
}

// returned notes that the call has returned, unless the object was seen meanwhile.
func (u *unseen) returned(uid int64, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, still := u.sent[uid]; still {
		u.sent[uid] = now
	}
}

// settle notes that the cache shows the object, or that there is none.
func (u *unseen) settle(uid int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.sent, uid)
}

// mayExist reports whether there may be an object that the cache does not show.
func (u *unseen) mayExist(uid int64, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	at, sent := u.sent[uid]
	if sent && !at.IsZero() && now.Sub(at) >= unseenFor {
		delete(u.sent, uid)
		return false
	}
	return sent
}
