package deployer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/internal/obs/metrictest"
)

func TestMetrics(t *testing.T) {
	f := newFixture(t)
	require.NotContains(t, metrictest.Read(t, f.reader), "flyte.deployer.replicas state=ready", "a process that does not lead has no gauges")
	f.fleet.want(hello("uid-1", revision(1, 2)), false)
	stop := f.start()
	f.awaitDeployments("1×2")
	f.replica(1, "one")
	f.replica(1, "two", func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
	require.Eventually(t, func() bool {
		figures := metrictest.Read(t, f.reader)
		return figures["flyte.deployer.replicas state=ready"] == 1 && figures["flyte.deployer.replicas state=starting"] == 1 &&
			figures["flyte.deployer.reports.pending"] == 0
	}, waitLimit, look)
	figures := metrictest.Read(t, f.reader)
	require.Positive(t, figures["flyte.deployer.syncs result=ok"])
	require.Positive(t, figures["flyte.deployer.reports result=ok"])
	require.Contains(t, figures, "flyte.deployer.stream.silence")

	f.fleet.breakStreams(true)
	f.replica(1, "three")
	require.Eventually(t, func() bool {
		figures := metrictest.Read(t, f.reader)
		return figures["flyte.deployer.reports result=error"] > 0 && figures["flyte.deployer.reports.pending"] == 1
	}, waitLimit, look)
	stop()
	require.NotContains(t, metrictest.Read(t, f.reader), "flyte.deployer.replicas state=ready")
}
