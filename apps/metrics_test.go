package apps_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/apps"
	"github.com/flyte-binary/flyte-binary/internal/obs/metrictest"
)

func TestMetrics(t *testing.T) {
	f := newFixture(t, func(c *apps.Config) { c.ScaledownPeriod, c.SilentAfter = time.Minute, 24*time.Hour })
	d := f.deployer("", false)
	f.create(command("web"))
	f.create(command("new"))
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))
	f.update(command("web", "A", "1"))
	d.eventually("web", "1:1 2:1 →1")
	d.report("web", replicas(1, 1, true), failing(2, "no such image"))

	figures := metrictest.Read(t, f.reader)
	require.EqualValues(t, 1, figures["flyte.apps.rollouts reason= result=serving"])
	require.EqualValues(t, 1, figures["flyte.apps.rollouts reason=image_pull_error result=failed"])
	require.EqualValues(t, 1, figures["flyte.apps.rollout.duration"])
	require.EqualValues(t, 1, figures["flyte.apps.count cluster=default status=pending"])
	require.Contains(t, figures, "flyte.apps.log.streams")

	d.report("web", replicas(1, 1, true))
	f.pass(time.Second)
	f.pass(2 * time.Minute)
	d.eventually("web", "1:0 →1")
	require.EqualValues(t, 1, metrictest.Read(t, f.reader)["flyte.apps.scalings direction=to_zero"])

	// Replicas of web may have come and gone before it was scaled down, with logs that are due.
	deletions := func() float64 {
		require.NoError(t, f.service.DeleteLogs(t.Context()))
		return metrictest.Read(t, f.reader)["flyte.apps.log.deletions result=ok"]
	}
	before := deletions()
	f.deleteApp("new")
	require.InDelta(t, before+1, deletions(), 0)
}
