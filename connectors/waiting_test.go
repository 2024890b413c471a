package connectors_test

import (
	"errors"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/connectors"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// TestAJobThatWaitsInItsCloudIsNotLost: the SDK's connector library fails with states such as QUEUED.
func TestAJobThatWaitsInItsCloudIsNotLost(t *testing.T) {
	fake := newFake(t, "batch_job")
	looks, queued := 0, true
	fake.get = func(*fakeJob) error {
		if looks++; queued {
			return connect.NewError(connect.CodeInternal, errors.New("failed to get task with error:\n Unrecognized state: resuming_warehouse."))
		}
		return nil
	}
	f := newFixtureWith(t, func(c *connectors.Config) {
		c.Endpoints, c.MaxErrors = []connectors.Endpoint{fake.endpoint("batch")}, 3
	})
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES)
	f.eventually("more looks than errors are allowed", func() (enough bool) {
		fake.with(func() { enough = looks > 6 })
		return enough
	})
	fake.becomes(success())
	fake.with(func() { queued = false })
	details := f.reaches("r", succeeded)
	require.Len(t, details.GetAttempts(), 1)
	require.Len(t, fake.has(1), 1)
}

// TestSecretsByTheirVariables: the SDK's plugins name a secret by the variable that the task's secret has.
func TestSecretsByTheirVariables(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(success())
	f := newFixture(t, fake.endpoint("batch"))
	f.values["snow_private-key"] = "hush"
	f.serves("batch_job")
	f.run("r", job(func(t *core.TaskTemplate) {
		t.Custom, _ = structpb.NewStruct(map[string]any{"secrets": map[string]any{"snowflake_private_key": "SNOW_PRIVATE_KEY"}})
		t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Group: "snow", Key: "private-key", EnvVar: "SNOW_PRIVATE_KEY"}}}
	}))
	f.reaches("r", succeeded)
	require.Equal(t, "hush", fake.creates[0].GetConnection().GetSecrets()["snowflake_private_key"])
}
