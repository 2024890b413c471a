package access_test

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/access/keys"
	"github.com/flyte-binary/flyte-binary/access/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// noAttempts knows no attempt.
type noAttempts struct{}

func (noAttempts) GetLiveAttempts(context.Context, *enginev1.GetLiveAttemptsRequest) (*enginev1.GetLiveAttemptsResponse, error) {
	return &enginev1.GetLiveAttemptsResponse{}, nil
}

// TestAChangeHoldsOnEveryReplica gives and takes a role through the database, and waits until another replica has announced it. The
// policy reads its version every two seconds in any case; here the notification comes first.
func TestAChangeHoldsOnEveryReplica(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	replica, err := access.New(access.DefaultConfig(), access.Deps{Pool: pool, Attempts: noAttempts{}, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, replica.Start(t.Context()))
	defer func() { require.NoError(t, replica.Stop(context.WithoutCancel(t.Context()))) }()
	decides := replica.Authoriser()
	ada := authz.Identity{Kind: authz.User, Subject: "ada"}
	may := func(who authz.Identity) error {
		_, err := decides.Authorise(t.Context(), who, authz.Rule{Action: "run.view"}, authz.Resource{Kind: "run", Project: "p", Domain: "d", Name: "r"})
		return err
	}
	elsewhere := store.New(pool, clock.System{})
	until := func(who authz.Identity, allowed bool) time.Duration {
		began := time.Now()
		for {
			changed := decides.(authz.Changing).Changed()
			err := may(who)
			if (err == nil) == allowed {
				return time.Since(began)
			}
			if err != nil {
				require.Equal(t, rpc.KindNotFound, rpc.KindOf(err), "%v", err)
			}
			select {
			case <-changed:
			case <-time.After(time.Minute):
				require.Fail(t, "the change does not arrive")
			}
		}
	}
	// A key of ada, which has the role by itself.
	made, err := keys.New(elsewhere, clock.System{}, zerolog.Nop()).Create(t.Context(), store.Key{Name: "ci", Owner: "ada"}, 0,
		[]store.Binding{{Role: "viewer", Project: "p"}}, func(string) bool { return true })
	require.NoError(t, err)
	key := authz.Identity{Kind: authz.Key, Subject: made.Key.ID}
	until(ada, false)
	until(key, false)
	binding, err := elsewhere.CreateBinding(t.Context(), store.Binding{Member: store.Member{Kind: store.UserMember, Name: "ada"}, Role: "viewer", Project: "p"}, true)
	require.NoError(t, err)
	t.Logf("given after %s, to the key after %s", until(ada, true), until(key, true))
	require.NoError(t, elsewhere.DeleteBinding(t.Context(), binding.ID, "p", ""))
	require.NoError(t, elsewhere.PutRole(t.Context(), store.Role{Name: "another", Permissions: []string{"run.view"}}))
	t.Logf("taken after %s, from the key after %s", until(ada, false), until(key, false))
}

func TestConfigurationOfRoles(t *testing.T) {
	valid := access.DefaultConfig()
	valid.Roles = []access.RoleConfig{{Name: "auditor", Permissions: []string{"*.view"}}}
	valid.Bindings = []access.BindingConfig{{Group: "g", Role: "auditor", Project: "p"}, {User: "u", Role: "operator"}}
	require.NoError(t, valid.Validate())
	for want, spoil := range map[string]func(*access.Config){
		`roles[0].name: "viewer" is the name of another role`: func(c *access.Config) {
			c.Roles = []access.RoleConfig{{Name: "viewer", Permissions: []string{"*.view"}}}
		},
		`roles[0].permissions: no permission is "run.fly"`: func(c *access.Config) {
			c.Roles = []access.RoleConfig{{Name: "pilot", Permissions: []string{"run.fly"}}}
		},
		`roles[0].permissions: is required`:               func(c *access.Config) { c.Roles = []access.RoleConfig{{Name: "pilot"}} },
		`bindings[0].role: there is no role "king"`:       func(c *access.Config) { c.Bindings = []access.BindingConfig{{User: "u", Role: "king"}} },
		`bindings[0].user: exactly one of user and group`: func(c *access.Config) { c.Bindings = []access.BindingConfig{{Role: "viewer"}} },
		`bindings[0].role: operator is for the whole installa`: func(c *access.Config) {
			c.Bindings = []access.BindingConfig{{User: "u", Role: "operator", Project: "p"}}
		},
	} {
		config := access.DefaultConfig()
		spoil(&config)
		require.ErrorContains(t, config.Validate(), want)
	}
}
