package triggers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers"
)

// onArtifact waits for versions of an artifact with some partitions, and passes them as x.
func onArtifact(name string, partitions ...string) *task.TriggerAutomationSpec {
	wanted := &task.ArtifactTrigger{ArtifactName: name, InputArg: "x", PartitionInputArgs: map[string]string{"at": "date"}}
	for i := 0; i+1 < len(partitions); i += 2 {
		if wanted.Partitions == nil {
			wanted.Partitions = map[string]string{}
		}
		wanted.Partitions[partitions[i]] = partitions[i+1]
	}
	return &task.TriggerAutomationSpec{
		Type: task.TriggerAutomationSpecType_TYPE_ARTIFACT, Automation: &task.TriggerAutomationSpec_Artifact{Artifact: wanted},
	}
}

var day = time.Date(2026, 5, 17, 0, 0, 0, 0, time.UTC)

func artifactNamed(name string) *artifact.ArtifactName {
	return &artifact.ArtifactName{Project: projectID, Domain: domainID, Name: name}
}

// versionOf is a version with a value, the partition date and others.
func versionOf(name, version string, value int64, partitions ...string) *artifact.CreateArtifactRequest {
	r := &artifact.CreateArtifactRequest{
		ArtifactId: &artifact.ArtifactIdentifier{Name: artifactNamed(name), Version: version},
		Spec: &artifact.ArtifactSpec{
			Value: number("", value).GetValue(), Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}},
			TimePartition: &core.TimePartition{
				Key: "date", Granularity: core.Granularity_DAY, Value: &core.LabelValue{Value: &core.LabelValue_TimeValue{TimeValue: timestamppb.New(day)}},
			},
			Partitions: &core.Partitions{Value: map[string]*core.LabelValue{}},
		},
	}
	for i := 0; i+1 < len(partitions); i += 2 {
		r.GetSpec().GetPartitions().Value[partitions[i]] = &core.LabelValue{Value: &core.LabelValue_StaticValue{StaticValue: partitions[i+1]}}
	}
	return r
}

func (f *fixture) create(r *artifact.CreateArtifactRequest, change func(*artifact.ArtifactSpec)) *artifact.Artifact {
	f.t.Helper()
	if change != nil {
		change(r.GetSpec())
	}
	response, err := f.artifacts.CreateArtifact(f.t.Context(), r)
	require.NoError(f.t, err)
	return response.GetArtifact()
}

func (f *fixture) publish(name, version string, value int64, partitions ...string) *artifact.Artifact {
	f.t.Helper()
	return f.create(versionOf(name, version, value, partitions...), nil)
}

// fired waits until the versions that a trigger has fired for are these, oldest first, and returns them.
func (f *fixture) fired(of string, want ...string) []*insightv1.Slot {
	f.t.Helper()
	var slots []*insightv1.Slot
	require.Eventually(f.t, func() bool {
		_, slots = f.started(of)
		return len(slots) >= len(want)
	}, 10*time.Second, 5*time.Millisecond, "want %v", want)
	var got []string
	for _, slot := range slots {
		got = append(got, slot.GetArtifact().GetKey().GetName()+"@"+slot.GetArtifact().GetVersion())
	}
	require.Equal(f.t, want, got)
	return slots
}

// drained waits until every version is picked up.
func (f *fixture) drained() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		var left int
		require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `SELECT count(*) FROM artifact_events`).Scan(&left))
		return left == 0
	}, 10*time.Second, 5*time.Millisecond, "all versions are taken up")
}

func (f *fixture) as(subject string) context.Context {
	return authz.WithIdentity(f.t.Context(), authz.Identity{Kind: authz.User, Subject: subject, Name: subject})
}

// TestAVersionOfAnotherTenantFiresNothing: it has the name of the artifact that a trigger waits for, in another project or domain.
func TestAVersionOfAnotherTenantFiresNothing(t *testing.T) {
	f := newFixture(t, nil)
	_, err := f.tasks.DeployTask(f.as("ada"), deploy("v1", triggered("on_m", onArtifact("m", "region", "us"))))
	require.NoError(t, err)
	f.start(f.replica(nil))
	projects := projectconnect.NewProjectServiceClient(rpc.InProcess(f.mux), rpc.InProcessURL)
	_, err = projects.CreateProject(t.Context(), &project.CreateProjectRequest{Project: &project.Project{Id: "theirs"}})
	require.NoError(t, err)
	for _, place := range []struct{ project, domain string }{{"theirs", domainID}, {projectID, "production"}} {
		theirs := versionOf("m", "1", 44, "region", "us")
		theirs.GetArtifactId().Name = &artifact.ArtifactName{Project: place.project, Domain: place.domain, Name: "m"}
		f.create(theirs, nil)
	}
	f.publish("m", "2", 45, "region", "us")
	f.fired("on_m", "m@2")
	f.drained()
	require.Len(t, f.allRuns(), 1)
}

