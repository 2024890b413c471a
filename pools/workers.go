package pools

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// tokenPrefix makes tokens of workers recognisable, for secret scanners too. Tokens of earlier versions lack it.
const tokenPrefix = "fbw_"

// hashOf is what is stored of a token.
func hashOf(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}

// workers identifies workers by the bearer tokens that they were started with.
type workers struct{ store *store.Store }

var _ authz.Authenticator = workers{}

// Authenticate implements authz.Authenticator. A worker whose token is not known gets NotFound from a procedure for
// workers, and ends.
func (w workers) Authenticate(ctx context.Context, request authz.Request) (authz.Identity, error) {
	rule, _ := authz.RuleOf(request.Procedure)
	theirs := rule.By.Has(authz.Worker)
	token, _ := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	switch {
	case theirs && token == "":
		return authz.Identity{}, rpc.Unauthenticated("a worker needs the bearer token that it was started with")
	// Another authenticator may know the caller.
	case !theirs && !strings.HasPrefix(token, tokenPrefix):
		return authz.Identity{}, nil
	}
	id, cluster, pool, err := w.store.ByToken(ctx, hashOf(token))
	// Only the worker itself acts on NotFound.
	if rpc.IsNotFound(err) && !theirs {
		return authz.Identity{}, rpc.Unauthenticated("the token of the worker is not valid")
	}
	if err != nil {
		return authz.Identity{}, err
	}
	return authz.Identity{Kind: authz.Worker, Subject: id, Cluster: cluster, Pool: &pool}, nil
}

// Workers identifies workers by the tokens that the service has issued.
func (s *Service) Workers() authz.Authenticator { return workers{s.handler.store} }
