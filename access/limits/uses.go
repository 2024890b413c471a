package limits

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Use is a limit, and what is left of it in this process.
type Use struct {
	Things string // what is counted, such as requests
	// Project is whose limit it is; empty for that of a caller.
	Project string
	Setting string
	// Most is the limit; 0 means none.
	Most int
	// Per is the time for which Most is; 0 means at the same time.
	Per time.Duration
	// Each means that Most bounds each one, so that nothing is used up: Burst and Left are 0.
	Each bool
	// Burst is how many can be asked for at once after a pause, Left how many now.
	Burst, Left int
}

// Uses are the limits of a caller, if it has any of its own, and those of a project, if it is not empty.
func (l *Limiter) Uses(identity authz.Identity, project string) (uses []Use) {
	pairs := []pair{l.requests, l.streams, l.sizes}
	for _, permission := range slices.Backward(slices.Sorted(maps.Keys(l.created))) { // runs first
		pairs = append(pairs, l.created[permission])
	}
	now := l.clock.Now()
	if key, limited := person(identity); limited {
		for _, pair := range pairs {
			uses = append(uses, pair.caller.use(key, now))
		}
	}
	if project != "" {
		for _, pair := range pairs {
			use := pair.project.use(project, now)
			use.Project = project
			uses = append(uses, use)
		}
	}
	return uses
}

// use is what a key has left of the limit.
func (l limit) use(key string, now time.Time) Use {
	use := Use{Things: strings.TrimPrefix(l.label, "project "), Setting: "access.limits." + l.field, Most: l.most, Each: l.rate == nil && l.places == nil}
	if l.rate != nil {
		use.Per = l.rate.in
	}
	switch {
	case l.most == 0:
	case l.rate != nil:
		use.Burst, use.Left = l.rate.size, l.rate.left(key, now)
	case l.places != nil:
		use.Burst, use.Left = l.most, l.most-l.places.of(key)
	}
	return use
}

// left is how many tokens a bucket has.
func (r *rate) left(key string, now time.Time) int {
	if r.every == 0 {
		return r.size
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := r.full[key].Sub(now)
	if missing <= 0 {
		return r.size
	}
	return r.size - int((missing+r.every-1)/r.every)
}

// of is how many places a key has taken.
func (p *places) of(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[key]
}
