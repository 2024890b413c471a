package main

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// plannedVisits are when callers get and lose the right to see a tenant.
type plannedVisits struct {
	of      script.Tenant // who is visited
	from    time.Duration // when a role is given
	until   time.Duration // when it is taken, after that
	revoked time.Duration // when the key of another visitor is revoked
}

func planVisits(r *rand.Rand) plannedVisits {
	tenants := script.Tenants()
	return plannedVisits{
		of: tenants[r.IntN(len(tenants))], from: time.Duration(r.IntN(1500)) * time.Millisecond,
		until: time.Duration(1000+r.IntN(2500)) * time.Millisecond, revoked: time.Duration(500+r.IntN(3500)) * time.Millisecond,
	}
}

// visitor is a caller of no tenant, who asks the server and its replica.
type visitor struct {
	at  []*client
	key string

	mu    sync.Mutex
	visit check.Visit // GUARDED_BY(mu)
	lost  bool        // GUARDED_BY(mu): an answer to the end of the visit was lost
}

// admit gives each tenant a project and a key, and makes visitors with keys.
func (d *driver) admit(ctx context.Context) error {
	cookies, err := d.stack.SignIn(ctx)
	if err != nil {
		return err
	}
	d.root = newClient(d.stack.URL(), "Cookie", cookies, nil)
	for _, tenant := range script.Tenants() {
		_, err := d.root.projects.CreateProject(ctx, &project.CreateProjectRequest{Project: &project.Project{Id: tenant.Project(), Name: tenant.Project()}})
		if err != nil && connect.CodeOf(err) != connect.CodeAlreadyExists {
			return err //nolint:wrapcheck // it names the procedure
		}
		_, secret, err := d.newKey(ctx, tenant.Project(), "contributor")
		if err != nil {
			return err
		}
		d.users[tenant.Mark] = newClient(d.stack.URL(), "Authorization", "Bearer "+secret, newGuard(tenant.Project(), tenant))
	}
	of := d.plan.visits.of.Project()
	for name, where := range map[string]string{"the guest": "storm-elsewhere", "the holder of a key that is revoked": of} {
		id, secret, err := d.newKey(ctx, where, "viewer")
		if err != nil {
			return err
		}
		v := &visitor{key: id, visit: check.Visit{Caller: name, Of: of, From: farFuture(where != of)}}
		for _, url := range []string{d.stack.URL(), d.stack.ReplicaURL()} {
			v.at = append(v.at, newClient(url, "Authorization", "Bearer "+secret, newGuard(name, script.Tenant{})))
		}
		d.visitors = append(d.visitors, v)
	}
	slices.SortFunc(d.visitors, func(a, b *visitor) int { return cmp.Compare(a.visit.Caller, b.visit.Caller) })
	return nil
}

// farFuture is the beginning of a visit that has none yet.
func farFuture(yet bool) time.Time {
	if yet {
		return time.Now().Add(24 * time.Hour)
	}
	return time.Time{}
}

// newKey makes a key that has a role in a project.
func (d *driver) newKey(ctx context.Context, in, role string) (id, secret string, err error) {
	made, err := d.root.keys.CreateKey(ctx, &accessv1.CreateKeyRequest{
		Name: in, Roles: []*accessv1.KeyRole{{Role: role, Scope: &accessv1.Scope{Project: in}}},
	})
	return made.GetKey().GetId(), made.GetSecret(), err //nolint:wrapcheck // it names the procedure
}

// of is the client of the tenant whose work a node is.
func (d *driver) of(n script.Node) *client { return d.users[n.Tenant.Mark] }

func (d *driver) close() {
	all := []*client{d.root}
	for _, user := range d.users {
		all = append(all, user)
	}
	for _, v := range d.visitors {
		all = append(all, v.at...)
	}
	for _, one := range all {
		if one != nil {
			one.close()
		}
	}
}

