package placement

import (
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Policy places actions by a configuration. It is immutable.
type Policy struct {
	config Config
	stores []Store // with their prefixes in plain form
}

// New returns the policy of a valid configuration.
func New(config Config) *Policy {
	p := &Policy{config: config, stores: slices.Clone(config.Stores)}
	for i := range p.stores {
		p.stores[i].Prefix = plain(p.stores[i].Prefix)
	}
	return p
}

// wish is which clusters may run an action, and who says so.
type wish struct {
	cluster, pool string
	where         []string
	from          string
}

// wish is the run's pool, else the queue's cluster, else that of the first rule that matches. The queue also chooses within the pool, if
// its cluster is in it. As long as no cluster is in a pool, the pools of runs are only labels, so that programs written for another
// installation run.
func (p *Policy) wish(r *Request, seats []Seat) wish {
	pooled := r.Pool != "" && slices.ContainsFunc(seats, func(s Seat) bool { return len(s.Pools) > 0 })
	switch {
	case r.Pin != "" && (!pooled || inPool(r.Pin, r.Pool, seats)):
		return wish{cluster: r.Pin, from: sentence.Say("queue %s names it", r.Queue)}
	case pooled:
		return wish{pool: r.Pool, from: sentence.Say("it asks for pool %s", r.Pool)}
	}
	for i := range p.config.Rules {
		rule := &p.config.Rules[i]
		if !rule.matches(r) {
			continue
		}
		from := sentence.Say("a rule names it")
		switch {
		case rule.Pool != "":
			from = sentence.Say("a rule asks for pool %s", rule.Pool)
		case len(rule.Where) > 0:
			from = sentence.Say("a rule asks for clusters with %s", strings.Join(rule.Where, " and "))
		}
		return wish{cluster: rule.Cluster, pool: rule.Pool, where: rule.Where, from: from}
	}
	return wish{}
}

// AsksFor reports whether a request asks for certain clusters, by a pool or a rule. Without seats, it is not known whether any cluster is
// in a pool.
func (p *Policy) AsksFor(r *Request, seats []Seat) bool {
	if len(seats) == 0 && r.Pool != "" && r.Pool != anyPool {
		return true
	}
	wish := p.wish(r, seats)
	if r.Pin != "" && wish.cluster == r.Pin {
		return false // its cluster is decided
	}
	return wish.cluster != "" || len(wish.where) > 0 || wish.pool != "" && wish.pool != anyPool
}

// ByDefault reports whether a request goes to the default cluster while no cluster has connected yet, as where there is no other: it asks
// for no other clusters, and the clusters are not known to lack the default one. Work of a cluster that does not exist would never begin.
func (p *Policy) ByDefault(r *Request, seats []Seat) bool {
	here := len(seats) == 0 || slices.ContainsFunc(seats, func(s Seat) bool { return s.Name == ident.DefaultCluster })
	return here && !p.AsksFor(r, seats)
}

// everyCluster reports whether a pool is all clusters: none is in a pool of the name that clients send when they chose none.
func everyCluster(pool string, seats []Seat) bool {
	return pool == "" || pool == anyPool && !slices.ContainsFunc(seats, func(s Seat) bool { return slices.Contains(s.Pools, anyPool) })
}

// inPool reports whether a cluster is in a pool.
func inPool(cluster, pool string, seats []Seat) bool {
	return everyCluster(pool, seats) ||
		slices.ContainsFunc(seats, func(s Seat) bool { return s.Name == cluster && slices.Contains(s.Pools, pool) })
}

// matching are the clusters that the wish allows.
func (w wish) matching(seats []Seat) []*Seat {
	everyPool := everyCluster(w.pool, seats)
	var found []*Seat
	for i := range seats {
		s := &seats[i]
		switch {
		case w.cluster != "" && s.Name != w.cluster:
		case !everyPool && !slices.Contains(s.Pools, w.pool):
		case !has(s.Labels, w.where):
		case s.Weight <= 0 && w.cluster == "" && everyPool:
		default:
			found = append(found, s)
		}
	}
	return found
}
