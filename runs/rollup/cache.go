package rollup

import (
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Cached is what the cache said about an action, in the order of the counts of a day.
type Cached int

// What the cache said.
const (
	Hit          Cached = iota
	MissNew             // its key was never computed in this scope
	MissExpired         // the entry was older than the task allows
	MissGone            // the outputs of the entry were deleted
	MissFar             // the outputs are where the action cannot read them
	MissOther           // another reason
	Overwritten         // the run asked to compute it again
	Off                 // the installation does not use the cache
	LookupFailed        // the cache did not answer
	kinds
)

// The beginnings of the reasons of misses, as cachelink and the cache service write them.
var misses = []struct {
	begins string
	as     Cached
}{
	{"the cache has no entry", MissNew},
	{"expired by max age", MissExpired},
	{"the outputs at ", MissGone},
	{"the cached outputs are in ", MissFar},
	{"waits for action", MissNew},
	{"overwritten by request", Overwritten},
	{"cache off", Off},
	{"lookup failed", LookupFailed},
}

// cachedOf is what the cache said; false for an action that does not use it. The reason outlives the status of the lookup, which becomes
// that of the publication.
func cachedOf(a *schema.Action) (Cached, bool) {
	switch core.CatalogCacheStatus(a.CacheStatus) {
	case core.CatalogCacheStatus_CACHE_DISABLED:
		return 0, false
	case core.CatalogCacheStatus_CACHE_HIT:
		return Hit, true
	case core.CatalogCacheStatus_CACHE_LOOKUP_FAILURE:
		return LookupFailed, true
	default:
		return MissOf(a.CacheReason), true
	}
}

// MissOf is why the cache was missed, by the reason in words.
func MissOf(reason string) Cached {
	for _, miss := range misses {
		if strings.HasPrefix(reason, miss.begins) {
			return miss.as
		}
	}
	return MissOther
}
