package launch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/launch"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// history is a world with runs and tasks that were there before.
type history struct {
	*world
	storage  map[string]worklists.Storage // of the root of a run
	deployed map[string]*task.TaskSpec    // by project and name
	ran      map[string]*task.TaskSpec    // by run and action
}

func newHistory() *history {
	w := newWorld()
	w.context.RunOutputBase = "/data/p/d/r.aaaaaaaaaaaaaaaa/"
	return &history{world: w, storage: map[string]worklists.Storage{}, deployed: map[string]*task.TaskSpec{}, ran: map[string]*task.TaskSpec{}}
}

func (h *history) parts() launch.Parts {
	deps := h.deps()
	deps.Tasks, deps.Reader, deps.Storage = h, h, h
	return launch.New(config, deps)
}

func (h *history) Storage(_ context.Context, id ident.Action) (worklists.Storage, error) {
	if found, ok := h.storage[id.Run.Name]; ok {
		return found, nil
	}
	return worklists.Storage{}, rpc.NotFound("run %s does not exist", id.Run)
}

func (h *history) TaskDetails(_ context.Context, project, _, name, _ string) (*catalog.Task, []byte, error) {
	spec := h.deployed[project+"/"+name]
	if spec == nil {
		return nil, nil, rpc.NotFound("no task")
	}
	body, err := proto.Marshal(spec)
	return &catalog.Task{Project: project, Domain: "d", Name: name, Version: "v1"}, body, err
}

func (h *history) ActionRow(_ context.Context, id ident.Action) (*schema.Action, error) {
	if h.ran[id.Run.Name+"/"+id.Name] == nil {
		return nil, rpc.NotFound("no action")
	}
	return &schema.Action{SpecDigest: []byte(id.Run.Name + "/" + id.Name)}, nil
}

func (h *history) Spec(_ context.Context, digest []byte) ([]byte, error) {
	return proto.Marshal(h.ran[string(digest)])
}

func shipped(uri string) *task.TaskSpec {
	return taskSpec(func(template *core.TaskTemplate) {
		template.Target = &core.TaskTemplate_Container{Container: &core.Container{Args: []string{"a0", "--tgz", uri}}}
	})
}

func TestInputsOfOtherProjectsCannotBeNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		uri   string
		spec  *task.RunSpec
		legal bool
	}{
		"uploaded":                    {uri: "/data/uploads/p/d/offloaded-inputs/x", legal: true},
		"a file":                      {uri: "/data/uploads/p/d/offloaded-inputs/x/inputs.pb", legal: true},
		"of a run":                    {uri: "/data/p/d/other/a0/inputs.pb", legal: true},
		"below the base of the run":   {uri: "/data/_team/p/d/offloaded-inputs/x", spec: &task.RunSpec{RunBaseDir: "/data/_team"}, legal: true},
		"below a base of nobody":      {uri: "/data/_team/p/d/offloaded-inputs/x"},
		"uploaded to another project": {uri: "/data/uploads/q/d/offloaded-inputs/x"},
		"uploaded to another domain":  {uri: "/data/uploads/p/e/offloaded-inputs/x"},
		"of a run of another project": {uri: "/data/q/d/run/a0/inputs.pb"},
		"of another project below a base": {
			uri: "/data/_team/q/d/run/inputs", spec: &task.RunSpec{RunBaseDir: "/data/_team"},
		},
		"outside": {uri: "/etc"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			r := request("new", tc.spec)
			r.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: tc.uri}}
			_, err := h.parts().Creator.CreateRun(t.Context(), r)
			if tc.legal {
				require.NoError(t, err)
				require.Equal(t, tc.uri, h.runs[0].Root.InputURI)
				return
			}
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err), "%v", err)
			require.ErrorContains(t, err, "offloaded_input_data.uri")
			require.Empty(t, h.runs)
		})
	}
}

// A rerun may have the inputs of its source, wherever the source had them.
func TestARerunMayNameTheInputsOfItsSource(t *testing.T) {
	for uri, legal := range map[string]bool{
		"/data/archive/p/d/offloaded-inputs/x": true, "/data/archive/p/d/source/child/inputs.pb": true, "/data/elsewhere/inputs": true,
		"/data/elsewhere/more": false, "/data/archive/q/d/offloaded-inputs/x": false,
	} {
		h := newHistory()
		h.storage["source"] = worklists.Storage{RunOutputBase: "/data/archive/p/d/source/", InputURI: "/data/elsewhere/inputs"}
		r := request("new", &task.RunSpec{Relation: &common.Relation{
			RelatedTo: &common.RunIdentifier{Name: "source"}, RelationType: common.RelationType_RELATION_TYPE_RERUN,
		}})
		r.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: uri}}
		_, err := h.parts().Creator.CreateRun(t.Context(), r)
		require.Equal(t, legal, err == nil, "%s: %v", uri, err)
	}
}

func TestDirectoriesOfARunAreItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		spec  *task.RunSpec
		field string
	}{
		"among uploads":          {&task.RunSpec{RunBaseDir: "/data/uploads"}, "run_spec.run_base_dir"},
		"below uploads":          {&task.RunSpec{RunBaseDir: "/data/uploads/p/d"}, "run_spec.run_base_dir"},
		"of another project":     {&task.RunSpec{RunBaseDir: "/data/other"}, "run_spec.run_base_dir"},
		"of a later project":     {&task.RunSpec{RunBaseDir: "/data/later"}, "run_spec.run_base_dir"},
		"in another's run":       {&task.RunSpec{RunBaseDir: "/data/other/d/run"}, "run_spec.run_base_dir"},
		"raw data among uploads": {&task.RunSpec{RawDataStorage: &task.RawDataStorage{RawDataPrefix: "/data/uploads"}}, "run_spec.raw_data_storage.raw_data_prefix"},
		"raw data of another":    {&task.RunSpec{RawDataStorage: &task.RawDataStorage{RawDataPrefix: "/data/other/d"}}, "run_spec.raw_data_storage.raw_data_prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			_, err := h.parts().Creator.CreateRun(t.Context(), request("offloaded-inputs", tc.spec))
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err), "%v", err)
			require.ErrorContains(t, err, tc.field)
			require.Empty(t, h.objects)
		})
	}
	h := newHistory()
	h.settings = &settingspb.Settings{Run: &settingspb.RunSettings{
		RunBaseDir: &settingspb.StringSetting{State: settingspb.SettingState_SETTING_STATE_VALUE, StringValue: "/data/uploads"},
	}}
	_, err := h.parts().Creator.CreateRun(t.Context(), request("r", nil))
	require.ErrorContains(t, err, "run_spec.run_base_dir", "settings from before this was checked")

	for _, spec := range []*task.RunSpec{
		{RunBaseDir: "/data/_team"}, {RunBaseDir: "/data/p"}, {RawDataStorage: &task.RawDataStorage{RawDataPrefix: "s3://raw"}},
	} {
		h := newHistory()
		_, err := h.parts().Creator.CreateRun(t.Context(), request("r", spec))
		require.NoError(t, err)
		require.Regexp(t, `/p/d/r\.[a-z2-7]{16}/$`, h.runs[0].Root.RunOutputBase)
	}
	uploads := request("r", nil)
	uploads.GetRunId().Project = "uploads"
	_, err = newHistory().parts().Creator.CreateRun(t.Context(), uploads)
	require.Equal(t, rpc.KindFailedPrecondition, rpc.KindOf(err), "%v", err)
}

func TestARepeatedRequestHasTheSameDirectory(t *testing.T) {
	h := newHistory()
	for range 2 {
		_, err := h.parts().Creator.CreateRun(t.Context(), request("r", nil))
		require.NoError(t, err)
	}
	require.Equal(t, h.runs[0].Root.RunOutputBase, h.runs[1].Root.RunOutputBase)
	require.Len(t, h.objects, 1)
}

