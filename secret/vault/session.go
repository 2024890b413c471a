package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// retryPause is the pause after a renewal or a sign-in that failed.
	retryPause = 10 * time.Second
	// idlePause is the pause between two looks at a token that does not expire.
	idlePause = time.Minute
)

// session keeps a token of Vault: it signs in at the first call, renews the token in time, and signs in again when Vault
// no longer accepts it.
type session struct {
	auth   AuthConfig
	client *api.Client
	clock  clock.Clock
	log    zerolog.Logger

	mu        sync.Mutex
	signedIn  bool      // GUARDED_BY(mu)
	renewable bool      // GUARDED_BY(mu)
	renewAt   time.Time // GUARDED_BY(mu): zero for a token that does not expire
	expires   time.Time // GUARDED_BY(mu): zero for a token that does not expire
}

// ready signs in, if that has to be.
func (s *session) ready(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signedIn && (s.expires.IsZero() || s.clock.Now().Before(s.expires)) {
		return nil
	}
	return s.signIn(ctx)
}

// call runs a request with a token that should be valid, and again after another sign-in if Vault refuses the token.
func (s *session) call(ctx context.Context, request func(context.Context) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	err := request(ctx)
	if !isStatus(err, http.StatusForbidden) {
		return err
	}
	s.mu.Lock()
	s.signedIn = false
	s.mu.Unlock()
	if again := s.ready(ctx); again != nil {
		return again
	}
	return request(ctx)
}

// signIn gets a token. The caller holds the lock.
func (s *session) signIn(ctx context.Context) error {
	s.signedIn = false
	mount := cmp.Or(s.auth.Mount, s.auth.Method)
	var answer *api.Secret
	var err error
	switch s.auth.Method {
	case methodToken:
		var token string
		if token, err = fromFile(s.auth.TokenFile, s.auth.Token); err == nil {
			s.client.SetToken(token)
			answer, err = s.client.Auth().Token().LookupSelfWithContext(ctx)
		}
	case methodKubernetes:
		var jwt string
		if jwt, err = fromFile(s.auth.JWTFile, ""); err == nil {
			answer, err = s.login(ctx, mount, map[string]any{"role": s.auth.Role, "jwt": jwt})
		}
	case methodAppRole:
		var secretID string
		if secretID, err = fromFile(s.auth.SecretIDFile, s.auth.SecretID); err == nil {
			answer, err = s.login(ctx, mount, map[string]any{"role_id": s.auth.RoleID, "secret_id": secretID})
		}
	}
	if err != nil {
		return fmt.Errorf("sign in to Vault: %w", err)
	}
	return s.accept(answer)
}

func (s *session) login(ctx context.Context, mount string, body map[string]any) (*api.Secret, error) {
	s.client.ClearToken()
	answer, err := s.client.Logical().WriteWithContext(ctx, "auth/"+mount+"/login", body)
	if err != nil {
		return nil, err
	}
	if answer == nil || answer.Auth == nil || answer.Auth.ClientToken == "" {
		return nil, errors.New("the answer has no token")
	}
	s.client.SetToken(answer.Auth.ClientToken)
	return answer, nil
}

// accept notes how long the token of an answer holds. The caller holds the lock.
func (s *session) accept(answer *api.Secret) error {
	ttl, err := answer.TokenTTL()
	if err != nil {
		return fmt.Errorf("sign in to Vault: the lifetime of the token: %w", err)
	}
	s.renewable, err = answer.TokenIsRenewable()
	if err != nil {
		return fmt.Errorf("sign in to Vault: whether the token is renewable: %w", err)
	}
	s.signedIn, s.renewAt, s.expires = true, time.Time{}, time.Time{}
	if ttl > 0 {
		now := s.clock.Now()
		s.renewAt, s.expires = now.Add(ttl*2/3), now.Add(ttl)
	}
	return nil
}

// keep renews the token after two thirds of its life, until the context ends. When it can no longer be renewed, it
// signs in again.
func (s *session) keep(ctx context.Context) {
	for {
		pause := s.upkeep(ctx)
		if clock.Sleep(ctx, s.clock, pause) != nil {
			return
		}
	}
}

// upkeep does what is due and returns when to look again.
func (s *session) upkeep(ctx context.Context) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.signedIn || s.renewAt.IsZero():
		return idlePause
	case s.clock.Now().Before(s.renewAt):
		return s.renewAt.Sub(s.clock.Now())
	}
	err := s.renew(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.Warn().Err(err).Msg("renewing the Vault token failed; retrying")
		return retryPause
	}
	if s.renewAt.IsZero() {
		return idlePause
	}
	return max(s.renewAt.Sub(s.clock.Now()), time.Second)
}

func (s *session) renew(ctx context.Context) error {
	if s.renewable {
		answer, err := s.client.Auth().Token().RenewSelfWithContext(ctx, 0)
		if err == nil {
			return s.accept(answer)
		}
		if !isStatus(err, http.StatusForbidden) && !isStatus(err, http.StatusBadRequest) {
			return err
		}
	}
	return s.signIn(ctx)
}

func fromFile(path, otherwise string) (string, error) {
	if path == "" {
		return otherwise, nil
	}
	content, err := os.ReadFile(path)
	return strings.TrimSpace(string(content)), err
}

func isStatus(err error, status int) bool {
	var answer *api.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == status
}
