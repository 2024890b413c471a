package authz_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// only allows what concerns one project.
type only string

func (o only) Authorise(_ context.Context, _ authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	if resource.Project != string(o) {
		return authz.Scope{}, authz.Denied("%s is not allowed on %s", rule.Action, resource)
	}
	return authz.Everything(), nil
}

// BenchmarkAuthorise measures what authorization adds to a call: the resources of its request and a check for each.
// The budget is 50 µs for a call.
func BenchmarkAuthorise(b *testing.B) {
	for _, names := range []int{1, 100} {
		request := &trigger.DeleteTriggersRequest{}
		for i := range names {
			request.Names = append(request.Names, &common.TriggerName{Project: "p", Domain: "d", Name: fmt.Sprint("t", i), TaskName: "x"})
		}
		b.Run(fmt.Sprintf("%d resources", names), func(b *testing.B) {
			const name = "/flyteidl2.trigger.TriggerService/DeleteTriggers"
			row, _ := authz.RowOf(name)
			decider := &authz.Decider{Authoriser: only("p")}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				resources, err := decider.About(name, row, request)
				require.NoError(b, err)
				_, err = decider.All(ctx, row.Rule(), resources)
				require.NoError(b, err)
			}
		})
	}
}