func TestRunOfAVersion(t *testing.T) {
	f := newFixture(t, nil)
	_, err := f.tasks.DeployTask(f.as("ada"), deploy("v1", triggered("on_m", onArtifact("m", "region", "us"))))
	require.NoError(t, err)
	f.start(f.replica(nil))
	created := f.publish("m", "1", 44, "region", "us")
	f.publish("m", "2", 45, "region", "eu")
	f.publish("other", "1", 46, "region", "us")
	slots := f.fired("on_m", "m@1")
	f.drained()
	require.Len(t, f.allRuns(), 1)

	run := slots[0].GetRunId()
	require.Equal(t, created.GetCreatedAt().AsTime(), slots[0].GetTime().AsTime())
	require.Equal(t, created.GetCreatedAt().AsTime(), f.startTime(run.GetName()))
	metadata := f.details(run.GetName()).GetMetadata()
	require.Equal(t, workflow.RunSource_RUN_SOURCE_ARTIFACT_TRIGGER, metadata.GetSource())
	require.Equal(t, "on_m", metadata.GetTriggerId().GetName().GetName())
	require.Equal(t, "m", metadata.GetTriggerType().GetArtifact().GetArtifactName())
	require.Equal(t, "m", f.allRuns()[0].GetAction().GetMetadata().GetTriggerType().GetArtifact().GetArtifactName())
	require.Equal(t, "ada", metadata.GetExecutedBy().GetUser().GetId().GetSubject())
	inputs := map[string]*core.Literal{}
	for _, literal := range f.inputs(run.GetName()).GetLiterals() {
		inputs[literal.GetName()] = literal.GetValue()
	}
	require.Len(t, inputs, 2)
	require.Equal(t, int64(44), inputs["x"].GetScalar().GetPrimitive().GetInteger())
	require.Equal(t, "1", inputs["x"].GetArtifactId().GetVersion())
	require.Equal(t, day, inputs["at"].GetScalar().GetPrimitive().GetDatetime().AsTime())

	graph, err := f.lineage.GetLineage(t.Context(), &insightv1.GetLineageRequest{ArtifactId: created.GetArtifactId()})
	require.NoError(t, err)
	require.Contains(t, graph.String(), run.GetName(), "the lineage knows that the run used the version")

	explained := f.explain("on_m")
	require.Equal(t, "each new version of artifact m with region=us", explained.GetSchedule())
	require.Empty(t, explained.GetReason())
	require.Len(t, explained.GetIgnored(), 1)
	require.Equal(t, "2", explained.GetIgnored()[0].GetArtifact().GetVersion())
	require.Equal(t, "its partition region is eu, and the trigger waits for us", explained.GetIgnored()[0].GetReason())
	require.NotNil(t, f.get("on_m").GetStatus().GetTriggeredAt())
}

