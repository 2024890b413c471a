package access

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access/accounts"
	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/keys"
	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/rights"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Tools is access control for the command line: it works on the database, with or without running servers, for those who have the
// configuration. What it changes is recorded as done by the command line.
type Tools struct {
	config Config
	store  *store.Store
	policy *policy.Policy
	keys   *keys.Keys
	people *accounts.Accounts
	clock  clock.Clock
	log    zerolog.Logger
}

// CommandLine is the subject under which changes by the command line are recorded.
const CommandLine = "command line"

// NewTools returns the tools for a database whose pool the caller owns.
func NewTools(config Config, pool *pgxpool.Pool, log zerolog.Logger) (*Tools, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	t := &Tools{config: config, store: store.New(pool, clock.System{}), clock: clock.System{}, log: log}
	t.keys = keys.New(t.store, t.clock, log)
	t.people = accounts.New(t.store, config.localPrefix())
	t.policy = policy.New(config.policy(), policy.Deps{Source: t.store, Changed: func() {}, Clock: t.clock, Logger: log})
	return t, nil
}

// Check says whether a member may do something in a place, and why.
func (t *Tools) Check(ctx context.Context, member store.Member, groups []string, permission string, place authz.Place) (policy.Explanation, error) {
	if err := policy.CheckPattern(permission); err != nil {
		return policy.Explanation{}, err
	}
	return t.policy.Explain(ctx, member, groups, permission, place)
}

// Verify recomputes the chain of audit events.
func (t *Tools) Verify(ctx context.Context) (audit.Verified, error) {
	return audit.Verify(ctx, t.store)
}

// ExportAudit calls each for the audit events that pass a filter, oldest first. That they are read is recorded before the first call.
func (t *Tools) ExportAudit(ctx context.Context, filter store.AuditFilter, each func(store.AuditEvent) error) error {
	if err := t.store.AppendAudit(ctx, []store.AuditEnd{{Event: t.event("audit.view", nil)}}, audit.Seal); err != nil {
		return err
	}
	return audit.Export(ctx, t.store, filter, each)
}

// CreateKey makes a key with a role in some places, that of a service or of its owner; a lifetime of 0 is the longest that the configuration
// allows. It returns the key also in the form of the variable FLYTE_API_KEY.
func (t *Tools) CreateKey(ctx context.Context, key store.Key, roleName string, places []authz.Place, lifetime time.Duration) (made keys.Made, flyteAPIKey string, err error) {
	role, known, err := t.policy.Role(ctx, roleName)
	if err != nil {
		return keys.Made{}, "", err
	}
	if !known {
		return keys.Made{}, "", fmt.Errorf("there is no role %q", roleName)
	}
	most := t.config.Keys.MaxLifetime
	if lifetime == 0 {
		lifetime = most
	}
	if most > 0 && lifetime > most {
		return keys.Made{}, "", fmt.Errorf("the lifetime must be at most %s, which is access.keys.maxLifetime, got %s", most, lifetime)
	}
	var bindings []store.Binding
	for _, place := range places {
		if roleName == policy.Operator && place != (authz.Place{}) {
			return keys.Made{}, "", fmt.Errorf("the role operator is for the whole installation, not for %s/%s", place.Project, place.Domain)
		}
		bindings = append(bindings, store.Binding{Role: roleName, Project: place.Project, Domain: place.Domain})
	}
	err = t.Change(ctx, "key.create", nil, func(ctx context.Context) ([]string, error) {
		made, err = t.keys.Create(ctx, key, lifetime, bindings, func(string) bool { return role.BuiltIn || role.Configured })
		return []string{made.Key.ID}, err
	})
	if err != nil {
		return keys.Made{}, "", err
	}
	return made, rights.FlyteAPIKey(t.config.PublicURL, made.Key.ID, made.Secret), nil
}

// ListKeys are the newest keys, with those that have ended if ended is set.
func (t *Tools) ListKeys(ctx context.Context, ended bool, limit int) ([]store.Key, error) {
	return t.store.ListKeys(ctx, store.KeyFilter{Ended: ended, Limit: limit})
}

// RevokeKey ends a key.
func (t *Tools) RevokeKey(ctx context.Context, id string) error {
	if _, err := t.store.Key(ctx, id); err != nil {
		return fmt.Errorf("key %s: %w", id, err)
	}
	return t.Change(ctx, "key.revoke", []string{id}, func(ctx context.Context) ([]string, error) {
		return nil, t.store.RevokeKey(ctx, id)
	})
}
