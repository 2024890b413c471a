// Package credentials is the authenticator of the controllers of clusters: it knows them by bearer tokens that begin with Prefix.
// It builds on clusters/store.
package credentials

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/names/credential"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lastuse"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Prefix begins every secret, so that scanners of repositories recognize them.
const Prefix = "fbc_"

const (
	// believed is how long an answer of the store holds, in case a notification was lost. A revoked credential works at most this long.
	believed = 3 * time.Second
	// outage is how long a valid credential works while the store does not answer: running work must be able to report its end as soon as
	// the database is back.
	outage = 10 * time.Minute
	// readFor bounds one read of the store.
	readFor = 3 * time.Second
	// maxKnown bounds what a process remembers, including texts that are not credentials. Beyond it, it starts again.
	maxKnown = 2000
)

// Source is where credentials are kept; store.Store is one.
type Source interface {
	ByHash(ctx context.Context, hash []byte) (store.Credential, error)
	ByID(ctx context.Context, id string) (store.Credential, error)
	Used(ctx context.Context, used map[string]time.Time) error
}

// Credentials are those of the clusters of an installation. They are safe for concurrent use.
type Credentials struct {
	*lastuse.Uses
	source Source
	clock  clock.Clock
	reads  singleflight.Group

	mu    sync.Mutex
	known map[string]answer // GUARDED_BY(mu): by hash or id
}

// answer is what the source said of a hash or an id; nil if there is no such credential.
type answer struct {
	credential *store.Credential
	readAt     time.Time // zero if it must be read again
	validAt    time.Time // when the source last said that it is valid
}

var (
	_ authz.Authenticator = (*Credentials)(nil)
	_ authz.Lasting       = (*Credentials)(nil)
	_ lifecycle.Part      = (*Credentials)(nil)
)

// New returns the credentials of a source.
func New(source Source, clk clock.Clock, log zerolog.Logger) *Credentials {
	return &Credentials{
		Uses: lastuse.New("credentials of clusters", source.Used, clk, log), source: source, clock: clk, known: map[string]answer{},
	}
}

// Forget reads credentials again that were read before. It is called when one may have been revoked.
func (c *Credentials) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, one := range c.known {
		one.readAt = time.Time{}
		c.known[key] = one
	}
}

// bearer is how a secret is sent.
const bearer = "Bearer "

// Authenticate implements authz.Authenticator. Any other bearer token is for other authenticators.
func (c *Credentials) Authenticate(ctx context.Context, request authz.Request) (authz.Identity, error) {
	header := request.Header.Get("Authorization")
	if len(header) < len(bearer) || !strings.EqualFold(header[:len(bearer)], bearer) || !strings.HasPrefix(header[len(bearer):], Prefix) {
		return authz.Identity{}, nil
	}
	secret := header[len(bearer):]
	if !credential.WellFormed(Prefix, secret) {
		return authz.Identity{}, rpc.Unauthenticated("the credential of the cluster is incomplete or mistyped: its checksum does not fit")
	}
	hash := sha256.Sum256([]byte(secret))
	return c.caller(ctx, string(hash[:]), func(ctx context.Context) (store.Credential, error) { return c.source.ByHash(ctx, hash[:]) })
}

// Ended implements authz.Lasting.
func (c *Credentials) Ended(ctx context.Context, identity authz.Identity) error {
	if identity.Kind != authz.Cluster {
		return nil
	}
	_, err := c.caller(ctx, identity.Credential, func(ctx context.Context) (store.Credential, error) { return c.source.ByID(ctx, identity.Credential) })
	if rpc.KindOf(err) == rpc.KindUnauthenticated {
		return err
	}
	return nil // also while no one can tell
}

// caller is who has a credential.
func (c *Credentials) caller(ctx context.Context, key string, load func(context.Context) (store.Credential, error)) (authz.Identity, error) {
	found, err := c.read(ctx, key, load)
	switch {
	case err != nil:
		return authz.Identity{}, err
	case found == nil:
		return authz.Identity{}, rpc.Unauthenticated("the credential of the cluster is unknown; its cluster may have been removed")
	case found.RevokedAt != nil:
		return authz.Identity{}, rpc.Unauthenticated("the credential %s of cluster %s was revoked at %s; issue another with flyte-binary clusters issue %s",
			found.ID, found.Cluster, found.RevokedAt.UTC().Format(time.RFC3339), found.Cluster)
	}
	c.Used(found.ID)
	return authz.Identity{
		Kind: authz.Cluster, Subject: "cluster:" + found.Cluster, Name: found.Cluster, Credential: found.ID, Cluster: found.Cluster,
	}, nil
}

// read returns a credential that is known, or reads it; nil if there is none.
func (c *Credentials) read(ctx context.Context, key string, load func(context.Context) (store.Credential, error)) (*store.Credential, error) {
	c.mu.Lock()
	before := c.known[key]
	c.mu.Unlock()
	now := c.clock.Now()
	if !before.readAt.IsZero() && now.Sub(before.readAt) < believed {
		return before.credential, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // the caller has left
	case result := <-c.reads.DoChan(key, func() (any, error) {
		// Others wait for the answer too, so it does not end with one caller.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), readFor)
		defer cancel()
		found, err := load(limited)
		switch {
		case errors.Is(err, store.ErrNone):
			return c.remember(key, nil), nil
		case err != nil:
			return nil, err
		}
		return c.remember(key, &found), nil
	}):
		if result.Err == nil {
			found, _ := result.Val.(*store.Credential)
			return found, nil
		}
		if !before.validAt.IsZero() && now.Sub(before.validAt) < outage {
			return before.credential, nil
		}
		return nil, rpc.Unavailable(result.Err, "the credential of the cluster cannot be looked up; try again")
	}
}

func (c *Credentials) remember(key string, found *store.Credential) *store.Credential {
	now := c.clock.Now()
	one := answer{credential: found, readAt: now}
	if found != nil && found.RevokedAt == nil {
		one.validAt = now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[key] = one
	return found
}
