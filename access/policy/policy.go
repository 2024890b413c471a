// Package policy decides what callers may do: roles are named lists of permissions, bindings give them to people, groups and
// keys in a scope. Decisions are made in memory, from what access/store keeps; every replica follows changes. It is the
// authoriser of the chain of internal/wire/rpc.
package policy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Source is where roles and bindings are kept; store.Store is one.
type Source interface {
	// PolicyVersion grows with each change of roles, bindings, keys and accounts.
	PolicyVersion(ctx context.Context) (int64, error)
	// Roles are those of the installation, without the built-in ones.
	Roles(ctx context.Context) ([]store.Role, error)
	// BindingsOf are the bindings of some members.
	BindingsOf(ctx context.Context, members []store.Member) ([]store.Binding, error)
	// OwnerOf is the owner of a key.
	OwnerOf(ctx context.Context, id string) (store.KeyOwner, error)
}

// Config is what the configuration says.
type Config struct {
	// Roles and Bindings hold in addition to those of the source.
	Roles    []store.Role
	Bindings []store.Binding
	// Ask tells people whom to ask for more rights; may be empty.
	Ask string
}

// Deps are the dependencies of a Policy. All but Idle are required.
type Deps struct {
	Source Source
	// Changed is called when something else that depends on the version of the policy may have changed.
	Changed func()
	Clock   clock.Clock
	Logger  zerolog.Logger
	// Idle means that the policy decides nothing: no loop follows changes, and who reads it gets what the source has then.
	Idle bool
}

// Policy is the authoriser of an installation with authentication.
type Policy struct {
	lifecycle.Background
	config Config
	deps   Deps
	loads  singleflight.Group

	now       atomic.Pointer[generation] // nil while the policy is not known
	confirmed atomic.Int64               // when the version of now was last seen in the source, in nanoseconds

	wake chan struct{} // holds a token when there may be a change

	mu      sync.Mutex
	changed chan struct{} // GUARDED_BY(mu)
}

var (
	_ authz.Authoriser = (*Policy)(nil)
	_ authz.Changing   = (*Policy)(nil)
	_ lifecycle.Part   = (*Policy)(nil)
)

// New returns a policy that reads its source when it is first asked, and follows changes from Start.
func New(config Config, deps Deps) *Policy {
	return &Policy{config: config, deps: deps, wake: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Changed implements authz.Changing.
func (p *Policy) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// announce tells the holders of Changed that answers may differ.
func (p *Policy) announce() {
	p.deps.Changed()
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

const (
	// poll is how often the version is read, for changes whose notification was lost.
	poll = 2 * time.Second
	// stale is how long decisions are made without an answer of the source.
	stale = 30 * time.Second
)

// Start follows changes.
func (p *Policy) Start(ctx context.Context) error {
	if p.deps.Idle {
		return nil
	}
	return p.Run(p.deps.Logger.WithContext(ctx), p.follow)
}

// Notice tells the policy that there may be a change. It does not wait.
func (p *Policy) Notice() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Policy) follow(ctx context.Context) {
	for {
		timer := p.deps.Clock.NewTimer(poll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		case <-p.wake:
			timer.Stop()
		}
		reading, cancel := context.WithTimeout(ctx, poll)
		if err := p.Refresh(reading); err != nil && ctx.Err() == nil {
			p.deps.Logger.Warn().Err(err).Msg("cannot read the roles and bindings; retrying")
		}
		cancel()
	}
}

// Refresh reads the version of the policy, and forgets what was decided before if it has changed. Handlers call it
// after a change, so that the next request of their caller sees it.
func (p *Policy) Refresh(ctx context.Context) error {
	asked := p.deps.Clock.Now()
	version, err := p.deps.Source.PolicyVersion(ctx)
	if err != nil {
		return err
	}
	if now := p.now.Load(); now != nil && now.version == version {
		p.confirmed.Store(asked.UnixNano())
		return nil
	}
	next, err := p.load(ctx)
	if err != nil {
		p.now.Store(nil) // it has changed, and how is unknown
		p.announce()
		return err
	}
	p.use(next, asked)
	return nil
}

// use makes a generation the one that decides.
func (p *Policy) use(next *generation, asked time.Time) {
	p.confirmed.Store(asked.UnixNano())
	p.now.Store(next)
	p.announce()
}

// load reads the version and the roles.
func (p *Policy) load(ctx context.Context) (*generation, error) {
	version, err := p.deps.Source.PolicyVersion(ctx) // before the roles, so that a change between the two is seen later
	if err != nil {
		return nil, err
	}
	stored, err := p.deps.Source.Roles(ctx)
	if err != nil {
		return nil, err
	}
	return newGeneration(version, append(p.config.Roles[:len(p.config.Roles):len(p.config.Roles)], stored...)), nil
}

// current is the generation that decides now. Without one there is no decision.
func (p *Policy) current(ctx context.Context) (*generation, error) {
	now := p.now.Load()
	if now == nil || p.deps.Idle && p.deps.Clock.Now().UnixNano()-p.confirmed.Load() > int64(poll) {
		asked := p.deps.Clock.Now()
		loaded, err, _ := p.loads.Do("", func() (any, error) {
			next, err := p.load(context.WithoutCancel(ctx))
			if err == nil {
				p.use(next, asked)
			}
			return next, err
		})
		if err != nil {
			return nil, rpc.Unavailable(err, "the roles and bindings cannot be read, so nothing is decided; try again")
		}
		return loaded.(*generation), nil //nolint:forcetypeassert // only generations are loaded
	}
	if age := p.age(); age > stale {
		return p.again(ctx, age)
	}
	return now, nil
}

// age is how long ago the policy was seen in the source.
func (p *Policy) age() time.Duration {
	return time.Duration(p.deps.Clock.Now().UnixNano() - p.confirmed.Load())
}

// again reads a policy that is too old. If it only seems so, because the clock was set, callers do not notice.
func (p *Policy) again(ctx context.Context, age time.Duration) (*generation, error) {
	_, err, _ := p.loads.Do("again", func() (any, error) {
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), poll)
		defer cancel()
		return nil, p.Refresh(reading)
	})
	if now := p.now.Load(); now != nil && err == nil {
		return now, nil
	}
	return nil, rpc.Unavailable(err, "the roles and bindings could not be read for %s, so nothing is decided; try again", age.Round(time.Second))
}
