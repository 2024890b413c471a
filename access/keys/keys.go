// Package keys makes, recognises and ends the API keys of programs. It is the authenticator of bearer tokens that begin with
// Prefix, and checks keys as clients of the authorisation server. It builds on access/store.
package keys

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/names/credential"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lastuse"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// maxKnown bounds the secrets and ids that a process remembers, those that are none too. Beyond it it starts again.
	maxKnown = 20_000
)

// Keys are the API keys of an installation.
type Keys struct {
	*lastuse.Uses
	store *store.Store
	clock clock.Clock

	// known are keys that were read since the last change of the policy, by hash or id; nil for what is not a key.
	known atomic.Pointer[sync.Map]
	count atomic.Int64
}

var (
	_ authz.Authenticator = (*Keys)(nil)
	_ authz.Lasting       = (*Keys)(nil)
	_ lifecycle.Part      = (*Keys)(nil)
)

// New returns the keys of a store.
func New(s *store.Store, clk clock.Clock, log zerolog.Logger) *Keys {
	k := &Keys{Uses: lastuse.New("API keys", s.KeysUsed, clk, log), store: s, clock: clk}
	k.Forget()
	return k
}

// Forget reads keys again that were read before. It is called when one may have been made or revoked.
func (k *Keys) Forget() {
	k.count.Store(0)
	k.known.Store(&sync.Map{})
}

// bearer is how a secret is sent.
const bearer = "Bearer "

// Authenticate implements authz.Authenticator. A bearer token that is not the secret of a key is for other authenticators.
func (k *Keys) Authenticate(ctx context.Context, request authz.Request) (authz.Identity, error) {
	header := request.Header.Get("Authorization")
	if len(header) < len(bearer) || !strings.EqualFold(header[:len(bearer)], bearer) || !strings.HasPrefix(header[len(bearer):], Prefix) {
		return authz.Identity{}, nil
	}
	secret := header[len(bearer):]
	if !WellFormed(secret) {
		return authz.Identity{}, rpc.Unauthenticated("the API key is incomplete or mistyped: its checksum does not fit")
	}
	hash := sha256.Sum256([]byte(secret))
	key, err := k.read(ctx, hash, func(ctx context.Context) (store.Key, error) { return k.store.KeyByHash(ctx, hash[:]) })
	if err != nil {
		return authz.Identity{}, err
	}
	return k.caller(key)
}

// Check returns the caller whose key has this id and this secret, and an Unauthenticated error for any other pair.
func (k *Keys) Check(ctx context.Context, id, secret string) (authz.Identity, error) {
	hash := sha256.Sum256([]byte(secret))
	key, err := k.read(ctx, hash, func(ctx context.Context) (store.Key, error) { return k.store.KeyByHash(ctx, hash[:]) })
	if err != nil {
		return authz.Identity{}, err
	}
	if key == nil || key.ID != id {
		return authz.Identity{}, rpc.Unauthenticated("the id and the secret are not those of an API key")
	}
	return k.caller(key)
}

// Caller is the caller of a key that was checked before, and an Unauthenticated error once the key has ended.
func (k *Keys) Caller(ctx context.Context, id string) (authz.Identity, error) {
	key, err := k.read(ctx, id, func(ctx context.Context) (store.Key, error) { return k.store.Key(ctx, id) })
	if err != nil {
		return authz.Identity{}, err
	}
	return k.caller(key)
}

// Ended implements authz.Lasting.
func (k *Keys) Ended(ctx context.Context, identity authz.Identity) error {
	if identity.Kind != authz.Key {
		return nil
	}
	if _, err := k.Caller(ctx, identity.Subject); rpc.KindOf(err) == rpc.KindUnauthenticated {
		return err
	}
	return nil
}

// read returns a key that is known, or reads it; nil if there is none.
func (k *Keys) read(ctx context.Context, by any, load func(context.Context) (store.Key, error)) (*store.Key, error) {
	known := k.known.Load()
	if found, ok := known.Load(by); ok {
		return found.(*store.Key), nil //nolint:forcetypeassert // only keys are stored
	}
	var found *store.Key
	switch key, err := load(ctx); {
	case err == nil:
		found = &key
	case !errors.Is(err, store.ErrNone):
		return nil, rpc.Unavailable(err, "the API key cannot be looked up; try again")
	}
	if k.count.Add(1) > maxKnown {
		k.Forget()
	}
	known.Store(by, found)
	return found, nil
}

// caller is who has a key.
func (k *Keys) caller(key *store.Key) (authz.Identity, error) {
	now := k.clock.Now()
	switch {
	case key == nil:
		return authz.Identity{}, rpc.Unauthenticated("the API key is unknown")
	case key.RevokedAt != nil:
		return authz.Identity{}, rpc.Unauthenticated("the API key %s was revoked at %s; make another", key.ID, key.RevokedAt.UTC().Format(time.RFC3339))
	case key.Ended(now):
		return authz.Identity{}, rpc.Unauthenticated("the API key %s ended at %s; make another", key.ID, key.ExpiresAt.UTC().Format(time.RFC3339))
	}
	k.Used(key.ID)
	return authz.Identity{Kind: authz.Key, Subject: key.ID, Name: key.Name, Credential: key.ID}, nil
}

// Made is a new key with its secret, which cannot be read again.
type Made struct {
	Key    store.Key
	Secret string
}

// Create makes a key with roles. Its name and its owner are given, and whether it is that of a service. A lifetime of 0 has no end.
func (k *Keys) Create(ctx context.Context, key store.Key, lifetime time.Duration, roles []store.Binding, known func(role string) bool) (Made, error) {
	secret, now := credential.New(Prefix), k.clock.Now()
	key.ID, key.Hint, key.CreatedAt = "key-"+strings.ToLower(rand.Text()[:16]), credential.Hint(secret), now
	key.OwnerGroups = slices.Compact(slices.Sorted(slices.Values(key.OwnerGroups)))
	if lifetime > 0 {
		end := now.Add(lifetime)
		key.ExpiresAt = &end
	}
	for i := range roles {
		roles[i].Member, roles[i].CreatedBy = store.Member{Kind: store.KeyMember, Name: key.ID}, key.Owner
	}
	if err := k.store.CreateKey(ctx, key, credential.Hash(secret), roles, known); err != nil {
		return Made{}, err
	}
	k.Forget()
	return Made{Key: key, Secret: secret}, nil
}