// I9: a version has one run for each trigger that waited, whatever is repeated, and however many replicas schedule.
func TestEachVersionFiresOnce(t *testing.T) {
	f := newFixture(t, func(c *triggers.Config) { c.Poll = 200 * time.Millisecond })
	quick := func(c *triggers.Config) { c.Poll, c.RetryMax = 200*time.Millisecond, time.Second }
	f.deploy("v1", triggered("a", onArtifact("m")), triggered("b", onArtifact("m")), triggered("us", onArtifact("m", "region", "us")))
	f.lost.Store(true)
	f.forget.Store(true) // the process dies each time before it removes an event
	var want, us []string
	for i := range 8 {
		region := []string{"us", "eu"}[i%2]
		version := fmt.Sprint(i)
		f.publish("m", version, 1, "region", region)
		want = append(want, "m@"+version)
		if region == "us" {
			us = append(us, "m@"+version)
		}
		stop := f.start(f.replica(quick))
		beside := f.start(f.replica(quick))
		_, err := f.pool.Exec(t.Context(), `DELETE FROM trigger_leases`) // the holder does not know
		require.NoError(t, err)
		if i%3 == 0 {
			f.deploy(fmt.Sprintf("v%d", i+2), triggered("a", onArtifact("m")), triggered("b", onArtifact("m")), triggered("us", onArtifact("m", "region", "us")))
		}
		require.Eventually(t, func() bool {
			f.clock.Step(100 * time.Millisecond)
			_, a := f.started("a")
			_, b := f.started("b")
			return len(a) == len(want) && len(b) == len(want)
		}, 20*time.Second, 5*time.Millisecond)
		stop()
		beside()
	}
	f.lost.Store(false)
	f.forget.Store(false)
	f.start(f.replica(quick))
	require.Eventually(t, func() bool {
		f.clock.Step(100 * time.Millisecond)
		_, of := f.started("us")
		return len(of) == len(us)
	}, 20*time.Second, 5*time.Millisecond)
	f.drained()
	f.fired("a", want...)
	f.fired("b", want...)
	f.fired("us", us...)
	var runs int
	require.NoError(t, f.pool.QueryRow(t.Context(), `SELECT count(*) FROM actions WHERE parent_name IS NULL`).Scan(&runs))
	require.Equal(t, 2*len(want)+len(us), runs)
}

// The scheduler may die between any two of its steps: what it did is done again.
func TestStepsOfAVersionCanBeRepeated(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("on_m", onArtifact("m")))
	f.publish("m", "1", 1)
	stop := f.start(f.replica(nil))
	f.fired("on_m", "m@1")
	stop()

	// It died after the run was created, and before that was recorded.
	_, err := f.pool.Exec(t.Context(), `UPDATE trigger_fires SET state = 1, retry_at = recorded_at, settled_at = NULL`)
	require.NoError(t, err)
	f.deploy("v2", triggered("on_m", onArtifact("m")))
	stop = f.start(f.replica(nil))
	f.fired("on_m", "m@1")
	stop()

	// The same, and the version was deleted meanwhile.
	_, err = f.pool.Exec(t.Context(), `UPDATE trigger_fires SET state = 1, retry_at = recorded_at, settled_at = NULL`)
	require.NoError(t, err)
	_, err = f.pool.Exec(t.Context(), `UPDATE artifact_versions SET version = 'gone'`)
	require.NoError(t, err)
	stop = f.start(f.replica(nil))
	f.fired("on_m", "m@1")
	stop()
	_, err = f.pool.Exec(t.Context(), `UPDATE artifact_versions SET version = '1'`)
	require.NoError(t, err)

	// It died after the fire was recorded, and before the event was removed; the history is forgotten since.
	_, err = f.pool.Exec(t.Context(), `INSERT INTO artifact_events (version_id, created_at, seq) OVERRIDING SYSTEM VALUE SELECT id, created_at, 1 FROM artifact_versions`)
	require.NoError(t, err)
	_, err = f.pool.Exec(t.Context(), `DELETE FROM trigger_fires`)
	require.NoError(t, err)
	f.start(f.replica(nil))
	f.fired("on_m", "m@1")
	f.drained()
	require.Len(t, f.allRuns(), 1)
}

// What a version fires depends on when it was created, not on when the scheduler sees it.
func TestAVersionFiresTheTriggersThatWaited(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1")
	f.publish("m", "before", 1)
	with := func(of string) *task.TaskTrigger { return triggered(of, onArtifact("m")) }
	f.deploy("v1", with("paused"), with("deleted"), with("changed"), with("moved"), with("stays"))
	f.clock.Step(-time.Hour) // no clock decides
	f.publish("m", "1", 1)
	require.NoError(t, f.switchTo(false, "paused"))
	f.deploy("v2", with("paused"), triggered("changed", onCron("0 0 1 1 *", "UTC")), triggered("moved", onArtifact("n")), with("stays"))
	f.publish("m", "2", 2)
	f.publish("n", "1", 3)
	require.NoError(t, f.switchTo(true, "paused"))
	f.publish("m", "3", 4)
	f.start(f.replica(nil))
	f.drained()
	f.fired("paused", "m@1", "m@3")
	f.fired("deleted", "m@1")
	f.fired("changed", "m@1")
	f.fired("moved", "n@1", "m@1") // by their times
	slots := f.fired("stays", "m@1", "m@2", "m@3")
	require.Equal(t, []uint64{1, 2, 2}, []uint64{slots[0].GetRevision(), slots[1].GetRevision(), slots[2].GetRevision()}, "the revision that waited")
	require.Len(t, f.allRuns(), 2+1+1+2+3)

	ignored := map[string]string{}
	for _, version := range f.explain("paused").GetIgnored() {
		ignored[version.GetArtifact().GetVersion()] = version.GetReason()
	}
	require.Len(t, ignored, 2)
	require.Contains(t, ignored["2"], "did not wait")
	require.Contains(t, ignored["before"], "before it was deployed or switched on")
	require.NoError(t, f.switchTo(false, "paused"))
	require.Contains(t, f.explain("paused").GetReason(), "disabled it")
}

