package limits

import (
	"slices"
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
	// Burst is how many can be asked for at once after a pause, Left how many now.
	Burst, Left int
}

// Uses are the limits of a caller, if it has any of its own, and those of a project, if it is not empty.
func (l *Limiter) Uses(identity authz.Identity, project string) (uses []Use) {
	now := l.clock.Now()
	add := func(project, key, things, field string, most int, per time.Duration, buckets *rate) {
		use := Use{Things: things, Project: project, Setting: "access.limits." + field, Most: most, Per: per}
		if most > 0 {
			use.Burst, use.Left = buckets.size, buckets.left(key, now)
		}
		uses = append(uses, use)
	}
	key, limited := person(identity)
	if limited {
		add("", key, "requests", "requestsPerSecond", l.config.RequestsPerSecond, time.Second, l.requests)
		streams := Use{Things: "streams", Setting: "access.limits.streams", Most: l.config.Streams}
		if streams.Most > 0 {
			streams.Burst, streams.Left = streams.Most, streams.Most-l.streams.of(key)
		}
		uses = append(uses, streams)
	}
	var kinds []string
	for permission := range l.created {
		kinds = append(kinds, permission)
	}
	slices.Sort(kinds)
	slices.Reverse(kinds) // runs first
	for _, permission := range kinds {
		if c := l.created[permission]; limited {
			add("", key, c.things, c.callerField, c.callerMost, time.Minute, c.callers)
		}
	}
	for _, permission := range kinds {
		if c := l.created[permission]; project != "" {
			add(project, project, c.things, c.projectField, c.projectMost, time.Minute, c.projects)
		}
	}
	return uses
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
