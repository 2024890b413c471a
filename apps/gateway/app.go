package gateway

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// app is what the gateway knows of one app: its route, its replicas, and the requests that wait for one.
type app struct {
	uid   string
	route atomic.Pointer[enginev1.AppRoute]
	load  load
	// series are its metrics, from its first request on.
	series atomic.Pointer[series]
	line   *line
	far    *distances
	// attend looks after the app until attended says that no one needs it; see attendant.
	attend func(*app)
	nudge  chan struct{} // tells the attendant of a new route

	mu       sync.Mutex
	targets  []*target  // GUARDED_BY(mu)
	several  bool       // GUARDED_BY(mu): the targets are in several clusters
	waiting  *list.List // GUARDED_BY(mu): of *waiter, first come first
	turn     int        // GUARDED_BY(mu): where the search for a replica begins
	attended bool       // GUARDED_BY(mu)
	ended    bool       // GUARDED_BY(mu): the app is gone
}

// target is one replica.
type target struct {
	replica, address string
	cluster          string
	ready            bool // as reported
	// usable means that it takes connections, as far as is known: it is ready and has refused none, or was tried.
	usable   bool
	inFlight int
}

// waiter is a request that waits for a replica. It gets one or an error.
type waiter struct{ got chan grant }

type grant struct {
	target *target
	err    error
}

// line bounds the requests that wait.
type line struct {
	perApp, total int
	waiting       atomic.Int64
	closed        atomic.Bool // the process stops
}

func newApp(uid string, line *line, far *distances, attend func(*app)) *app {
	return &app{uid: uid, line: line, far: far, attend: attend, nudge: make(chan struct{}, 1), waiting: list.New()}
}

// update changes the route. A replica that is in it no longer gets no new requests; those in flight end.
func (a *app) update(route *enginev1.AppRoute) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.route.Store(route)
	before := map[string]*target{}
	for _, t := range a.targets {
		before[t.replica+" "+t.address] = t
	}
	a.targets = make([]*target, 0, len(route.GetTargets()))
	for _, reported := range route.GetTargets() {
		t := before[reported.GetReplica()+" "+reported.GetAddress()]
		if t == nil {
			t = &target{replica: reported.GetReplica(), address: reported.GetAddress(), cluster: reported.GetCluster()}
		}
		if reported.GetReady() != t.ready {
			t.ready, t.usable = reported.GetReady(), reported.GetReady()
		}
		if t.address != "" {
			a.targets = append(a.targets, t)
		}
	}
	a.several = slices.ContainsFunc(a.targets, func(t *target) bool { return t.cluster != a.targets[0].cluster })
	if err := hopeless(route); err != nil {
		a.refuse(err)
	}
	a.serve()
	select {
	case a.nudge <- struct{}{}:
	default:
	}
}

// hopeless returns why no replica will come, if that is known.
func hopeless(route *enginev1.AppRoute) error {
	if len(route.GetTargets()) > 0 || route.GetWakes() || route.GetReason() == "" {
		return nil
	}
	return rpc.Unavailable(nil, "%s", route.GetReason())
}

// tryTake takes a replica that has room, or returns nil.
func (a *app) tryTake() *target {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting.Len() > 0 {
		return nil // they came first
	}
	return a.best()
}

// wait takes a replica as soon as there is one with room. left is what is left of the limit of all waits of the request.
func (a *app) wait(ctx context.Context, left, limit time.Duration) (*target, error) {
	w := &waiter{got: make(chan grant, 1)}
	element, err := a.queue(w)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case g := <-w.got:
		return g.target, g.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = rpc.Unavailable(nil, "%s", a.tooLate(limit))
	}
	a.mu.Lock()
	select {
	case g := <-w.got: // in the same moment
		a.mu.Unlock()
		if g.target != nil {
			a.release(g.target)
		}
	default:
		a.leaveLine(element)
		a.mu.Unlock()
	}
	return nil, err
}

