package launch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// A request is refused before its inputs are written, since no one would delete them.
func TestRefusedRunLeavesNoInputs(t *testing.T) {
	labelled := func(value string) *task.RunSpec {
		return &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"flyte.org/priority": value}}}
	}
	for name, tc := range map[string]struct {
		change func(*workflow.CreateRunRequest, *world)
		kind   rpc.Kind
		text   string
	}{
		"unknown queue": {func(r *workflow.CreateRunRequest, _ *world) { r.RunSpec = &task.RunSpec{Queue: "none"} }, rpc.KindInvalidArgument, "run_spec.queue"},
		"queue of another project": {
			func(r *workflow.CreateRunRequest, _ *world) { r.RunSpec = &task.RunSpec{Queue: "closed"} }, rpc.KindInvalidArgument, "run_spec.queue",
		},
		"priority":     {func(r *workflow.CreateRunRequest, _ *world) { r.RunSpec = labelled("101") }, rpc.KindInvalidArgument, "flyte.org/priority"},
		"concurrency":  {func(r *workflow.CreateRunRequest, _ *world) { r.RunSpec = &task.RunSpec{MaxActionConcurrency: 1} }, rpc.KindInvalidArgument, "max_action_concurrency"},
		"base outside": {func(r *workflow.CreateRunRequest, _ *world) { r.RunSpec = &task.RunSpec{RunBaseDir: "/etc"} }, rpc.KindInvalidArgument, "run_base_dir"},
		"archived":     {func(_ *workflow.CreateRunRequest, w *world) { w.archived = errArchived }, rpc.KindFailedPrecondition, "archived"},
		"name":         {func(r *workflow.CreateRunRequest, _ *world) { r.GetRunId().Name = "Run" }, rpc.KindInvalidArgument, "run_id.name"},
		"inputs": {func(r *workflow.CreateRunRequest, _ *world) {
			r.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{Context: []*core.KeyValuePair{{Key: strings.Repeat("k", 2<<10)}}}}
		}, rpc.KindInvalidArgument, "too large"},
		"pod": {
			func(_ *workflow.CreateRunRequest, w *world) {
				w.refusal = [2]string{"task_template.k8s_pod.pod_spec", "privileged"}
			},
			rpc.KindInvalidArgument, "task_spec.task_template.k8s_pod.pod_spec: privileged",
		},
		"account": {
			func(_ *workflow.CreateRunRequest, w *world) {
				w.refusal = [2]string{"run_spec.security_context", "admin"}
			},
			rpc.KindInvalidArgument, "run_spec.security_context: admin",
		},
		"variable of a run": {func(r *workflow.CreateRunRequest, _ *world) {
			r.RunSpec = &task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{{Key: "A"}, {Key: "a=b"}}}}
		}, rpc.KindInvalidArgument, `run_spec.envs.values[1].key: "a=b" is not a valid environment variable name`},
		"label of a run": {func(r *workflow.CreateRunRequest, _ *world) {
			r.RunSpec = &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"team": "not a value"}}}
		}, rpc.KindInvalidArgument, `run_spec.labels.values["team"]: "not a value" is not a valid label value`},
		"annotation of a run": {func(r *workflow.CreateRunRequest, _ *world) {
			r.RunSpec = &task.RunSpec{Annotations: &task.Annotations{Values: map[string]string{"a b": "x"}}}
		}, rpc.KindInvalidArgument, "run_spec.annotations.values: "},
		"annotations of a run": {func(r *workflow.CreateRunRequest, _ *world) {
			r.RunSpec = &task.RunSpec{Annotations: &task.Annotations{Values: map[string]string{"note": strings.Repeat("x", 262_144)}}}
		}, rpc.KindInvalidArgument, "run_spec.annotations: the annotations of a pod have at most"},
		"variable of a task": {func(r *workflow.CreateRunRequest, _ *world) {
			r.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: taskSpec(withVariable("é", "x"))}
		}, rpc.KindInvalidArgument, "task_spec.task_template.container.env[0].key: "},
		"size of a task": {func(r *workflow.CreateRunRequest, _ *world) {
			r.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: taskSpec(withVariable("A", strings.Repeat("x", 1600<<10)))}
		}, rpc.KindInvalidArgument, "task_spec.task_template: the objects of Kubernetes"},
		"source of a rerun": {func(r *workflow.CreateRunRequest, _ *world) {
			r.RunSpec = &task.RunSpec{Relation: &common.Relation{
				RelatedTo: &common.RunIdentifier{Name: "gone"}, RelationType: common.RelationType_RELATION_TYPE_RERUN,
			}}
		}, rpc.KindNotFound, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := request("r", nil)
			tc.change(r, w)
			_, err := w.parts(queues.Queue{Name: "gpu"}, queues.Queue{Name: "closed", Projects: []string{"other"}}).Creator.CreateRun(t.Context(), r)
			require.Equal(t, tc.kind, rpc.KindOf(err), "%v", err)
			require.ErrorContains(t, err, tc.text)
			require.Empty(t, w.objects)
			require.Empty(t, w.runs)
		})
	}
}

