package policy

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// maxCallers bounds the callers whose bindings a process remembers. Beyond it it starts again.
const maxCallers = 20_000

// generation is the policy between two changes: its roles, and the bindings of the callers that were seen.
type generation struct {
	version int64
	roles   map[string]store.Role
	callers atomic.Pointer[sync.Map] // of callerKey to *grants
	count   atomic.Int64
}

// callerKey is what decides about a caller's bindings.
type callerKey struct {
	kind            authz.Kind
	subject, groups string
}

func newGeneration(version int64, roles []store.Role) *generation {
	g := &generation{version: version, roles: map[string]store.Role{}}
	for _, role := range append(roles, BuiltIn()...) { // the built-in ones last: no other role has their name
		g.roles[role.Name] = role
	}
	g.callers.Store(&sync.Map{})
	return g
}

// grantsOf are the grants of a caller; they are read once.
func (p *Policy) grantsOf(ctx context.Context, kind authz.Kind, subject string, groups []string) (*grants, error) {
	now, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	key := callerKey{kind, subject, strings.Join(groups, "\x00")}
	callers := now.callers.Load()
	if known, ok := callers.Load(key); ok {
		return known.(*grants), nil //nolint:forcetypeassert // only grants are stored
	}
	members := membersOf(kind, subject, groups)
	stored, err := p.deps.Source.BindingsOf(ctx, members)
	if err != nil {
		return nil, rpc.Unavailable(err, "your roles cannot be read, so nothing is decided; try again")
	}
	for _, binding := range p.config.Bindings {
		if slices.Contains(members, binding.Member) {
			stored = append(stored, binding)
		}
	}
	made := &grants{bindings: stored, roles: now.roles}
	if kind == authz.Key {
		if err := p.bound(ctx, made, subject); err != nil {
			return nil, err
		}
	}
	if now.count.Add(1) > maxCallers {
		now.count.Store(0)
		now.callers.Store(&sync.Map{})
	}
	callers.Store(key, made)
	return made, nil
}

// bound bounds what a key has been given by what its owner has.
func (p *Policy) bound(ctx context.Context, key *grants, id string) error {
	owner, err := p.deps.Source.OwnerOf(ctx, id)
	if err != nil {
		return rpc.Unavailable(err, "the owner of the key cannot be read, so nothing is decided; try again")
	}
	if owner.Service {
		return nil
	}
	key.ownedBy = owner.Subject
	key.owner, err = p.grantsOf(ctx, authz.User, owner.Subject, owner.Groups)
	return err
}

// membersOf are the members whose bindings a caller has: itself and its groups.
func membersOf(kind authz.Kind, subject string, groups []string) []store.Member {
	if kind == authz.Key {
		return []store.Member{{Kind: store.KeyMember, Name: subject}}
	}
	members := []store.Member{{Kind: store.UserMember, Name: subject}}
	for _, group := range groups {
		members = append(members, store.Member{Kind: store.GroupMember, Name: group})
	}
	return members
}
