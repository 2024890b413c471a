package clusters

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/clusters/credentials"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/names/credential"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// revokedFor is how long revoked credentials are listed.
const revokedFor = 30 * 24 * time.Hour

// Registry changes and lists the clusters of an installation, for the service and for the command line.
type Registry struct {
	store *store.Store
	work  Counter
	clock clock.Clock
}

// NewRegistry returns the registry on a store. counter may be nil; then the work of clusters is not known.
func NewRegistry(s *store.Store, counter Counter, clk clock.Clock) *Registry {
	return &Registry{store: s, work: counter, clock: clk}
}

// Issued is a credential with its secret, which cannot be read again.
type Issued struct {
	Credential store.Credential
	Secret     string
}

func (r *Registry) issue(cluster, by string) Issued {
	secret := credential.New(credentials.Prefix)
	return Issued{
		Credential: store.Credential{
			ID: "cred-" + strings.ToLower(rand.Text()[:16]), Cluster: cluster, Hint: credential.Hint(secret), CreatedBy: by, CreatedAt: r.clock.Now(),
		},
		Secret: secret,
	}
}

// Add registers a cluster and makes its first credential.
func (r *Registry) Add(ctx context.Context, name, by string) (store.Cluster, Issued, error) {
	if !ident.IsCluster(name) {
		return store.Cluster{}, Issued{}, rpc.InvalidArgument("name", "%s, got %q", ident.ClusterRule, name)
	}
	issued := r.issue(name, by)
	added := store.Cluster{Name: name, CreatedBy: by, CreatedAt: issued.Credential.CreatedAt}
	if err := r.store.Add(ctx, added, issued.Credential, credential.Hash(issued.Secret)); err != nil {
		return store.Cluster{}, Issued{}, problem(err, name)
	}
	added.Credentials = []store.Credential{issued.Credential}
	return added, issued, nil
}

// Issue makes one more credential of a cluster.
func (r *Registry) Issue(ctx context.Context, cluster, by string) (Issued, error) {
	issued := r.issue(cluster, by)
	if err := r.store.Issue(ctx, issued.Credential, credential.Hash(issued.Secret)); err != nil {
		return Issued{}, problem(err, cluster)
	}
	return issued, nil
}

// Revoke ends a credential.
func (r *Registry) Revoke(ctx context.Context, id string) (store.Credential, error) {
	revoked, err := r.store.Revoke(ctx, id, r.clock.Now())
	if errors.Is(err, store.ErrNone) {
		return store.Credential{}, rpc.NotFound("credential %s does not exist", id)
	}
	return revoked, err
}

// Remove ends all credentials of a cluster and forgets it. It fails with FailedPrecondition while work is there, unless it is forced:
// then the work is given up there.
func (r *Registry) Remove(ctx context.Context, name string, force bool) error {
	if force {
		return problem(r.store.Abandon(ctx, name, r.clock.Now()), name)
	}
	left, err := r.Work(ctx, name)
	if err != nil {
		return err
	}
	if left.Empty() {
		return problem(r.store.Remove(ctx, name), name)
	}
	return rpc.FailedPrecondition("cluster %s still has work: %s; drain it first, or force its removal", name, left)
}

// Get returns a cluster.
func (r *Registry) Get(ctx context.Context, name string) (store.Cluster, error) {
	found, err := r.store.Get(ctx, name, r.clock.Now().Add(-revokedFor))
	return found, problem(err, name)
}

// List returns clusters in alphabetical order, those after a name.
func (r *Registry) List(ctx context.Context, after string, limit int) ([]store.Cluster, error) {
	return r.store.List(ctx, after, limit, r.clock.Now().Add(-revokedFor))
}

// problem is the error for the client.
func problem(err error, cluster string) error {
	switch {
	case errors.Is(err, store.ErrNone):
		return rpc.NotFound("cluster %s does not exist", cluster)
	case errors.Is(err, store.ErrExists):
		return rpc.AlreadyExists("cluster %s already exists", cluster)
	case errors.Is(err, store.ErrTooMany):
		return rpc.FailedPrecondition("cluster %s has %d valid credentials, the most that it may have; revoke one first", cluster, store.MaxCredentials)
	}
	return err
}

// Events returns events of a cluster, latest first: those before one of them, or the latest if before is 0.
func (r *Registry) Events(ctx context.Context, name string, before int64, limit int) ([]store.Event, error) {
	return r.store.Events(ctx, name, before, limit)
}
