package runs_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/runs"
)

// A project that has stored as much as it may gets no runs and no uploads, until what it has is deleted and measured again. Its runs
// continue, and a repeated request gets the run that exists.
func TestCreateRunIsRefusedWhileTooMuchIsStored(t *testing.T) {
	c := newWriteFixture(t, func(c *runs.Config) {
		c.Stored.ProjectBytes, c.Stored.Interval, c.Stored.NearInterval = 1000, time.Minute, time.Second
		c.Stored.RequestsPerSecond = 1000
	})
	c.create(namedRun("one"))
	dir := c.blobs.Root() + "/flytesnacks/development/"
	require.NoError(t, c.blobs.WriteAll(t.Context(), dir+"large", make([]byte, 2000)))
	upload := func() error {
		_, err := c.engine.AdmitUpload(t.Context(), &enginev1.AdmitUploadRequest{Project: "flytesnacks", Arrived: 1})
		return err
	}
	_, err := c.pool.Exec(t.Context(), `UPDATE stored SET measured_at = measured_at - interval '1 hour'`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return connect.CodeOf(upload()) == connect.CodeResourceExhausted }, time.Minute, 50*time.Millisecond)
	_, err = c.runs.CreateRun(t.Context(), namedRun("two"))
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "and may have 1000 (runs.stored.projectBytes); delete data of the project")
	c.create(namedRun("one"))
	c.child("one", "a0", "c1")

	stored, err := c.engine.GetStored(t.Context(), &enginev1.GetStoredRequest{Project: "flytesnacks"})
	require.NoError(t, err)
	require.EqualValues(t, 1000, stored.GetMost())
	require.GreaterOrEqual(t, stored.GetUsed(), int64(2000))
	require.NotNil(t, stored.GetMeasuredAt())

	require.NoError(t, c.blobs.Delete(t.Context(), dir+"large"))
	require.Eventually(t, func() bool {
		_, err := c.runs.CreateRun(t.Context(), namedRun("two"))
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}
