package runs

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/settings"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// settingsResolver knows what settings a scope has in the end. It remembers answers for a while, since every new run
// asks; what this process writes is seen at once, what another replica writes within settingsAge.
type settingsResolver struct {
	stored *store.Settings
	clock  clock.Clock

	mu         sync.Mutex
	known      map[store.SettingsKey]resolvedSettings // GUARDED_BY(mu)
	generation int                                    // GUARDED_BY(mu): grows with every write of this process
}

type resolvedSettings struct {
	settings *settingspb.Settings // shared and read only
	version  int64                // of the scope itself; 0 when it has none
	at       time.Time
}

const (
	// settingsAge bounds how long the settings that another replica wrote are not seen.
	settingsAge = 5 * time.Second
	// maxScopes is how many scopes are remembered.
	maxScopes = 4096
)

func newSettingsResolver(stored *store.Settings, c clock.Clock) *settingsResolver {
	return &settingsResolver{stored: stored, clock: c, known: map[store.SettingsKey]resolvedSettings{}}
}

// resolve answers the settings of a scope, complete. They are shared and read only.
func (r *settingsResolver) resolve(ctx context.Context, key store.SettingsKey) (resolvedSettings, error) {
	now := r.clock.Now()
	r.mu.Lock()
	found, known := r.known[key]
	generation := r.generation
	r.mu.Unlock()
	if age := now.Sub(found.at); known && age >= 0 && age < settingsAge {
		return found, nil
	}
	rows, err := r.stored.Levels(ctx, key)
	if err != nil {
		return resolvedSettings{}, err
	}
	levels, version, err := decodeLevels(rows, key)
	if err != nil {
		return resolvedSettings{}, err
	}
	fresh := resolvedSettings{settings: settings.Resolve(levels), version: version, at: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.generation == generation { // Else it may be older than a write of our own.
		if len(r.known) >= maxScopes {
			clear(r.known)
		}
		r.known[key] = fresh
	}
	return fresh, nil
}

// forget drops everything: settings of one scope concern all below it.
func (r *settingsResolver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation++
	clear(r.known)
}

func decodeLevels(rows []store.SettingsRow, key store.SettingsKey) (levels []settings.Level, version int64, err error) {
	for _, row := range rows {
		decoded, err := decodeSettings(row)
		if err != nil {
			return nil, 0, err
		}
		levels = append(levels, settings.Level{Scope: scopeOf(row.Key), Settings: decoded})
		if row.Key == key {
			version = row.Version
		}
	}
	return levels, version, nil
}

func decodeSettings(row store.SettingsRow) (*settingspb.Settings, error) {
	decoded := &settingspb.Settings{}
	if err := proto.Unmarshal(row.Body, decoded); err != nil {
		return nil, rpc.DataLoss(err, "the stored settings of %s cannot be read", row.Key)
	}
	return decoded, nil
}

func scopeOf(key store.SettingsKey) settingspb.ScopeLevel {
	switch {
	case key.Project != "":
		return settingspb.ScopeLevel_SCOPE_LEVEL_PROJECT
	case key.Domain != "":
		return settingspb.ScopeLevel_SCOPE_LEVEL_DOMAIN
	default:
		return settingspb.ScopeLevel_SCOPE_LEVEL_ORG
	}
}
