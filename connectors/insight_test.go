package connectors_test

import (
	"errors"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// TestConnectorsAreListed: page by page, with their health, their jobs and the last error.
func TestConnectorsAreListed(t *testing.T) {
	well, away := newFake(t, "batch_job"), newFake(t, "other_job")
	well.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	well.get = func(*fakeJob) error {
		return connect.NewError(connect.CodeInternal, errors.New("the queue is being repaired"))
	}
	endpoint := well.endpoint("well")
	endpoint.MaxJobs = 7
	f := newFixture(t, endpoint, away.endpoint("away"))
	f.serves("batch_job")
	f.serves("other_job")
	away.down()
	f.run("r", job())
	list := func(r *insightv1.ListConnectorsRequest) *insightv1.ListConnectorsResponse {
		answer, err := f.connectors.ListConnectors(t.Context(), r)
		require.NoError(t, err)
		return answer
	}
	f.eventually("the page says how both do", func() bool {
		all := list(&insightv1.ListConnectorsRequest{}).GetConnectors()
		return len(all) == 2 && all[0].GetLastError() != "" && all[1].GetProblem() != ""
	})
	first := list(&insightv1.ListConnectorsRequest{Limit: 1})
	require.Len(t, first.GetConnectors(), 1)
	one := first.GetConnectors()[0]
	require.Equal(t, "well", one.GetName())
	require.Equal(t, endpoint.URL, one.GetUrl())
	require.Equal(t, []string{"batch_job"}, one.GetTaskTypes())
	require.EqualValues(t, 1, one.GetJobs())
	require.EqualValues(t, 7, one.GetMaxJobs())
	require.NotNil(t, one.GetAnsweredAt())
	require.Empty(t, one.GetProblem())
	require.Equal(t, "the queue is being repaired", one.GetLastError())
	second := list(&insightv1.ListConnectorsRequest{Limit: 1, Token: first.GetToken()})
	require.Empty(t, second.GetToken())
	require.Equal(t, "away", second.GetConnectors()[0].GetName())
	require.NotNil(t, second.GetConnectors()[0].GetAnsweredAt(), "it answered before")
	_, err := f.connectors.ListConnectors(t.Context(), &insightv1.ListConnectorsRequest{Token: "x"})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
}
