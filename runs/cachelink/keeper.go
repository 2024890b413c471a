package cachelink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// keeper lets one action at a time compute a key. It extends the reservations of live actions before it allows new
// claims, so that a reservation that expired during a database outage returns to its owner first.
type keeper struct {
	*Cache
	waiting bool // the last read found actions that wait

	mu     sync.Mutex
	held   map[int64]*claim // GUARDED_BY(mu) while keys are claimed: reservations of live actions, by action
	owners map[key]string   // the action that has each key
}

// claim is a reservation of a live action, as of the last read.
type claim struct {
	worklists.ReservedKey
	extended  time.Time
	heartbeat time.Duration
}

func newClaim(reserved worklists.ReservedKey, at time.Time, reservation *cachev1.Reservation) *claim {
	heartbeat := max(reservation.GetHeartbeatInterval().AsDuration(), 100*time.Millisecond)
	return &claim{ReservedKey: reserved, extended: at, heartbeat: heartbeat}
}

func newKeeper(c *Cache) *keeper {
	return &keeper{Cache: c, held: map[int64]*claim{}, owners: map[key]string{}}
}

// run loops until the lease or the process ends. Errors lose nothing: the rows say what is still to do.
func (k *keeper) run(ctx context.Context) {
	for {
		if err := k.cycle(ctx); err != nil && ctx.Err() == nil {
			k.deps.Logger.Warn().Err(err).Msg("keeping cache reservations failed; retrying")
		}
		if !k.await(ctx) {
			return
		}
	}
}

func (k *keeper) cycle(ctx context.Context) error {
	if err := k.keep(ctx); err != nil {
		return err // no one may claim what could not be extended
	}
	return k.wait(ctx)
}

// await waits for an event that concerns keys: a hold, the end of an owner, a heartbeat or the poll.
func (k *keeper) await(ctx context.Context) bool {
	pause := k.config.Poll
	if k.waiting {
		pause = min(pause, k.config.ReservationPoll)
	}
	for _, c := range k.held {
		pause = min(pause, c.heartbeat/2)
	}
	return clock.AwaitThat(ctx, k.deps.Clock, max(pause, 10*time.Millisecond), k.deps.Waits.Ready(), func() bool {
		happened := k.deps.Waits.Take()
		return happened.Held || happened.Elsewhere || k.concerns(happened.Ended)
	}) == nil
}

func (k *keeper) concerns(ended []int64) bool {
	for _, id := range ended {
		if k.held[id] != nil {
			return true
		}
	}
	return false
}

// page is how many rows are read at once.
const page = 1000

// keep extends the reservations of live actions and releases those of finished ones.
func (k *keeper) keep(ctx context.Context) error {
	live := map[int64]*claim{}
	var failures []error
	for after := int64(0); ; {
		keys, err := k.deps.Keys.List(ctx, after, page)
		if err != nil {
			return err
		}
		var due []*claim
		for _, reserved := range keys {
			after = reserved.ActionID
			if reserved.Ended {
				if err := k.release(ctx, reserved); err != nil {
					failures = append(failures, err)
				}
				continue
			}
			c := k.held[reserved.ActionID]
			if c == nil {
				c = &claim{}
			}
			c.ReservedKey = reserved
			live[reserved.ActionID] = c
			if c.extended.IsZero() || k.deps.Clock.Now().Sub(c.extended) >= c.heartbeat/2 {
				due = append(due, c)
			}
		}
		failures = append(failures, each(due, k.config.Concurrency, func(c *claim) error { return k.extend(ctx, c) }))
		if len(keys) < page {
			break
		}
	}
	k.held, k.owners = live, map[key]string{}
	for id, c := range live {
		if c.Owner == "" { // it never had it
			delete(k.held, id)
			continue
		}
		k.owners[keyReserved(c.ReservedKey)] = c.Owner
	}
	return errors.Join(failures...)
}

func keyReserved(r worklists.ReservedKey) key { return key{r.Project, r.Domain, r.Key} }

func (k *keeper) release(ctx context.Context, reserved worklists.ReservedKey) error {
	if k.On() {
		if err := k.catalog.release(ctx, keyReserved(reserved), reserved.Owner); err != nil {
			return fmt.Errorf("release the reservation of %s: %w", reserved.Owner, err)
		}
	}
	return k.deps.Keys.Forget(ctx, reserved.ActionID)
}

// extend extends a reservation. A reservation that was requested by a process that then died may belong to another
// action: the action is still held and requests it again.
func (k *keeper) extend(ctx context.Context, c *claim) error {
	if !k.On() {
		return nil
	}
	now := k.deps.Clock.Now()
	reservation, err := k.catalog.reserve(ctx, keyReserved(c.ReservedKey), c.Owner)
	if err != nil {
		return fmt.Errorf("extend the reservation of %s: %w", c.Owner, err)
	}
	*c = *newClaim(c.ReservedKey, now, reservation)
	if reservation.GetOwnerId() == c.Owner {
		return nil
	}
	if c.Held {
		err = k.deps.Keys.Forget(ctx, c.ActionID)
		c.Owner = ""
		return err
	}
	k.deps.Logger.Error().Str("owner", c.Owner).Str("other", reservation.GetOwnerId()).
		Msg("the reservation of a running action expired, and another action has taken its cache key")
	return nil
}

