package rpc_test

import (
	"context"
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// BenchmarkAuthorise measures what authorisation adds to a call: the resources of its request and a check for each.
// The budget is 50 µs for a call.
func BenchmarkAuthorise(b *testing.B) {
	for _, names := range []int{1, 100} {
		request := &trigger.DeleteTriggersRequest{}
		for i := range names {
			request.Names = append(request.Names, &common.TriggerName{Project: "p", Domain: "d", Name: fmt.Sprint("t", i), TaskName: "x"})
		}
		b.Run(fmt.Sprintf("%d resources", names), func(b *testing.B) {
			call := rpc.AuthorisedUnary(only("p"), "/flyteidl2.trigger.TriggerService/DeleteTriggers",
				func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { return nil, nil })
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, call(ctx, request))
			}
		})
	}
}
