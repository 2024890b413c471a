package watch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

func groupsRequest(from time.Time) *workflow.WatchGroupsRequest {
	return &workflow.WatchGroupsRequest{
		ScopeBy:   &workflow.WatchGroupsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "p", Domain: "development"}},
		StartDate: timestamppb.New(from),
	}
}

func (f *fixture) groups(req *workflow.WatchGroupsRequest) *stream[*workflow.WatchGroupsResponse] {
	f.t.Helper()
	query, err := watch.ParseGroups(req, f.config.Groups)
	require.NoError(f.t, err)
	return follow(f.t, func(ctx context.Context, send func(*workflow.WatchGroupsResponse) error) error {
		return f.streams.Groups(ctx, query, send)
	})
}

func TestGroups(t *testing.T) {
	f := newFixture(t)
	began := f.clock.Now().Add(-time.Minute)
	a1 := f.taskRun("p", "development", "r1", "env.a", "v1")
	a2 := f.taskRun("p", "development", "r2", "env.a", "v2")
	f.taskRun("p", "development", "r3", "env.b", "v1")
	f.taskRun("p", "production", "r4", "env.a", "v1")
	a1.move("a0", running)
	a1.move("a0", succeeded)
	a2.apply(change{name: "a0", phase: failed, error: &core.ExecutionError{Kind: core.ExecutionError_USER}})

	s := f.groups(groupsRequest(began))
	first := s.count(1)[0]
	require.True(t, first.GetSentinel())
	require.Len(t, first.GetTaskGroups(), 2)
	require.Equal(t, "env.b", first.GetTaskGroups()[0].GetTaskName(), "the newest runs first")
	a := first.GetTaskGroups()[1]
	require.Equal(t, "a", a.GetShortName())
	require.EqualValues(t, 2, a.GetTotalRuns())
	require.InDelta(t, 0.5, a.GetAverageFailureRate(), 1e-9)
	require.EqualValues(t, 1, a.GetErrorCounts().GetUserError())
	require.Zero(t, a.GetErrorCounts().GetUnspecifiedError())
	require.Equal(t, []string{"r2", "r1"}, []string{a.GetRecentStatuses()[0].GetRunName(), a.GetRecentStatuses()[1].GetRunName()})
	require.Equal(t, failed, a.GetRecentStatuses()[0].GetPhase())
	require.Len(t, a.GetPhaseCounts(), 2)
	require.NotNil(t, a.GetLatestFinishedTime())
	require.NotNil(t, a.GetAverageDuration())
	require.NotNil(t, a.GetAverageTimeToRunning())

	f.taskRun("p", "development", "r5", "env.c", "v1").move("a0", running)
	all := s.until(func(all []*workflow.WatchGroupsResponse) bool {
		last := all[len(all)-1].GetTaskGroups()
		return len(last) == 1 && last[0].GetTaskName() == "env.c" && last[0].GetPhaseCounts()[0].GetPhase() == running
	}, "only the group that changed")
	require.False(t, all[len(all)-1].GetSentinel())
}

func TestGroupsOfAPeriodEndAtOnce(t *testing.T) {
	f := newFixture(t)
	f.taskRun("p", "development", "r1", "env.a", "v1")
	req := groupsRequest(f.clock.Now().Add(-time.Minute))
	req.EndDate = timestamppb.New(f.clock.Now().Add(time.Minute))
	s := f.groups(req)
	require.NoError(t, s.end())
	require.Len(t, s.all(), 1)
	require.Len(t, s.all()[0].GetTaskGroups(), 1)

	req.StartDate, req.EndDate = timestamppb.New(f.clock.Now().Add(-time.Hour)), timestamppb.New(f.clock.Now().Add(-time.Minute))
	s = f.groups(req)
	require.NoError(t, s.end())
	require.Empty(t, s.all()[0].GetTaskGroups())
	require.True(t, s.all()[0].GetSentinel(), "the sentinel comes even when there is nothing")
}

func TestGroupsRequests(t *testing.T) {
	now := time.Now()
	req := groupsRequest(now)
	req.EndDate = timestamppb.New(now.Add(-time.Second))
	_, err := watch.ParseGroups(req, 10)
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
	req = groupsRequest(now)
	req.Request = &common.ListRequest{Limit: 11}
	_, err = watch.ParseGroups(req, 10)
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))

	f := newFixture(t)
	req = groupsRequest(now)
	req.Request = &common.ListRequest{Filters: []*common.Filter{{Field: "nonsense", Values: []string{"1"}}}}
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(f.groups(req).end()))

	f.taskRun("p", "development", "r1", "env.a", "v1")
	f.taskRun("p", "development", "r2", "env.b", "v1")
	req = groupsRequest(now.Add(-time.Minute))
	req.Request = &common.ListRequest{Filters: []*common.Filter{{Field: "task_name", Values: []string{"env.b"}}}}
	groups := f.groups(req).count(1)[0].GetTaskGroups()
	require.Len(t, groups, 1)
	require.Equal(t, "env.b", groups[0].GetTaskName())
}
