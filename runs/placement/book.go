package placement

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Book has the last reports of all clusters, and what was admitted since. It is safe for concurrent use.
type Book struct {
	policy *Policy
	settle time.Duration

	mu       sync.Mutex
	clusters []Cluster            // GUARDED_BY(mu): in the order of their names
	seen     map[string]time.Time // GUARDED_BY(mu)
	// offered are the types of tasks that clusters run; offeredAll says that they are all.
	offered    []string // GUARDED_BY(mu)
	offeredAll bool     // GUARDED_BY(mu)
	// undecided says that no cluster has connected yet, or that they could not be read.
	undecided bool              // GUARDED_BY(mu)
	seats     []Seat            // GUARDED_BY(mu): of the clusters
	booked    map[int64]booking // GUARDED_BY(mu): by action
	order     []int64           // GUARDED_BY(mu): of the bookings, oldest first; some may have ended
}

type booking struct {
	cluster string
	asked   Amounts
	beyond  bool
	at      time.Time
}

const (
	// settled is how old an admission is when a report of its cluster includes it: its pod was created and scheduled.
	settled = 5 * time.Second
	// mostBeyond is how long an admission beyond the free capacity counts against runs.placement.pending.
	mostBeyond = 5 * time.Minute
)

// NewBook returns a book without clusters.
func NewBook(policy *Policy) *Book {
	return &Book{policy: policy, settle: settled, booked: map[int64]booking{}, seen: map[string]time.Time{}}
}

// Policy is by what the book decides.
func (b *Book) Policy() *Policy { return b.policy }

// Report replaces what is known of all clusters. seen is when each last reported, by its name.
func (b *Book) Report(now time.Time, clusters []Cluster, seen map[string]time.Time) {
	clusters = slices.Clone(clusters)
	slices.SortFunc(clusters, func(x, y Cluster) int {
		if x.Name < y.Name {
			return -1
		}
		return 1
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clusters, b.seen = clusters, seen
	b.undecided = Undecided(clusters)
	b.offer()
	b.seats = make([]Seat, len(clusters))
	for i := range clusters {
		b.seats[i] = Seat{Cluster: &b.clusters[i], Booked: Amounts{}}
	}
	kept := b.order[:0]
	for _, id := range b.order {
		one, ok := b.booked[id]
		if !ok {
			continue
		}
		if b.included(one, now) {
			delete(b.booked, id)
			continue
		}
		kept = append(kept, id)
		b.count(one, 1)
	}
	b.order = kept
}

// Undecided reports whether clusters are known of which none has connected yet.
func Undecided(clusters []Cluster) bool {
	return len(clusters) > 0 && !slices.ContainsFunc(clusters, func(c Cluster) bool { return !c.Unseen || c.Closed != "" })
}

// included reports whether the last report of its cluster includes an admission.
func (b *Book) included(one booking, now time.Time) bool {
	if one.beyond {
		return now.Sub(one.at) > mostBeyond
	}
	return b.seen[one.cluster].Sub(one.at) >= b.settle || now.Sub(one.at) > mostBeyond
}

// count adds an admission to its cluster n times.
func (b *Book) count(one booking, n int) {
	for i := range b.seats {
		s := &b.seats[i]
		if s.Name != one.cluster {
			continue
		}
		s.Count += n
		if one.beyond {
			s.Beyond += n
		} else {
			s.Booked.Add(one.asked, int64(n))
		}
	}
}

// Clusters are those that are known, in order. The result is read only.
func (b *Book) Clusters() []Cluster {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clusters
}

// Offered are the types of tasks that clusters say that they run. only means that there are several clusters, and that all have said so.
func (b *Book) Offered() (types []string, only bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.offered, b.offeredAll
}

// offer collects what clusters offer.
func (b *Book) offer() {
	b.offered, b.offeredAll = nil, true
	heard := 0
	for i := range b.clusters {
		c := &b.clusters[i]
		if c.Unseen {
			continue
		}
		heard++
		b.offeredAll = b.offeredAll && c.TaskTypes != nil
		b.offered = append(b.offered, c.TaskTypes...)
	}
	b.offeredAll = b.offeredAll && heard > 1
	slices.Sort(b.offered)
	b.offered = slices.Compact(b.offered)
}

// Unread says that the clusters could not be read yet. Until the next report, what asks for clusters by name, pool or labels waits.
func (b *Book) Unread() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clusters, b.seats, b.undecided = nil, nil, true
}

// Sole reports whether there is nothing to choose: no cluster is known, or one that takes work. It returns its name, which is empty
// if none is known.
func (b *Book) Sole() (cluster string, sole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.undecided:
		return "", false
	case len(b.clusters) == 0:
		return "", true
	case len(b.clusters) == 1 && (b.clusters[0].Closed == "" || b.clusters[0].Away):
		return b.clusters[0].Name, true
	}
	return "", false
}

