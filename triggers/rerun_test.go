package triggers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func idOf(run string) *common.RunIdentifier {
	return &common.RunIdentifier{Project: projectID, Domain: domainID, Name: run}
}

// spec is the run spec of a run, which clients copy.
func (f *fixture) spec(run string) *task.RunSpec {
	f.t.Helper()
	response, err := f.runs.GetRunDetails(f.t.Context(), &workflow.GetRunDetailsRequest{RunId: idOf(run)})
	require.NoError(f.t, err)
	return response.GetDetails().GetRunSpec()
}

// rerun does what the SDK does: it copies the run spec, and uploads the inputs under a hash that leaves out their context.
func (f *fixture) rerun(run, name string, relation common.RelationType) {
	f.t.Helper()
	body, err := proto.Marshal(f.inputs(run))
	require.NoError(f.t, err)
	uri := f.blobs.Root() + "/uploads/" + projectID + "/" + domainID + "/offloaded-inputs/same"
	require.NoError(f.t, f.blobs.WriteAll(f.t.Context(), uri+"/inputs.pb", body))
	spec := proto.CloneOf(f.spec(run))
	spec.Relation = &common.Relation{RelatedTo: idOf(run), RelationType: relation}
	_, err = f.runs.CreateRun(f.t.Context(), &workflow.CreateRunRequest{
		Id:           &workflow.CreateRunRequest_RunId{RunId: idOf(name)},
		Task:         &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{Project: projectID, Domain: domainID, Name: taskName, Version: "v1"}},
		InputWrapper: &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: uri, InputsHash: "same"}},
		RunSpec:      spec, RunStartTime: timestamppb.New(f.clock.Now()),
	})
	require.NoError(f.t, err)
}

func (f *fixture) cacheKey(run string) (key string) {
	f.t.Helper()
	require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `SELECT cache_key FROM actions WHERE run_name = $1 AND parent_name IS NULL`, run).Scan(&key))
	return key
}

// A rerun of yesterday's run must not use today's data.
func TestARerunOfASlotHasTheTimeOfTheSlot(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")), triggered("on_m", onArtifact("m")))
	f.start(f.replica(nil))
	f.step(30 * time.Second)
	f.eventually("minutely", "01 12:01:00")
	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00")
	f.clock.Step(10 * time.Second)
	_, slots := f.started("minutely")
	keys := map[string]bool{}
	for i, slot := range slots {
		source, want := slot.GetRunId().GetName(), slot.GetTime().AsTime()
		require.Equal(t, want, f.spec(source).GetRunStartTime().AsTime())
		for name, relation := range map[string]common.RelationType{
			"again": common.RelationType_RELATION_TYPE_RERUN, "recovered": common.RelationType_RELATION_TYPE_RECOVER,
		} {
			name += string(rune('a' + i))
			f.rerun(source, name, relation)
			require.Equal(t, want, f.startTime(name), "%s works on the time of its slot", name)
			f.rerun(name, name+"-once-more", common.RelationType_RELATION_TYPE_RERUN)
			require.Equal(t, want, f.startTime(name+"-once-more"))
			keys[f.cacheKey(name)] = true
			keys[f.cacheKey(name+"-once-more")] = true
		}
		require.True(t, keys[f.cacheKey("again"+string(rune('a'+i)))])
	}
	require.Len(t, keys, 2, "outputs of one slot are not those of the other, though the inputs were uploaded alike")
	require.NotContains(t, keys, "")
}

func TestAllRunsOfTriggersKeepTheirTime(t *testing.T) {
	f := newFixture(t, nil)
	minutely := triggered("minutely", onCron("* * * * *", "UTC"))
	minutely.GetSpec().GetRunSpec().RunStartTime = timestamppb.New(monday.Add(-24 * time.Hour)) // copied from a run
	f.deploy("v1", minutely, triggered("on_m", onArtifact("m")))
	f.start(f.replica(nil))
	version := f.publish("m", "1", 1)
	require.Equal(t, version.GetCreatedAt().AsTime(), f.spec(f.fired("on_m", "m@1")[0].GetRunId().GetName()).GetRunStartTime().AsTime())

	_, err := f.insight.Backfill(t.Context(), &insightv1.BackfillRequest{
		Name: name("minutely"), From: timestamppb.New(monday.Add(-90 * time.Second)), Until: timestamppb.New(monday.Add(-30 * time.Second)), Parallel: 1,
	})
	require.NoError(t, err)
	var slots []*insightv1.Slot
	require.Eventually(t, func() bool {
		f.clock.Step(100 * time.Millisecond)
		_, slots = f.started("minutely")
		return len(slots) > 0
	}, 30*time.Second, 10*time.Millisecond, "the slot of the past")
	require.Equal(t, time.Date(2026, 6, 1, 11, 59, 0, 0, time.UTC), slots[0].GetTime().AsTime())
	require.Equal(t, slots[0].GetTime().AsTime(), f.spec(slots[0].GetRunId().GetName()).GetRunStartTime().AsTime())

	_, err = f.runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: idOf("by-hand")}, Task: &workflow.CreateRunRequest_TriggerName{TriggerName: name("minutely")},
	})
	require.NoError(t, err)
	require.NotEqual(t, minutely.GetSpec().GetRunSpec().GetRunStartTime().AsTime(), f.startTime("by-hand"), "it is the time of the call")
	require.Equal(t, f.startTime("by-hand").UTC(), f.spec("by-hand").GetRunStartTime().AsTime())

	_, err = f.runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: idOf("plain")},
		Task: &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{Project: projectID, Domain: domainID, Name: taskName, Version: "v1"}},
	})
	require.NoError(t, err)
	require.Nil(t, f.spec("plain").GetRunStartTime(), "its rerun starts when it is created")
}
