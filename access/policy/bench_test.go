package policy_test

import (
	"fmt"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// BenchmarkAuthorise measures one decision with the bindings in memory: of a caller with ten groups and a role in some projects. The
// budget of a call is 50 µs with its authentication.
func BenchmarkAuthorise(b *testing.B) {
	for _, projects := range []int{1, 100, 10_000} {
		s := &source{version: 1}
		identity := authz.Identity{Kind: authz.User, Subject: "ada"}
		for i := range 10 {
			identity.Groups = append(identity.Groups, fmt.Sprint("a group of the provider with number ", i))
		}
		for i := range projects {
			s.bindings = append(s.bindings, store.Binding{Member: user("ada"), Role: policy.Contributor, Project: fmt.Sprint("project-", i)})
		}
		p := policy.New(policy.Config{}, policy.Deps{Source: s, Changed: func() {}, Clock: clock.System{}, Logger: zerolog.Nop()})
		for name, rule := range map[string]authz.Rule{"call": {Action: "run.create"}, "list": {Action: "run.view", Lists: true}} {
			b.Run(fmt.Sprintf("%s of %d projects", name, projects), func(b *testing.B) {
				resource := authz.Resource{Kind: "run", Project: "project-0", Domain: "development", Name: "r"}
				b.ReportAllocs()
				for b.Loop() {
					_, err := p.Authorise(b.Context(), identity, rule, resource)
					require.NoError(b, err)
				}
			})
		}
	}
}
