package gateway

import (
	"maps"
	"sync"
	"sync/atomic"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// table finds the app of a request. It never changes: a change of the addresses of an app makes a new table, and all that
// changes often, such as its replicas, is in the app itself.
type table struct {
	paths      map[string]*app // by project/domain/name
	subdomains map[string]*app
	hosts      map[string]*app
}

// routes keeps what the apps service says.
type routes struct {
	table  atomic.Pointer[table] // nil until the first snapshot is whole
	create func(*enginev1.AppRoute) *app
	forget func(*app)

	mu   sync.Mutex
	apps map[string]*app // GUARDED_BY(mu): by uid
}

// replace makes the routes of a snapshot the only ones.
func (r *routes) replace(snapshot map[string]*enginev1.AppRoute) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, a := range r.apps {
		if snapshot[uid] == nil {
			delete(r.apps, uid)
			r.drop(a)
		}
	}
	next := &table{paths: map[string]*app{}, subdomains: map[string]*app{}, hosts: map[string]*app{}}
	for _, route := range snapshot {
		next.add(r.put(route), route)
	}
	r.table.Store(next)
}

// set changes one route.
func (r *routes) set(route *enginev1.AppRoute) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var before *enginev1.AppRoute
	if a := r.apps[route.GetUid()]; a != nil {
		before = a.route.Load()
	}
	a := r.put(route)
	if before != nil && sameAddresses(before, route) {
		return
	}
	next := r.table.Load().copy()
	if before != nil {
		next.remove(a, before)
	}
	next.add(a, route)
	r.table.Store(next)
}

// remove forgets an app.
func (r *routes) remove(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.apps[uid]
	if a == nil {
		return
	}
	delete(r.apps, uid)
	next := r.table.Load().copy()
	next.remove(a, a.route.Load())
	r.table.Store(next)
	r.drop(a)
}

// put gives an app its route, and creates the app that is new. The caller holds mu.
func (r *routes) put(route *enginev1.AppRoute) *app {
	a := r.apps[route.GetUid()]
	if a == nil {
		a = r.create(route)
		r.apps[route.GetUid()] = a
	}
	a.update(route)
	return a
}

// connectors are the routes of the apps of type connector. It reports false until the first snapshot is whole.
func (r *routes) connectors() (found []*enginev1.AppRoute, known bool) {
	if r.table.Load() == nil {
		return nil, false
	}
	r.each(func(a *app) {
		if route := a.route.Load(); route.GetConnector() {
			found = append(found, route)
		}
	})
	return found, true
}

// each calls f with every app.
func (r *routes) each(f func(*app)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.apps {
		f(a)
	}
}

func (r *routes) drop(a *app) {
	a.end()
	r.forget(a)
}

func (t *table) copy() *table {
	return &table{paths: maps.Clone(t.paths), subdomains: maps.Clone(t.subdomains), hosts: maps.Clone(t.hosts)}
}

func (t *table) add(a *app, route *enginev1.AppRoute) {
	t.paths[pathKey(route)] = a
	if route.GetSubdomain() != "" {
		t.subdomains[route.GetSubdomain()] = a
	}
	if route.GetHost() != "" {
		t.hosts[hostname(route.GetHost())] = a
	}
}

// remove takes the addresses of an app away, but not those that another one has taken over: the successor of a deleted app
// may be known before its end is.
func (t *table) remove(a *app, route *enginev1.AppRoute) {
	release := func(from map[string]*app, key string) {
		if from[key] == a {
			delete(from, key)
		}
	}
	release(t.paths, pathKey(route))
	release(t.subdomains, route.GetSubdomain())
	release(t.hosts, hostname(route.GetHost()))
}

func sameAddresses(a, b *enginev1.AppRoute) bool {
	return pathKey(a) == pathKey(b) && a.GetSubdomain() == b.GetSubdomain() && a.GetHost() == b.GetHost()
}

func pathKey(route *enginev1.AppRoute) string {
	return route.GetId().GetProject() + "/" + route.GetId().GetDomain() + "/" + route.GetId().GetName()
}