// wait handles the actions that wait for a key.
func (k *keeper) wait(ctx context.Context) error {
	groups := map[key]*group{}
	var order []*group
	for after := int64(0); ; {
		held, err := k.deps.Reader.Held(ctx, schema.HoldReservation, after, page)
		if err != nil {
			return err
		}
		wishes, err := k.wishes.of(ctx, held)
		if err != nil {
			return err
		}
		for i := range held {
			after = held[i].ID
			at := keyOf(&held[i], wishes[i])
			if groups[at] == nil {
				groups[at] = &group{key: at}
				order = append(order, groups[at])
			}
			groups[at].add(held[i], wishes[i])
		}
		if len(held) < page {
			break
		}
	}
	k.waiting = len(order) > 0
	var mu sync.Mutex
	var settlements []store.Settlement
	failure := each(order, k.config.Concurrency, func(g *group) error {
		settled, err := k.settleGroup(ctx, g)
		mu.Lock()
		defer mu.Unlock()
		settlements = append(settlements, settled...)
		return err
	})
	for len(settlements) > 0 {
		n := min(len(settlements), k.config.Batch)
		if _, err := k.deps.Settler.Settle(ctx, settlements[:n]); err != nil {
			return errors.Join(failure, err)
		}
		settlements = settlements[n:]
	}
	return failure
}

// group is the actions that wait for one key, oldest first.
type group struct {
	key     key
	actions []worklists.Cacheable
	wishes  []Wish
}

func (g *group) add(a worklists.Cacheable, wish Wish) {
	g.actions, g.wishes = append(g.actions, a), append(g.wishes, wish)
}

// settleGroup settles the actions that wait for a key: they wait while an action computes it, use the entry when
// there is one, and otherwise the oldest computes it. Actions that overwrite also wait for their turn, but use no
// entry.
func (k *keeper) settleGroup(ctx context.Context, g *group) ([]store.Settlement, error) {
	if !k.On() {
		return k.all(g, store.Settlement{CacheStatus: int16(core.CatalogCacheStatus_CACHE_SKIPPED), Reason: ReasonOff}), nil
	}
	if owner := k.owner(g.key); owner != "" && !g.has(owner) {
		return k.all(g, waitFor(owner)), nil
	}
	var o outcome
	for _, wish := range g.wishes {
		if !wish.Overwrite {
			o.entry, o.reason, o.err = k.catalog.get(ctx, g.key)
			break
		}
	}
	if o.err != nil {
		return k.all(g, askAgain(o.err)), nil //nolint:nilerr // the actions say so
	}
	settlements := make([]store.Settlement, len(g.actions))
	first := -1
	for i := range g.actions {
		a, wish := &g.actions[i], g.wishes[i]
		s := store.Settlement{CacheStatus: int16(core.CatalogCacheStatus_CACHE_SKIPPED), Reason: ReasonOverwrite}
		if !wish.Overwrite {
			s = k.decide(ctx, a, wish, o)
		}
		s.RunID, s.ID, s.From = a.RunID, a.ID, schema.HoldReservation
		settlements[i] = s
		if s.Hit == nil && first < 0 {
			first = i
		}
	}
	if first < 0 {
		return settlements, nil
	}
	owner, err := k.claim(ctx, g.key, &g.actions[first])
	if err != nil {
		return nil, err
	}
	for i := range settlements {
		if settlements[i].Hit == nil && ownerID(&g.actions[i]) != owner {
			w := waitFor(owner)
			settlements[i].To, settlements[i].CacheStatus, settlements[i].Reason = w.To, w.CacheStatus, w.Reason
		}
	}
	return settlements, nil
}

// claim reserves a key and returns its owner. The reservation is stored first: an unknown reservation would block its
// key until it expires.
func (k *keeper) claim(ctx context.Context, at key, a *worklists.Cacheable) (string, error) {
	owner := ownerID(a)
	reserved := worklists.ReservedKey{
		ActionID: a.ID, RunID: a.RunID, Project: at.project, Domain: at.domain, Key: at.text, Owner: owner,
	}
	if err := k.deps.Keys.Remember(ctx, reserved); err != nil {
		return "", err
	}
	reservation, err := k.catalog.reserve(ctx, at, owner)
	if err != nil {
		return "", fmt.Errorf("reserve a key for %s: %w", owner, err)
	}
	if reservation.GetOwnerId() != owner {
		return reservation.GetOwnerId(), k.deps.Keys.Forget(ctx, a.ID)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[a.ID] = newClaim(reserved, k.deps.Clock.Now(), reservation)
	k.owners[at] = owner
	return owner, nil
}

func (k *keeper) owner(of key) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.owners[of]
}

func (g *group) has(owner string) bool {
	for i := range g.actions {
		if ownerID(&g.actions[i]) == owner {
			return true
		}
	}
	return false
}

// all settles every action of a group in the same way.
func (k *keeper) all(g *group, s store.Settlement) []store.Settlement {
	settlements := make([]store.Settlement, len(g.actions))
	for i := range g.actions {
		s.RunID, s.ID, s.From = g.actions[i].RunID, g.actions[i].ID, schema.HoldReservation
		settlements[i] = s
	}
	return settlements
}

// askAgain keeps actions waiting: running without a reservation would break the guarantee of one at a time.
func askAgain(err error) store.Settlement {
	return store.Settlement{
		To: schema.HoldReservation, CacheStatus: int16(core.CatalogCacheStatus_CACHE_LOOKUP_FAILURE),
		Reason: "lookup failed, trying again: " + message(err),
	}
}

func waitFor(owner string) store.Settlement {
	return store.Settlement{
		To: schema.HoldReservation, CacheStatus: int16(core.CatalogCacheStatus_CACHE_MISS),
		Reason: fmt.Sprintf("waits for %s, which computes the same key", ownerName(owner)),
	}
}

// ownerID identifies an action to the cache service. The id distinguishes it from another action of the same name
// after a run was deleted.
func ownerID(a *worklists.Cacheable) string { return fmt.Sprintf("%s#%d", a.Ident(), a.ID) }

func ownerName(owner string) string {
	name, _, _ := strings.Cut(owner, "#")
	return "action " + name
}
