package runs_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func TestARerunOnlyRemembersItsSource(t *testing.T) {
	c := failedRun(t)
	c.create(related("again", rerun, "source"))
	c.call("again", "a0", "good")
	require.Equal(t, queued, c.phase("again", "good"), "everything runs")
	require.Empty(t, c.children("again", "a0")["step"])
	relation := c.details("again", "a0").GetMetadata().GetRelation()
	require.Equal(t, "source", relation.GetRelatedTo().GetName())
	require.Equal(t, rerun, relation.GetRelationType())
	require.Nil(t, c.details("again", "good").GetMetadata().GetRelation())

	older := runOf("older-client")
	older.RunSpec = &task.RunSpec{RelatedTo: runID("source")}
	c.create(older)
	c.create(related("recovering", recover_, "source"))
	c.create(related("other", rerun, "again"))
	names := func(filters ...*common.Filter) (names []string) {
		response, err := c.runs.ListRuns(t.Context(), &workflow.ListRunsRequest{
			ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
			Request: &common.ListRequest{Filters: filters},
		})
		require.NoError(t, err)
		for _, run := range response.GetRuns() {
			names = append(names, run.GetAction().GetId().GetRun().GetName())
			if run.GetAction().GetId().GetRun().GetName() == "older-client" {
				require.Equal(t, rerun, run.GetAction().GetMetadata().GetRelation().GetRelationType())
			}
		}
		return names
	}
	equal := func(field, value string) *common.Filter {
		return &common.Filter{Function: common.Filter_EQUAL, Field: field, Values: []string{value}}
	}
	require.Equal(t, []string{"recovering", "older-client", "again"}, names(equal("related_to", "source")))
	require.Equal(t, []string{"recovering"}, names(equal("related_to", "source"), equal("relation_type", "recover")))
	require.Empty(t, names(equal("related_to", "nobody")))
}

func TestRelationsAreChecked(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(runOf("source"))
	for name, test := range map[string]struct {
		change func(*task.RunSpec)
		code   connect.Code
		says   string
	}{
		"unknown run":     {func(s *task.RunSpec) { s.Relation.RelatedTo.Name = "none" }, connect.CodeNotFound, "none"},
		"other project":   {func(s *task.RunSpec) { s.Relation.RelatedTo.Project = "elsewhere" }, connect.CodeInvalidArgument, "run_spec.relation.related_to"},
		"other domain":    {func(s *task.RunSpec) { s.Relation.RelatedTo.Domain = "production" }, connect.CodeInvalidArgument, "run_spec.relation.related_to"},
		"itself":          {func(s *task.RunSpec) { s.Relation.RelatedTo.Name = "new" }, connect.CodeInvalidArgument, "run_spec.relation.related_to.name"},
		"nobody":          {func(s *task.RunSpec) { s.Relation.RelatedTo.Name = "" }, connect.CodeInvalidArgument, "related_to.name"},
		"no type":         {func(s *task.RunSpec) { s.Relation.RelationType = 0 }, connect.CodeInvalidArgument, "relation_type"},
		"unknown type":    {func(s *task.RunSpec) { s.Relation.RelationType = 99 }, connect.CodeInvalidArgument, "relation_type"},
		"recover, no rel": {func(s *task.RunSpec) { s.Relation, s.Recover = nil, &task.Recover{} }, connect.CodeInvalidArgument, "run_spec.recover"},
		"recover, rerun":  {func(s *task.RunSpec) { s.Recover = &task.Recover{} }, connect.CodeInvalidArgument, "run_spec.recover"},
		"two sources":     {func(s *task.RunSpec) { s.RelatedTo = runID("other") }, connect.CodeInvalidArgument, "run_spec.related_to"},
		"older, unknown":  {func(s *task.RunSpec) { s.Relation, s.RelatedTo = nil, runID("none") }, connect.CodeNotFound, "none"},
		"no name to force": {func(s *task.RunSpec) {
			s.Relation.RelationType, s.Recover = recover_, &task.Recover{ForceRerunActions: []string{""}}
		}, connect.CodeInvalidArgument, "force_rerun_actions"},
		"two equal sources": {func(s *task.RunSpec) { s.RelatedTo = runID("source") }, 0, ""},
		"short source": {func(s *task.RunSpec) {
			s.Relation.RelatedTo = &common.RunIdentifier{Org: "any", Project: "flytesnacks", Domain: "development", Name: "source"}
		}, 0, ""},
		"recover of an unfinished run": {func(s *task.RunSpec) { s.Relation.RelationType = recover_ }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			request := related("new", rerun, "source")
			if test.code == 0 {
				request = related(fmt.Sprintf("ok%d", len(name)), rerun, "source")
			}
			test.change(request.GetRunSpec())
			_, err := c.runs.CreateRun(t.Context(), request)
			if test.code == 0 {
				require.NoError(t, err)
				return
			}
			refused(t, err, test.code, test.says)
		})
	}
	t.Run("a spawned run goes ahead without its parent", func(t *testing.T) {
		c.create(related("spawned", common.RelationType_RELATION_TYPE_SPAWN, "elsewhere"))
		require.Nil(t, c.details("spawned", "a0").GetMetadata().GetRelation())
		c.create(related("spawned2", common.RelationType_RELATION_TYPE_SPAWN, "source"))
		require.Equal(t, "source", c.details("spawned2", "a0").GetMetadata().GetRelation().GetRelatedTo().GetName())
	})
}