// queue appends a waiter, unless a replica has room or too many wait.
func (a *app) queue(w *waiter) (*list.Element, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch err := hopeless(a.route.Load()); {
	case a.ended:
		return nil, errGone
	case a.line.closed.Load():
		return nil, rpc.ErrShuttingDown
	case err != nil:
		return nil, err
	case a.waiting.Len() >= a.line.perApp || a.line.waiting.Load() >= int64(a.line.total):
		return nil, rpc.ResourceExhausted("too many requests: %d are already waiting for a replica of the app, which is the limit; try again", a.waiting.Len())
	}
	a.line.waiting.Add(1)
	element := a.waiting.PushBack(w)
	a.serve()
	return element, nil
}

// tooLate says why a request has waited without success.
func (a *app) tooLate(limit time.Duration) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	usable := 0
	for _, t := range a.targets {
		if t.usable {
			usable++
		}
	}
	switch {
	case usable > 0:
		return "every replica of the app has as many requests as it takes; none had room within " + limit.String()
	case len(a.targets) > 0:
		return "no replica of the app accepts connections; the request waited for " + limit.String()
	default:
		return "no replica of the app has started within " + limit.String() + "; see the app's page for the reason"
	}
}

// release gives a replica back.
func (a *app) release(t *target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t.inFlight--
	a.serve()
}

// refused gives back a replica that did not take a connection. It gets no requests until it does.
func (a *app) refused(t *target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t.inFlight--
	t.usable = false
	a.serve()
}

// accepts makes a replica usable that took a connection.
func (a *app) accepts(t *target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t.usable = true
	a.serve()
}

// serve hands replicas with room to those who wait, and calls the attendant if there is work for it. The caller holds mu.
func (a *app) serve() {
	for a.waiting.Len() > 0 {
		t := a.best()
		if t == nil {
			break
		}
		a.answer(a.waiting.Front(), grant{target: t})
	}
	if !a.attended && !a.ended && a.needed() {
		a.attended = true
		a.attend(a)
	}
}

// needed reports whether the app needs its attendant: someone waits, or a replica that is ready took no connection. The
// caller holds mu.
func (a *app) needed() bool {
	if a.waiting.Len() > 0 {
		return true
	}
	for _, t := range a.targets {
		if t.ready && !t.usable {
			return true
		}
	}
	return false
}

// refuse answers all who wait with an error. The caller holds mu.
func (a *app) refuse(err error) {
	for a.waiting.Len() > 0 {
		a.answer(a.waiting.Front(), grant{err: err})
	}
}

func (a *app) answer(element *list.Element, g grant) {
	w, _ := element.Value.(*waiter)
	a.leaveLine(element)
	w.got <- g
}

func (a *app) leaveLine(element *list.Element) {
	a.waiting.Remove(element)
	a.line.waiting.Add(-1)
}

// best takes the usable replica with the fewest requests in flight, in the cluster that is nearest; a ready one before one that only
// took a connection. The caller holds mu.
func (a *app) best() *target {
	limit := int(a.route.Load().GetConcurrency())
	var best *target
	var far map[string]int
	if a.several {
		far = a.distances(limit)
	}
	a.turn++
	for i := range a.targets {
		t := a.targets[(a.turn+i)%len(a.targets)]
		if t.takes(limit) && (best == nil || t.before(best, far)) {
			best = t
		}
	}
	if best != nil {
		best.inFlight++
	}
	return best
}

// distances are those of the clusters that have a replica with room. The caller holds mu.
func (a *app) distances(limit int) map[string]int {
	far, now := map[string]int{}, uptime()
	for _, t := range a.targets {
		if _, known := far[t.cluster]; !known && t.takes(limit) {
			far[t.cluster] = a.far.of(t.cluster, now)
		}
	}
	return far
}

func (t *target) takes(limit int) bool { return t.usable && (limit == 0 || t.inFlight < limit) }

// before compares two replicas with room. far has the distances of their clusters; nil if there is one only.
func (t *target) before(other *target, far map[string]int) bool {
	if t.ready != other.ready {
		return t.ready
	}
	if mine, theirs := far[t.cluster], far[other.cluster]; mine != theirs {
		return mine < theirs
	}
	return t.inFlight < other.inFlight
}

// elsewhere reports whether another cluster than that of a replica has one that takes connections.
func (a *app) elsewhere(t *target) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.targets, func(other *target) bool { return other.usable && other.cluster != t.cluster })
}

// end answers all who wait: the app is gone.
func (a *app) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.targets = nil
	a.refuse(errGone)
}
