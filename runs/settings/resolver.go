package settings

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"google.golang.org/protobuf/proto"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// Levels reads the stored settings of a scope and of those above it, broadest first; catalog.Settings does.
type Levels interface {
	Levels(ctx context.Context, key catalog.SettingsKey) ([]catalog.SettingsRow, error)
}

// Resolver resolves the effective settings of a scope. It caches them for settingsAge, since every new run needs them.
// Writes of this process are seen at once.
type Resolver struct {
	stored Levels
	clock  clock.Clock

	mu         sync.Mutex
	known      *simplelru.LRU[catalog.SettingsKey, Resolved] // GUARDED_BY(mu)
	generation int                                           // GUARDED_BY(mu): grows with every write of this process
}

// Resolved is the resolved settings of a scope.
type Resolved struct {
	Settings *settingspb.Settings // shared and read only
	Version  int64                // of the scope itself; 0 when it has none
	at       time.Time
}

const (
	// settingsAge bounds how long a write of another replica stays invisible.
	settingsAge = 5 * time.Second
	// maxScopes bounds the cache.
	maxScopes = 4096
)

// NewResolver returns a resolver with an empty cache.
func NewResolver(stored Levels, c clock.Clock) *Resolver {
	known, err := simplelru.NewLRU[catalog.SettingsKey, Resolved](maxScopes, nil)
	if err != nil {
		panic(err) // Only a size that is not positive is refused.
	}
	return &Resolver{stored: stored, clock: c, known: known}
}

// Resolve returns the complete settings of a scope. They are shared and read only.
func (r *Resolver) Resolve(ctx context.Context, key catalog.SettingsKey) (Resolved, error) {
	now := r.clock.Now()
	r.mu.Lock()
	found, known := r.known.Get(key)
	generation := r.generation
	r.mu.Unlock()
	if age := now.Sub(found.at); known && age >= 0 && age < settingsAge {
		return found, nil
	}
	rows, err := r.stored.Levels(ctx, key)
	if err != nil {
		return Resolved{}, err
	}
	levels, version, err := decodeLevels(rows, key)
	if err != nil {
		return Resolved{}, err
	}
	fresh := Resolved{Settings: Resolve(levels), Version: version, at: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.generation == generation { // Else it may be older than a write of our own.
		r.known.Add(key, fresh)
	}
	return fresh, nil
}

// forget empties the cache: settings of one scope concern all scopes below it.
func (r *Resolver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation++
	r.known.Purge()
}

func decodeLevels(rows []catalog.SettingsRow, key catalog.SettingsKey) (levels []Level, version int64, err error) {
	for _, row := range rows {
		decoded, err := decodeSettings(row)
		if err != nil {
			return nil, 0, err
		}
		levels = append(levels, Level{Scope: scopeOf(row.Key), Settings: decoded})
		if row.Key == key {
			version = row.Version
		}
	}
	return levels, version, nil
}

func decodeSettings(row catalog.SettingsRow) (*settingspb.Settings, error) {
	decoded := &settingspb.Settings{}
	if err := proto.Unmarshal(row.Body, decoded); err != nil {
		return nil, rpc.DataLoss(err, "the stored settings of %s cannot be read", row.Key)
	}
	return decoded, nil
}

func scopeOf(key catalog.SettingsKey) settingspb.ScopeLevel {
	switch {
	case key.Project != "":
		return settingspb.ScopeLevel_SCOPE_LEVEL_PROJECT
	case key.Domain != "":
		return settingspb.ScopeLevel_SCOPE_LEVEL_DOMAIN
	default:
		return settingspb.ScopeLevel_SCOPE_LEVEL_ORG
	}
}