func TestVersionsAndConcurrency(t *testing.T) {
	f := newFixture(t, nil)
	const key = "flyte.org/trigger-concurrency"
	f.deploy("v1", triggered("skip", onArtifact("m"), key, "skip"), triggered("replace", onArtifact("m"), key, "replace"))
	f.start(f.replica(nil))
	f.publish("m", "1", 1)
	f.fired("skip", "m@1")
	f.fired("replace", "m@1")
	f.publish("m", "2", 2)
	replaced := f.fired("replace", "m@1", "m@2")
	first := f.details(replaced[0].GetRunId().GetName())
	require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, first.GetStatus().GetPhase())
	require.Contains(t, first.GetAbortInfo().GetReason(), "replaced by the version m@2")
	require.Eventually(t, func() bool {
		return f.explain("skip").GetSlots()[0].GetState() == insightv1.SlotState_SLOT_STATE_SKIPPED
	}, 10*time.Second, 5*time.Millisecond)
	require.Contains(t, f.explain("skip").GetSlots()[0].GetReason(), "of the version m@1 is unfinished")
	require.Empty(t, f.explain("skip").GetIgnored())
}

// A trigger does not fire for what its own runs publish, through other triggers either.
func TestATriggerDoesNotFeedItself(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("on_m", onArtifact("m")), triggered("on_n", onArtifact("n")))
	f.start(f.replica(nil))
	source := func(run string) func(*artifact.ArtifactSpec) {
		return func(spec *artifact.ArtifactSpec) {
			spec.Source = &artifact.ArtifactSource{Source: &artifact.ArtifactSource_TaskAction{TaskAction: &artifact.TaskActionSource{
				Action: &common.ActionIdentifier{Run: &common.RunIdentifier{Project: projectID, Domain: domainID, Name: run}, Name: "a0"},
			}}}
		}
	}
	f.publish("m", "1", 1)
	first := f.fired("on_m", "m@1")[0].GetRunId().GetName()
	f.create(versionOf("m", "2", 2), source(first))
	f.create(versionOf("n", "1", 3), source(first))
	second := f.fired("on_n", "n@1")[0].GetRunId().GetName()
	relation := f.details(second).GetMetadata().GetRelation()
	require.Equal(t, common.RelationType_RELATION_TYPE_ON_ARTIFACT, relation.GetRelationType())
	require.Equal(t, first, relation.GetRelatedTo().GetName())
	f.create(versionOf("m", "3", 4), source(second))
	var slots []*insightv1.Slot
	require.Eventually(t, func() bool {
		slots = f.explain("on_m").GetSlots()
		return len(slots) == 3 && slots[0].GetState() == insightv1.SlotState_SLOT_STATE_SKIPPED && slots[1].GetState() == insightv1.SlotState_SLOT_STATE_SKIPPED
	}, 10*time.Second, 5*time.Millisecond)
	for _, slot := range slots[:2] {
		require.Contains(t, slot.GetReason(), "comes from run "+first+", which this trigger started")
	}
	require.Len(t, f.allRuns(), 2)
}