// look has all callers read what they may see and ask for what they may not, while the visitors come and go.
func (d *driver) look(ctx context.Context) {
	p := d.plan.visits
	for i, tenant := range script.Tenants() {
		other := script.Tenants()[1-i]
		d.work.Go(func() { d.read(ctx, d.users[tenant.Mark], tenant, other) })
		d.work.Go(func() { d.watchRuns(ctx, d.users[tenant.Mark], "") })
	}
	for _, v := range d.visitors {
		for _, there := range v.at {
			d.work.Go(func() { d.read(ctx, there, script.Tenant{}, p.of) })
			d.work.Go(func() { d.watchRuns(ctx, there, "") })
			d.work.Go(func() { d.watchRuns(ctx, there, p.of.Project()) })
		}
	}
	guest, holder := d.visitors[0], d.visitors[1]
	d.work.Go(func() { d.giveAndTake(ctx, guest) })
	d.work.Go(func() {
		if sleep(ctx, p.revoked) {
			d.end(ctx, holder, func(ctx context.Context) error {
				_, err := d.root.keys.RevokeKey(ctx, &accessv1.RevokeKeyRequest{Id: holder.key})
				return err //nolint:wrapcheck // it names the procedure
			})
		}
	})
}

// giveAndTake gives a visitor a role in the project of a tenant, and takes it again.
func (d *driver) giveAndTake(ctx context.Context, v *visitor) {
	scope := &accessv1.Scope{Project: d.plan.visits.of.Project()}
	if !sleep(ctx, d.plan.visits.from) {
		return
	}
	v.mu.Lock()
	v.visit.From = time.Now()
	v.mu.Unlock()
	var id string
	err := insist(ctx, func(ctx context.Context) error {
		made, err := d.root.access.CreateBinding(ctx, &accessv1.CreateBindingRequest{
			Member: &accessv1.Member{Kind: accessv1.MemberKind_MEMBER_KIND_KEY, Name: v.key}, Role: "viewer", Scope: scope,
		})
		id = made.GetBinding().GetId()
		return err //nolint:wrapcheck // it names the procedure
	})
	if err != nil {
		if ctx.Err() == nil {
			d.problem("CreateBinding: %v", err)
		}
		return
	}
	if sleep(ctx, d.plan.visits.until) {
		d.end(ctx, v, func(ctx context.Context) error {
			_, err := d.root.access.DeleteBinding(ctx, &accessv1.DeleteBindingRequest{Id: id, Scope: scope})
			return err //nolint:wrapcheck // it names the procedure
		})
	}
}

// end ends a visit.
func (d *driver) end(ctx context.Context, v *visitor, by func(context.Context) error) {
	tries := 0
	err := insist(ctx, func(ctx context.Context) error { tries++; return by(ctx) })
	// After an answer that was lost, what was to be taken is gone.
	if err != nil && (connect.CodeOf(err) != connect.CodeNotFound || tries == 1) {
		if ctx.Err() == nil {
			d.problem("the end of a visit: %v", err)
		}
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.visit.Until, v.lost = time.Now(), tries > 1
}

// promised is how soon a change of rights holds everywhere.
const promised = 5 * time.Second

// seen adds what callers have seen to the evidence. A server that cannot ask the database, or does not run, learns later what has
// changed: then the time counts from when everything works again.
func (d *driver) seen(e *check.Evidence, healed time.Time) {
	late := slices.ContainsFunc(d.plan.faults, func(f fault) bool { return delaysChanges(f.kind) })
	for _, v := range d.visitors {
		v.mu.Lock()
		visit := v.visit
		visit.Grace = promised
		if !visit.Until.IsZero() && (late || v.lost) && healed.After(visit.Until) {
			visit.Until = healed
		}
		v.mu.Unlock()
		e.Visits = append(e.Visits, visit)
		for _, there := range v.at {
			there.guard.mu.Lock()
			e.Shown = append(e.Shown, there.guard.shown...)
			there.guard.mu.Unlock()
		}
	}
	for _, user := range d.users {
		g := user.guard
		g.mu.Lock()
		e.Shown = append(e.Shown, g.shown...)
		e.Asked = append(e.Asked, check.Asked{Caller: g.caller, Calls: g.asked, Own: g.saw, Blind: !g.plain})
		g.mu.Unlock()
	}
}

// delaysChanges reports whether during a fault servers may not learn of changes, or their answers may be on their way for long.
func delaysChanges(kind string) bool {
	return slices.Contains([]string{
		kindStop, kindFreeze, kindPostgresFast, kindPostgresCrash, kindPostgresCut, kindPostgresHang, kindPostgresStop, kindSlow, kindReplicaStop, kindReplicaFreeze,
	}, kind)
}
