package access

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// ownerAgain is how often the groups of a person are compared with those of their keys, if they seem the same.
	ownerAgain = time.Minute
	// ownerPause is how long the groups of a person wait after they were written, or could not be. A proxy whose answers alternate does not
	// change the policy with each call.
	ownerPause = 2 * time.Second
	// ownerTimeout bounds how long a call waits for that.
	ownerTimeout = 2 * time.Second
	// rememberedOwners bounds how many people are remembered.
	rememberedOwners = 10_000
)

// owners gives the API keys of people whom a proxy vouches for the groups that the proxy says: those people never sign in, which is when the keys
// of others get theirs.
type owners struct {
	signedIn func(ctx context.Context, subject string, groups []string) error
	clock    clock.Clock
	known    *lru.Cache[string, owner]
	writes   singleflight.Group // by subject
}

// owner is what was said last of a person.
type owner struct {
	groups string
	saidAt time.Time
	// again is when the keys are looked at again, changed when they are if the groups are others.
	again, changed time.Time
}

func newOwners(signedIn func(ctx context.Context, subject string, groups []string) error, clk clock.Clock) (*owners, error) {
	known, err := lru.New[string, owner](rememberedOwners)
	if err != nil {
		return nil, fmt.Errorf("make the cache of the owners of keys: %w", err)
	}
	return &owners{signedIn: signedIn, clock: clk, known: known}, nil
}

// saw takes the word of the proxy about a person. A failure is made good by a later call: the keys keep the groups that they had.
func (o *owners) saw(ctx context.Context, person sessions.Person) {
	groups := strings.Join(slices.Compact(slices.Sorted(slices.Values(person.Groups))), "\x00")
	if !o.due(person, groups) {
		return
	}
	_, _, _ = o.writes.Do(person.Subject, func() (any, error) {
		if !o.due(person, groups) {
			return nil, nil //nolint:nilnil // there is no result
		}
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), ownerTimeout)
		defer cancel()
		err := o.signedIn(writing, person.Subject, person.Groups)
		now := o.clock.Now()
		next := owner{groups: groups, saidAt: person.SaidAt, again: now.Add(ownerAgain), changed: now.Add(ownerPause)}
		if err != nil {
			next.again = next.changed
		}
		o.known.Add(person.Subject, next)
		return nil, nil //nolint:nilnil // the same
	})
}

// due reports whether the keys of a person must be looked at. An older word than the last one, such as a token that is used again, does not count.
func (o *owners) due(person sessions.Person, groups string) bool {
	last, ok := o.known.Get(person.Subject)
	now := o.clock.Now()
	switch {
	case !ok:
		return true
	case person.SaidAt.Before(last.saidAt):
		return false
	case last.groups == groups:
		return !now.Before(last.again)
	default:
		return !now.Before(last.changed)
	}
}