// A task that publishes without saying which run it is does not feed its trigger either, and it cannot name another run.
func TestTheRunOfATaskIsKnownByItsToken(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("on_m", onArtifact("m")))
	f.start(f.replica(nil))
	f.publish("m", "1", 1)
	run := f.fired("on_m", "m@1")[0].GetRunId().GetName()
	attempt := authz.WithIdentity(t.Context(), authz.Identity{
		Kind: authz.Task, Subject: run, Attempt: &authz.Attempt{Project: projectID, Domain: domainID, Run: run, Action: "a0", Number: 1},
	})
	claimed := versionOf("m", "2", 2)
	claimed.GetSpec().Source = &artifact.ArtifactSource{Source: &artifact.ArtifactSource_TaskAction{TaskAction: &artifact.TaskActionSource{
		Action: &common.ActionIdentifier{Run: &common.RunIdentifier{Project: projectID, Domain: domainID, Name: "another"}, Name: "a0"},
	}}}
	_, err := f.artifacts.CreateArtifact(attempt, claimed)
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "spec.source.task_action.action")
	_, err = f.artifacts.CreateArtifact(attempt, versionOf("m", "2", 2))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		slots := f.explain("on_m").GetSlots()
		return len(slots) == 2 && slots[0].GetState() == insightv1.SlotState_SLOT_STATE_SKIPPED
	}, 10*time.Second, 5*time.Millisecond)
	require.Contains(t, f.explain("on_m").GetSlots()[0].GetReason(), "comes from run "+run+", which this trigger started")
	require.Len(t, f.allRuns(), 1)
}

func TestAVersionThatCannotBePassedIsAReason(t *testing.T) {
	f := newFixture(t, nil)
	zone := triggered("zone", onArtifact("m"))
	zone.GetAutomationSpec().GetArtifact().PartitionInputArgs["at"] = "zone"
	f.deploy("v1", triggered("gone", onArtifact("m")), zone)
	f.publish("m", "1", 1)
	_, err := f.artifacts.DeleteArtifact(t.Context(), &artifact.DeleteArtifactRequest{ArtifactId: &artifact.ArtifactIdentifier{Name: artifactNamed("m"), Version: "1"}})
	require.NoError(t, err, "without its event, since nobody has seen the version")
	f.publish("m", "2", 1)
	f.outage.Store(true)
	stop := f.start(f.replica(nil))
	f.drained()
	stop()
	_, err = f.artifacts.DeleteArtifact(t.Context(), &artifact.DeleteArtifactRequest{ArtifactId: &artifact.ArtifactIdentifier{Name: artifactNamed("m"), Version: "2"}})
	require.NoError(t, err)
	f.clock.Step(time.Minute)
	f.publish("m", "2", 7)
	f.outage.Store(false)
	f.start(f.replica(nil))
	f.fired("gone", "m@2")
	reason := func(of string, at int) string {
		var slots []*insightv1.Slot
		require.Eventually(t, func() bool {
			slots = f.explain(of).GetSlots()
			return len(slots) > at && slots[at].GetState() == insightv1.SlotState_SLOT_STATE_FAILED
		}, 10*time.Second, 5*time.Millisecond)
		return slots[at].GetReason()
	}
	require.Contains(t, reason("gone", 1), "deleted and created again")
	require.Contains(t, reason("zone", 0), "version m@2 has no partition zone for input at")
	require.Len(t, f.allRuns(), 1)
}

// Inputs that the client has uploaded are kept, but for those that the version replaces.
func TestUploadedInputsOfAVersion(t *testing.T) {
	f := newFixture(t, nil)
	uri := f.blobs.Root() + "/uploads/" + projectID + "/" + domainID + "/of-a-trigger"
	body, err := proto.Marshal(&task.Inputs{
		Literals: []*task.NamedLiteral{number("x", 1)}, Context: []*core.KeyValuePair{{Key: "team", Value: "data"}},
	})
	require.NoError(t, err)
	require.NoError(t, f.blobs.WriteAll(t.Context(), blobpath.InputsPath(uri), body))
	automation := onArtifact("m")
	automation.GetArtifact().InputArg = ""
	given := triggered("on_m", automation)
	given.Spec.InputWrapper = &task.TaskTriggerSpec_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: uri + "/inputs.pb", InputsHash: "h"}}
	f.deploy("v1", given)
	f.start(f.replica(nil))
	f.publish("m", "1", 44)
	inputs := f.inputs(f.fired("on_m", "m@1")[0].GetRunId().GetName())
	require.Len(t, inputs.GetLiterals(), 2)
	require.Equal(t, "team", inputs.GetContext()[0].GetKey())
	for _, literal := range inputs.GetLiterals() {
		if literal.GetName() == "x" {
			require.Equal(t, int64(1), literal.GetValue().GetScalar().GetPrimitive().GetInteger())
		} else {
			require.Equal(t, day, literal.GetValue().GetScalar().GetPrimitive().GetDatetime().AsTime())
		}
	}
}

