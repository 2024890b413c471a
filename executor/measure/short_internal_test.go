package measure

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startedSummary is what a kubelet says of a pod with one container that started at a time.
func startedSummary(uid string, started, at time.Time, coreNanos, memory uint64) string {
	begin, _ := json.Marshal(started)
	stamp, _ := json.Marshal(at)
	return fmt.Sprintf(`{"pods":[{"podRef":{"name":"p","namespace":"ns","uid":%q},"containers":[{"name":"main","startTime":%s,
		"cpu":{"time":%[3]s,"usageNanoCores":1,"usageCoreNanoSeconds":%[4]d},"memory":{"time":%[3]s,"workingSetBytes":%[5]d}}]}]}`, uid, begin, stamp, coreNanos, memory)
}

// TestAShortAttemptIsMeasured: an attempt that starts and ends between two rounds over all nodes has its mean and its peak, for two reports
// and three readings of its own node. Those that run already cause none.
func TestAShortAttemptIsMeasured(t *testing.T) {
	f := newFixture(t)
	idle := Pod{Namespace: "ns", Name: "idle", UID: "u0", Node: "n1", Attempt: Attempt{UID: 1, Number: 1}}
	short := Pod{Namespace: "ns", Name: "short", UID: "u1", Node: "n2", Attempt: Attempt{UID: 7, Number: 1}}
	f.running = []Pod{idle}
	f.summaries["n1"] = startedSummary("u0", f.clock.Now().Add(-time.Hour), f.clock.Now(), 100e9, 1)
	f.meter.round(t.Context())
	require.Len(t, f.calls, 1)
	require.Nil(t, f.calls[0].GetUsages()[0].GetSince(), "who knows what measured it before")

	started := f.clock.Now()
	f.running = []Pod{idle, short}
	for second := range 12 {
		age := time.Duration(second) * time.Second
		f.change(func() {
			f.summaries["n2"] = startedSummary("u1", started, f.clock.Now(), uint64(age)/2, uint64(second)<<20)
		})
		if second == 11 {
			f.running = []Pod{idle}
		}
		f.meter.round(t.Context())
		f.clock.Step(time.Second)
	}
	require.Equal(t, 1, f.count("/api/v1/nodes/n1/proxy/stats/summary"), "the node without news is read every interval")
	require.Equal(t, 3, f.count("/api/v1/nodes/n2/proxy/stats/summary"), "after 2, 4 and 8 s")
	require.Len(t, f.calls, 3, "the first measurement at once, and the rest when it ended")
	first, last := f.calls[1].GetUsages()[0], f.calls[2].GetUsages()[0]
	require.Equal(t, started, first.GetSince().AsTime())
	require.EqualValues(t, 500, first.GetPoints()[0].GetUsed().GetCpuMilli(), "since it started, not as the kubelet says of the last seconds")
	require.Nil(t, last.GetSince())
	require.Len(t, last.GetPoints(), 2)
	require.Equal(t, 8*time.Second, last.GetPoints()[1].GetAt().AsTime().Sub(started))
	require.EqualValues(t, 500, last.GetPoints()[1].GetUsed().GetCpuMilli())
	require.EqualValues(t, 8<<20, last.GetPoints()[1].GetUsed().GetMemoryBytes())
	require.NotContains(t, f.meter.ages, short.Attempt)
}

// TestOneThatRunsOnIsReadNoMore: after its first interval an attempt is measured with all others.
func TestOneThatRunsOnIsReadNoMore(t *testing.T) {
	f := newFixture(t)
	f.meter.round(t.Context())
	f.running = []Pod{{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 1}}}
	const minutes = 10
	for range minutes * 60 {
		f.clock.Step(time.Second)
		f.change(func() {
			f.summaries["n1"] = startedSummary("u1", f.clock.Now().Add(-time.Second), f.clock.Now(), 1e9, 1)
		})
		f.meter.round(t.Context())
	}
	require.Equal(t, minutes*4+3, f.count("/api/v1/nodes/n1/proxy/stats/summary"))
	require.Len(t, f.calls, 1+minutes-1, "the first at once, then each minute")
}

// TestTheMetricsAPIIsReadEveryIntervalOnly: it has all pods in one answer. Its first answer about a pod counts for its window.
func TestTheMetricsAPIIsReadEveryIntervalOnly(t *testing.T) {
	f := newFixture(t)
	f.forbidden, f.metrics = true, `{"items":[]}`
	f.running = []Pod{{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 1}}}
	f.round(t)
	f.running[0].UID, f.running[0].Attempt.UID = "u2", 8
	for range 15 {
		f.meter.round(t.Context())
		f.clock.Step(time.Second)
	}
	require.Equal(t, 2, f.count("/apis/metrics.k8s.io/v1beta1/pods"))
	f.metrics = `{"items":[{"metadata":{"name":"p","namespace":"ns"},"timestamp":"2026-07-01T00:00:29Z","window":"11.5s",
		"containers":[{"name":"main","usage":{"cpu":"250m","memory":"64Mi"}}]}]}`
	f.meter.round(t.Context())
	require.Len(t, f.calls, 1)
	require.Equal(t, "00:00:17.5", f.calls[0].GetUsages()[0].GetSince().AsTime().Format("15:04:05.9"))
	require.EqualValues(t, 250, f.calls[0].GetUsages()[0].GetPoints()[0].GetUsed().GetCpuMilli())
}

// TestAPodWithoutNewsCountsAsBefore: the kubelets of an attempt measure at times of their own, and its point is the sum all the same.
func TestAPodWithoutNewsCountsAsBefore(t *testing.T) {
	f := newFixture(t)
	f.meter.round(t.Context())
	f.running = []Pod{
		{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 1}},
		{Namespace: "ns", Name: "q", UID: "u2", Node: "n2", Attempt: Attempt{UID: 7, Number: 1}},
	}
	started := f.clock.Now()
	f.meter.round(t.Context())
	f.clock.Step(2 * time.Second)
	f.summaries["n1"] = startedSummary("u1", started, f.clock.Now(), 1e9, 100)
	f.summaries["n2"] = startedSummary("u2", started, f.clock.Now(), 2e9, 20)
	f.meter.round(t.Context())
	f.clock.Step(2 * time.Second)
	f.change(func() { f.summaries["n1"] = startedSummary("u1", started, f.clock.Now(), 2e9, 300) })
	f.meter.round(t.Context())
	f.running = nil
	f.meter.round(t.Context())
	require.Len(t, f.calls, 2)
	used := f.calls[1].GetUsages()[0].GetPoints()[0].GetUsed()
	require.EqualValues(t, 320, used.GetMemoryBytes())
	require.EqualValues(t, 1500, used.GetCpuMilli())
}
