package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

const (
	// pullsFresh is how long the list of image pull secrets is used. A change in this process is seen at once.
	pullsFresh = time.Minute
	// pullsPause is the pause after a list could not be read; the one before is used meanwhile.
	pullsPause = 10 * time.Second
	// pullsPatience bounds reading the list: pods wait for it.
	pullsPatience = 5 * time.Second
	// pullsPage is how many secrets one call of a backend lists.
	pullsPage = 200
)

// pullSecret is what is known of an image pull secret: never its credentials.
type pullSecret struct {
	id         entry.ID
	registries []string
}

// pullIndex has the image pull secrets of all scopes, so that a pod whose image is in none of their registries reads no
// secret. The zero value is ready.
type pullIndex struct {
	changes atomic.Int64 // of image pull secrets, by this process

	mu      sync.Mutex
	secrets []pullSecret
	until   time.Time // when the list is read again
	seen    int64     // the changes that it knows
}

// changed says that a secret of a type was written.
func (p *pullIndex) changed(t entry.Type) {
	if t == entry.ImagePull {
		p.changes.Add(1)
	}
}

// get returns the list. It is read at most once at a time; if it cannot be read, the one before is returned.
func (p *pullIndex) get(ctx context.Context, clk clock.Clock, read func(context.Context) ([]pullSecret, error)) []pullSecret {
	p.mu.Lock()
	defer p.mu.Unlock()
	changes := p.changes.Load()
	if now := clk.Now(); changes == p.seen && now.Before(p.until) && p.until.Sub(now) <= pullsFresh {
		return p.secrets
	}
	ctx, cancel := context.WithTimeout(ctx, pullsPatience)
	defer cancel()
	found, err := read(ctx)
	if err != nil {
		p.until = clk.Now().Add(pullsPause)
		zerolog.Ctx(ctx).Warn().Err(err).Msg("listing image pull secrets failed; using the last known list")
		return p.secrets
	}
	p.secrets, p.seen, p.until = found, changes, clk.Now().Add(pullsFresh)
	return p.secrets
}

// pullConfig merges the credentials that the image pull secrets of the scopes have for the registries of images. Of
// several for one registry, the narrowest scope wins. It returns nil without any.
func (s *Service) pullConfig(ctx context.Context, chain []entry.Scope, images []string) ([]byte, error) {
	if len(images) == 0 {
		return nil, nil
	}
	known := s.pulls.get(s.deps.Logger.WithContext(ctx), s.deps.Clock, s.readPulls)
	merged := map[string]json.RawMessage{}
	hidden := map[string]bool{}
	for _, scope := range chain {
		for _, one := range known {
			if one.id.Scope != scope || hidden[one.id.Name] {
				continue
			}
			hidden[one.id.Name] = true
			if !slices.ContainsFunc(one.registries, func(registry string) bool { return serves(registry, images) }) {
				continue
			}
			content, found, err := s.value(ctx, []entry.Scope{scope}, one.id.Name)
			if err != nil {
				return nil, err
			}
			if !found || content.Type != entry.ImagePull {
				continue // deleted since the list was read
			}
			for registry, credentials := range authsOf(content.Value) {
				if _, taken := merged[registry]; !taken && serves(registry, images) {
					merged[registry] = credentials
				}
			}
		}
	}
	if len(merged) == 0 {
		return nil, nil
	}
	config, err := json.Marshal(map[string]any{"auths": merged})
	if err != nil {
		return nil, errors.New("the image pull secrets of the scope cannot be joined") // the error may quote them
	}
	return config, nil
}

// readPulls lists the image pull secrets of all scopes with their registries. Of two backends with the same secret, the
// first wins.
func (s *Service) readPulls(ctx context.Context) ([]pullSecret, error) {
	var found []pullSecret
	known := map[entry.ID]bool{}
	for _, backend := range s.deps.Backends {
		for token, more := "", true; more; {
			page, err := backend.List(ctx, entry.Scope{}, token, pullsPage)
			if err != nil {
				return nil, fmt.Errorf("list the secrets of the backend %s: %w", backend.Name, err)
			}
			for _, about := range page.Entries {
				if about.Type != entry.ImagePull || known[about.ID] {
					continue
				}
				known[about.ID] = true
				content, err := backend.Value(ctx, about.ID)
				if errors.Is(err, entry.ErrNotFound) {
					continue
				}
				if err != nil {
					return nil, problem(backend.Name, about.ID, content, err)
				}
				one := pullSecret{id: about.ID}
				for registry := range authsOf(content.Value) {
					one.registries = append(one.registries, registry)
				}
				found = append(found, one)
			}
			token, more = page.Next, page.Next != ""
		}
	}
	return found, nil
}

// authsOf are the credentials in a Docker configuration, by registry; none if it is something else.
func authsOf(value entry.Value) map[string]json.RawMessage {
	config := struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}{}
	if json.Unmarshal(value.Reveal(), &config) != nil {
		return nil
	}
	return config.Auths
}