func withVariable(name, value string) func(*core.TaskTemplate) {
	return func(t *core.TaskTemplate) {
		t.Target = &core.TaskTemplate_Container{Container: &core.Container{Env: []*core.KeyValuePair{{Key: name, Value: value}}}}
	}
}

func TestCreateRunReadsTheProjectOnce(t *testing.T) {
	w := newWorld()
	_, err := w.parts().Creator.CreateRun(t.Context(), request("r", nil))
	require.NoError(t, err)
	require.Equal(t, 1, w.looked)
	require.Len(t, w.objects, 1)
	require.Len(t, w.runs, 1)
	require.Contains(t, w.objects, w.runs[0].Root.InputURI+"/inputs.pb")
}

func TestCallsAreInFlightUntilTheirAnswer(t *testing.T) {
	w := newWorld()
	_, err := w.parts().Creator.CreateRun(t.Context(), request("r", nil))
	require.NoError(t, err)
	require.Equal(t, []int{1}, w.during)
	_, err = w.parts().Creator.CreateRun(t.Context(), request("R", nil))
	require.Error(t, err)
	require.Zero(t, w.inFlight)
}

func TestSettingsCompleteTheRunSpec(t *testing.T) {
	w := newWorld()
	w.settings = &settingspb.Settings{Run: &settingspb.RunSettings{
		DefaultQueue: &settingspb.StringSetting{State: settingspb.SettingState_SETTING_STATE_VALUE, StringValue: "gpu"},
	}}
	for name, tc := range map[string]struct{ requested, want string }{"default": {"", "gpu"}, "own": {"cpu", "cpu"}} {
		t.Run(name, func(t *testing.T) {
			w.runs = nil
			given := request("r", &task.RunSpec{Queue: tc.requested})
			_, err := w.parts(queues.Queue{Name: "gpu"}, queues.Queue{Name: "cpu"}).Creator.CreateRun(t.Context(), given)
			require.NoError(t, err)
			require.Equal(t, tc.requested, given.GetRunSpec().GetQueue(), "the request is left as it is")
			require.Equal(t, tc.want, w.runs[0].Root.Queue)
			var stored task.RunSpec
			require.Equal(t, schema.SpecRun, w.runs[0].Specs[1].Kind)
			require.NoError(t, proto.Unmarshal(w.runs[0].Specs[1].Body, &stored))
			require.Equal(t, tc.want, stored.GetQueue())
		})
	}
}

func TestRunGetsAName(t *testing.T) {
	w := newWorld()
	r := request("", nil)
	r.Id = &workflow.CreateRunRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "p", Domain: "d"}}
	response, err := w.parts().Creator.CreateRun(t.Context(), r)
	require.NoError(t, err)
	require.Regexp(t, `^r[bcdfghjklmnpqrstvwxz2456789]{19}$`, response.GetRun().GetAction().GetId().GetRun().GetName())
}