// Explain decides about one action without taking anything.
func (b *Book) Explain(r *Request) Choice {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.choose(r, b.seats, b.undecided)
}

// choose decides about one action.
func (b *Book) choose(r *Request, seats []Seat, undecided bool) Choice {
	switch {
	case undecided && b.policy.ByDefault(r, seats):
		return Choice{Cluster: cmp.Or(r.Pin, ident.DefaultCluster)}
	case undecided && len(seats) == 0:
		return Choice{Words: sentence.Say("the clusters could not be read yet")}
	}
	return b.policy.Choose(r, seats)
}

// Ended frees what actions took that are no longer live.
func (b *Book) Ended(ids ...int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if one, ok := b.booked[id]; ok {
			delete(b.booked, id)
			b.count(one, -1)
		}
	}
}

// Round decides about several actions, each after those before it. Nothing is booked before Commit. A round is not safe for
// concurrent use.
type Round struct {
	book      *Book
	seats     []Seat
	undecided bool
	took      []taken
}

type taken struct {
	id int64
	booking
}

// Begin returns a round.
func (b *Book) Begin() *Round {
	b.mu.Lock()
	defer b.mu.Unlock()
	round := &Round{book: b, seats: slices.Clone(b.seats), undecided: b.undecided}
	for i := range round.seats {
		booked := make(Amounts, len(round.seats[i].Booked))
		booked.Add(round.seats[i].Booked, 1)
		round.seats[i].Booked = booked
	}
	return round
}

// Choose decides about an action. If it gets a cluster, the next decisions of the round count with it.
func (r *Round) Choose(id int64, request *Request) Choice {
	choice := r.book.choose(request, r.seats, r.undecided)
	if choice.Cluster == "" {
		return choice
	}
	one := taken{id: id, booking: booking{cluster: choice.Cluster, asked: request.Resources, beyond: choice.Beyond}}
	for i := range r.seats {
		s := &r.seats[i]
		if s.Name != choice.Cluster {
			continue
		}
		if s.Count++; choice.Beyond {
			s.Beyond++
		} else {
			s.Booked.Add(one.asked, 1)
		}
	}
	r.took = append(r.took, one)
	return choice
}

// Commit books what the round decided.
func (r *Round) Commit(now time.Time) {
	b := r.book
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range r.took {
		one.at = now
		if before, ok := b.booked[one.id]; ok {
			b.count(before, -1)
		} else {
			b.order = append(b.order, one.id)
		}
		b.booked[one.id] = one.booking
		b.count(one.booking, 1)
	}
	r.took = nil
}

// Far is the store of an object that a cluster does not reach; empty if it reaches the object.
func (b *Book) Far(cluster, uri string) string {
	c := &Cluster{Name: cluster}
	clusters := b.Clusters()
	for i := range clusters {
		if clusters[i].Name == cluster {
			c = &clusters[i]
		}
	}
	return b.policy.far(c, &Request{Data: []string{uri}})
}

// Elsewhere reports whether a cluster other than the named one takes new work and reaches the data of a request.
func (b *Book) Elsewhere(r *Request, cluster string) bool {
	if !b.policy.Divided() {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.clusters, func(c Cluster) bool {
		return c.Name != cluster && c.Closed == "" && !c.Unseen && b.policy.far(&c, r) == ""
	})
}

// Prospect is what a cluster has to do with an action that waits.
type Prospect struct {
	// Possible says that the cluster may run the action, now or when it takes new work again.
	Possible bool
	// Short is the resource that it has too little of now; empty for none. Free is what it has of it.
	Short string
	Free  int64
	// Closed says why it takes no new work, as in "is cordoned"; empty if it does.
	Closed string
}

// Prospect says what a cluster has to do with an action that waits.
func (b *Book) Prospect(r *Request, cluster string) Prospect {
	b.mu.Lock()
	defer b.mu.Unlock()
	matching := b.policy.wish(r, b.seats).matching(b.seats)
	r = b.policy.judged(r, matching)
	for _, s := range matching {
		if s.Name != cluster || b.policy.unfit(s.Cluster, r) != "" {
			continue
		}
		short := s.short(r)
		return Prospect{Possible: true, Short: short, Free: max(s.free(short), 0), Closed: s.Closed}
	}
	return Prospect{}
}
