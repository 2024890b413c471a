package runs_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/protobuf/types/known/durationpb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/obs/metrictest"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// ada is a person.
func ada(ctx context.Context) context.Context {
	return authz.WithIdentity(ctx, authz.Identity{Kind: authz.User, Subject: "ada", Name: "Ada"})
}

// assign has ada ask someone to answer.
func (c *writeFixture) assign(run, action, subject string) connect.Code {
	c.t.Helper()
	_, err := c.conditions.AssignCondition(ada(c.t.Context()), &insightv1.AssignConditionRequest{ActionId: actionID(run, action), Subject: subject})
	if err == nil {
		return 0
	}
	return connect.CodeOf(err)
}

func TestMetricsOfConditions(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	c := writeFixtureWith(t, pgtest.New(t, store.Migrations()), nil, func(d *runs.Deps) {
		d.Meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	})
	c.create(namedRun("r"))
	names := []string{"said", "silent", "timed", "stopped", "waits"}
	for _, name := range names {
		ask := condition("r", name, core.SimpleType_STRING)
		if name == "timed" {
			ask.GetCondition().Timeout = durationpb.New(time.Second)
		}
		require.Zero(t, c.record(ask))
	}
	require.Zero(t, c.assign("r", "said", "ada"))
	require.Zero(t, c.assign("r", "said", ""))
	require.Equal(t, connect.CodeFailedPrecondition, c.assign("r", "said", "bob"))
	require.Equal(t, connect.CodeNotFound, c.assign("r", "none", "ada"))
	for range 2 {
		require.Zero(t, c.say("r", "said", "yes", "as discussed"))
	}
	require.Equal(t, connect.CodeFailedPrecondition, c.say("r", "said", "no", ""))
	require.Zero(t, c.say("r", "silent", "yes", ""))
	_, err := c.runs.AbortAction(t.Context(), &workflow.AbortActionRequest{ActionId: actionID("r", "stopped")})
	require.NoError(t, err)
	var found map[string]float64
	require.Eventually(t, func() bool {
		found = metrictest.Read(t, reader)
		// One reading may see the waiting ones before an end and its count after it.
		return found["flyte.conditions.ended outcome=timed-out"] == 1 && found["flyte.conditions.ended outcome=aborted"] == 1 &&
			found["flyte.conditions.waiting"] == 1
	}, time.Minute, 50*time.Millisecond)
	for name, value := range map[string]float64{
		"flyte.conditions.ended outcome=answered":      2, // each once, however often it is answered
		"flyte.conditions.wait":                        2,
		"flyte.conditions.comments":                    1,
		"flyte.conditions.assignments result=assigned": 1,
		"flyte.conditions.assignments result=removed":  1,
		"flyte.conditions.assignments result=refused":  2,
	} {
		require.InDelta(t, value, found[name], 0, name)
	}
	require.Positive(t, found["flyte.conditions.oldest"])
	require.Zero(t, c.say("r", "waits", "yes", ""))
	found = metrictest.Read(t, reader)
	require.Zero(t, found["flyte.conditions.waiting"])
	require.Zero(t, found["flyte.conditions.oldest"])
}