func TestDataOfAChildBelongsToItsRun(t *testing.T) {
	trace := func(outputs *task.OutputReferences) func(*workflow.RecordActionRequest) {
		return func(r *workflow.RecordActionRequest) {
			r.Spec = &workflow.RecordActionRequest_Trace{Trace: &workflow.TraceAction{Name: "t", Spec: &task.TraceSpec{}, Outputs: outputs}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*workflow.RecordActionRequest)
		field  string // empty if it is legal
	}{
		"own inputs": {func(r *workflow.RecordActionRequest) {
			r.InputUri = "/data/_team/p/d/r.aaaaaaaaaaaaaaaa/child/inputs.pb"
		}, ""},
		"of a sibling run":   {func(r *workflow.RecordActionRequest) { r.InputUri = "/data/_team/p/d/s/child/inputs.pb" }, ""},
		"uploaded":           {func(r *workflow.RecordActionRequest) { r.InputUri = "/data/uploads/p/d/x/inputs.pb" }, ""},
		"of another project": {func(r *workflow.RecordActionRequest) { r.InputUri = "/data/q/d/r/child/inputs.pb" }, "input_uri"},
		"own trace": {
			trace(&task.OutputReferences{OutputUri: "/data/_team/p/d/r.aaaaaaaaaaaaaaaa/t/outputs.pb", ReportUri: "/data/p/d/r/t/report.html"}), "",
		},
		"outputs of another project": {trace(&task.OutputReferences{OutputUri: "/data/q/d/r/a0/1/outputs.pb"}), "trace.outputs.output_uri"},
		"report of another project":  {trace(&task.OutputReferences{ReportUri: "/data/q/d/r/a0/1/report.html"}), "trace.outputs.report_uri"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			h.context.RunOutputBase = "/data/_team/p/d/r.aaaaaaaaaaaaaaaa/"
			r := child(&workflow.TaskAction{Spec: taskSpec()})
			tc.change(r)
			response, err := h.parts().Recorder.RecordAction(t.Context(), r)
			require.NoError(t, err)
			if tc.field == "" {
				require.Zero(t, response.GetStatus().GetCode(), response.GetStatus().GetMessage())
				require.Len(t, h.actions, 1)
				return
			}
			require.EqualValues(t, 3, response.GetStatus().GetCode(), "invalid_argument")
			require.Contains(t, response.GetStatus().GetMessage(), tc.field)
			require.Empty(t, h.actions)
		})
	}
}

func TestCodeIsTheProjectsOwnOrHanded(t *testing.T) {
	const own, foreign, outside = "/data/uploads/p/d/x/fast.tgz", "/data/uploads/q/d/x/fast.tgz", "s3://images/fast.tgz"
	deployed := func(h *history) { h.deployed["q/env.main"] = shipped(foreign) }
	named := func(spec *task.TaskSpec) *task.TaskSpec {
		spec.GetTaskTemplate().GetId().Project = "q"
		return spec
	}
	for name, tc := range map[string]struct {
		spec  *task.TaskSpec
		given func(*history)
		legal bool
	}{
		"own":                         {spec: shipped(own), legal: true},
		"outside of the store":        {spec: shipped(outside), legal: true},
		"of another project":          {spec: shipped(foreign)},
		"of a deployed task, changed": {spec: named(shipped(foreign)), given: deployed, legal: true},
		"other than the deployed":     {spec: named(shipped(foreign + "2")), given: deployed},
		"of the parent":               {spec: shipped(foreign), given: func(h *history) { h.ran["r/parent"] = shipped(foreign) }, legal: true},
		"of the root":                 {spec: shipped(foreign), given: func(h *history) { h.ran["r/a0"] = shipped(foreign) }, legal: true},
		"of another run":              {spec: shipped(foreign), given: func(h *history) { h.ran["s/a0"] = shipped(foreign) }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			if tc.given != nil {
				tc.given(h)
			}
			r := child(&workflow.TaskAction{Spec: tc.spec})
			r.Parent = "parent"
			response, err := h.parts().Recorder.RecordAction(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, tc.legal, response.GetStatus().GetCode() == 0, response.GetStatus().GetMessage())
			if !tc.legal {
				require.Contains(t, response.GetStatus().GetMessage(), "task.spec.task_template")
			}
		})
	}

	h := newHistory()
	r := request("new", nil)
	r.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: shipped(foreign)}
	_, err := h.parts().Creator.CreateRun(t.Context(), r)
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "task_spec.task_template")
	require.Empty(t, h.objects)

	h.storage["source"], h.ran["source/a0"] = worklists.Storage{RunOutputBase: "/data/p/d/source/"}, shipped(foreign)
	r.RunSpec = &task.RunSpec{Relation: &common.Relation{
		RelatedTo: &common.RunIdentifier{Name: "source"}, RelationType: common.RelationType_RELATION_TYPE_RERUN,
	}}
	_, err = h.parts().Creator.CreateRun(t.Context(), r)
	require.NoError(t, err, "the run that it repeats had it")

	deployed(h)
	r = request("third", nil)
	r.Task = &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "q", Domain: "d", Name: "env.main", Version: "v1"}}
	_, err = h.parts().Creator.CreateRun(t.Context(), r)
	require.NoError(t, err, "what belongs to a deployed task is handed to its runs")
}