func TestInvalidArtifactTriggersStoreNothing(t *testing.T) {
	f := newFixture(t, nil)
	_, err := f.artifacts.DeclareArtifact(t.Context(), &artifact.DeclareArtifactRequest{
		Name: artifactNamed("declared"), PartitionSchema: &artifact.ArtifactPartitionSchema{
			PartitionKeys: []string{"region"}, TimePartition: &artifact.TimePartitionKey{Key: "date", Granularity: core.Granularity_DAY},
		},
	})
	require.NoError(t, err)
	const field = "triggers[1].automation_spec.artifact"
	for label, tc := range map[string]struct {
		change func(*task.TaskTrigger, *task.ArtifactTrigger)
		text   string
	}{
		"no artifact":   {func(tr *task.TaskTrigger, _ *task.ArtifactTrigger) { tr.GetAutomationSpec().Automation = nil }, field + ": is required"},
		"name":          {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) { a.ArtifactName = "a b" }, field + ".artifact_name"},
		"latest":        {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) { a.Version = "latest" }, field + ".version: no version is called latest"},
		"version":       {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) { a.Version = "a\x00" }, "version"},
		"partition key": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) { a.Partitions = map[string]string{"": "x"} }, field + ".partitions"},
		"input":         {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) { a.InputArg = "nope" }, field + `.input_arg: task env.main has no input "nope"`},
		"partition input": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) {
			a.PartitionInputArgs = map[string]string{"y": "date"}
		}, `has no input "y"`},
		"no partition": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) { a.PartitionInputArgs = map[string]string{"at": ""} }, "names a partition"},
		"twice": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) {
			a.PartitionInputArgs = map[string]string{"x": "date"}
		}, "is to be the artifact itself"},
		"type of partition": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) {
			a.InputArg, a.PartitionInputArgs = "", map[string]string{"x": "date"}
		}, "neither a datetime nor a string"},
		"declared keys": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) {
			a.ArtifactName, a.Partitions = "declared", map[string]string{"zone": "a"}
		}, field + `.partitions: there is no partition "zone": artifact declared was declared with the time "date", "region"`},
		"declared time": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) {
			a.ArtifactName, a.Partitions = "declared", map[string]string{"date": "2026-05-17"}
		}, `"date" is a time`},
		"declared inputs": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) {
			a.ArtifactName, a.PartitionInputArgs = "declared", map[string]string{"at": "zone"}
		}, `there is no partition "zone"`},
		"declared type": {func(_ *task.TaskTrigger, a *task.ArtifactTrigger) {
			a.ArtifactName, a.PartitionInputArgs = "declared", map[string]string{"at": "region"}
		}, `partition "region" is a text, and input "at" is a datetime`},
		"missing input": {func(tr *task.TaskTrigger, a *task.ArtifactTrigger) {
			a.InputArg, tr.Spec.GetInputs().Literals = "", nil
		}, `input "x" of task env.main has no value`},
		"catch-up": {func(tr *task.TaskTrigger, _ *task.ArtifactTrigger) {
			tr.GetSpec().GetRunSpec().GetAnnotations().Values["flyte.org/trigger-catch-up"] = "all"
		}, "is for schedules"},
		"other automation": {func(tr *task.TaskTrigger, _ *task.ArtifactTrigger) {
			tr.GetAutomationSpec().Automation = onCron("* * * * *", "").GetAutomation()
		}, field + ": is required"},
	} {
		t.Run(label, func(t *testing.T) {
			broken := triggered("t", onArtifact("m"))
			tc.change(broken, broken.GetAutomationSpec().GetArtifact())
			_, err := f.tasks.DeployTask(t.Context(), deploy("v1", triggered("good", byHand()), broken))
			refused(t, err, connect.CodeInvalidArgument, tc.text)
			require.Empty(t, f.list(nil))
		})
	}
	_, err = f.tasks.DeployTask(t.Context(), deploy("v1", triggered("good", onArtifact("declared", "region", "us"))))
	require.NoError(t, err)
}
