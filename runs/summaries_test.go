package runs_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

var flytesnacks = &common.ProjectIdentifier{Organization: "flyte", Name: "flytesnacks", Domain: "development"}

func TestSummarizeRuns(t *testing.T) {
	p := &past{r: newReadFixture(t, nil), t: t}
	for i := range 10 {
		p.add(time.Hour, 5, ran(time.Duration(i+1)*time.Second))
	}
	p.add(time.Hour, 6, ran(time.Hour))
	p.add(time.Hour, 5, func(r *schema.Root) { r.CacheStatus = 2 })
	counted := func(seq int64, counts ...int32) func(*schema.Root) {
		return func(r *schema.Root) {
			began := r.CreatedAt.Add(time.Second)
			r.StartedAt = &began
			full := make([]int32, schema.Phases)
			copy(full, counts)
			r.RunName, r.LastSeq, r.CountedSeq, r.PhaseCounts = "mine", 41, &seq, full
		}
	}
	p.add(time.Minute, 4, counted(41, 0, 9, 0, 0, 2, 30, 1))
	p.add(time.Minute, 4, func(r *schema.Root) { counted(40, 0, 9)(r); r.RunName = "stale" })
	p.add(time.Minute, 4, func(r *schema.Root) { r.RunName, r.TaskName = "first", "env.other" })
	p.add(time.Minute, 5, func(r *schema.Root) { r.RunName, r.Domain = "mine", "staging" })

	answer, err := p.r.insight.SummarizeRuns(t.Context(), &insightv1.SummarizeRunsRequest{
		ProjectId: flytesnacks, Runs: []string{"mine", "stale", "first", "run1", "none"},
	})
	require.NoError(t, err)
	require.Len(t, answer.GetRuns(), 4)
	mine := answer.GetRuns()["mine"]
	counts := map[uint32]uint32{}
	for _, count := range mine.GetCounts() {
		counts[count.GetPhase()] = count.GetCount()
	}
	require.Equal(t, map[uint32]uint32{1: 9, 4: 2, 5: 30, 6: 1}, counts)
	require.EqualValues(t, 10, mine.GetUsual().GetRuns())
	require.Equal(t, 5*time.Second, mine.GetUsual().GetP50().AsDuration())
	require.Equal(t, 9*time.Second, mine.GetUsual().GetP90().AsDuration())
	require.Equal(t, p.r.clock.Now().Add(time.Second-time.Minute), mine.GetStartedAt().AsTime())
	require.Nil(t, answer.GetRuns()["first"].GetStartedAt())
	require.Empty(t, answer.GetRuns()["stale"].GetCounts())
	require.Nil(t, answer.GetRuns()["first"].GetUsual(), "no history")
	require.Nil(t, answer.GetRuns()["run1"].GetUsual(), "it has ended")

	_, err = p.r.insight.SummarizeRuns(t.Context(), &insightv1.SummarizeRunsRequest{})
	refused(t, err, connect.CodeInvalidArgument, "project_id")
	_, err = p.r.insight.SummarizeRuns(t.Context(), &insightv1.SummarizeRunsRequest{ProjectId: flytesnacks, Runs: make([]string, 201)})
	refused(t, err, connect.CodeInvalidArgument, "runs")
}

func TestFoldRuns(t *testing.T) {
	p := &past{r: newReadFixture(t, nil), t: t}
	of := func(name string) func(*schema.Root) {
		return func(r *schema.Root) { r.TriggerName, r.TriggerTaskName = name, "env.train" }
	}
	for i := range 3 {
		p.add(time.Duration(10-i)*time.Minute, 5, of("heartbeat"))
	}
	p.add(time.Minute, 6, of("nightly"))
	p.add(time.Minute, 5, nil)
	answer, err := p.r.insight.FoldRuns(t.Context(), &insightv1.FoldRunsRequest{ProjectId: flytesnacks})
	require.NoError(t, err)
	require.False(t, answer.GetIncomplete())
	require.Len(t, answer.GetFolds(), 2)
	heartbeat := answer.GetFolds()[1]
	require.Equal(t, "heartbeat", heartbeat.GetTrigger().GetName())
	require.Equal(t, "run3", heartbeat.GetLatest().GetAction().GetId().GetRun().GetName())
	require.Len(t, heartbeat.GetCounts(), 1)
	require.EqualValues(t, 3, heartbeat.GetCounts()[0].GetCount())

	answer, err = p.r.insight.FoldRuns(t.Context(), &insightv1.FoldRunsRequest{
		ProjectId: flytesnacks, Filters: []*common.Filter{{Function: common.Filter_EQUAL, Field: "phase", Values: []string{"6"}}},
	})
	require.NoError(t, err)
	require.Len(t, answer.GetFolds(), 1)
	require.Equal(t, "nightly", answer.GetFolds()[0].GetTrigger().GetName())

	answer, err = p.r.insight.FoldRuns(t.Context(), &insightv1.FoldRunsRequest{ProjectId: flytesnacks, Query: "phase:succeeded created>1h"})
	require.NoError(t, err)
	require.Len(t, answer.GetFolds(), 1)
	require.Equal(t, "heartbeat", answer.GetFolds()[0].GetTrigger().GetName())
	for _, wrong := range []string{"phase:faild", "shard:7", "not (shard:7)"} {
		_, err = p.r.insight.FoldRuns(t.Context(), &insightv1.FoldRunsRequest{ProjectId: flytesnacks, Query: wrong})
		refused(t, err, connect.CodeInvalidArgument, "query")
	}

	_, err = p.r.insight.FoldRuns(t.Context(), &insightv1.FoldRunsRequest{ProjectId: &common.ProjectIdentifier{Name: "p"}})
	refused(t, err, connect.CodeInvalidArgument, "domain")
	_, err = p.r.insight.FoldRuns(t.Context(), &insightv1.FoldRunsRequest{ProjectId: flytesnacks, Filters: []*common.Filter{{Field: "colour"}}})
	refused(t, err, connect.CodeInvalidArgument, "colour")
}
