package launch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	settingspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/names/place"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/launch"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/settings"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// world is what the use cases see: nothing is stored, and every object that is written is kept.
type world struct {
	launch.Tasks
	launch.Reader // unexpected calls panic

	archived error
	looked   int // times that the project was read
	settings *settingspb.Settings
	cacheOn  bool
	refusal  [2]string // field and words, of all pods
	objects  map[string][]byte
	context  schema.Root // of every run that exists
	spec     *task.RunSpec
	runs     []store.NewRun
	actions  []store.NewAction
	inFlight int   // CreateRun calls
	during   []int // those in flight when each run was stored
}

func newWorld() *world {
	return &world{cacheOn: true, settings: &settingspb.Settings{}, objects: map[string][]byte{}, context: schema.Root{Action: schema.Action{ID: 7}}}
}

var config = launch.Config{MaxInlineInputs: 1 << 10, InputsTimeout: time.Minute}

func (w *world) parts(configured ...queues.Queue) launch.Parts {
	return launch.New(config, w.deps(configured...))
}

func (w *world) deps(configured ...queues.Queue) launch.Deps {
	return launch.Deps{
		Places: w, Settings: w, Tasks: w, Reader: w, Storage: w, Blobs: w, Access: blobaccess.New(w), Writer: w,
		Queues: queues.New(configured), Cache: w, Calls: w, Pods: w,
		Clock: clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)),
	}
}

func (w *world) Review(string, *core.TaskTemplate, *task.RunSpec) (field, words string) {
	return w.refusal[0], w.refusal[1]
}

func (w *world) AcceptsRuns(context.Context, string, string, string) error {
	w.looked++
	return w.archived
}

func (w *world) Resolve(context.Context, catalog.SettingsKey) (settings.Resolved, error) {
	return settings.Resolved{Settings: w.settings}, nil
}

func (w *world) On() bool { return w.cacheOn }

func (w *world) WishOf(spec *task.TaskSpec, run *task.RunSpec) cachelink.Wish {
	return cachelink.DefaultConfig().WishOf(spec, run)
}

func (w *world) Storage(_ context.Context, id ident.Action) (worklists.Storage, error) {
	return worklists.Storage{}, rpc.NotFound("action %s does not exist", id)
}

func (w *world) RunContext(context.Context, ident.Run) (schema.Root, []byte, error) {
	body, err := proto.Marshal(w.spec)
	return w.context, body, err
}

func (w *world) Root() string { return "/data" }

func (w *world) Canonical(uri string) (string, error) {
	if !strings.HasPrefix(uri, "/data/") {
		return "", blobstore.ErrForbiddenPath
	}
	return uri, nil
}

func (w *world) WriteAll(_ context.Context, uri string, body []byte) error {
	w.objects[uri] = body
	return nil
}

func (w *world) ReadAll(_ context.Context, uri string, _ int64) ([]byte, error) {
	body, ok := w.objects[uri]
	if !ok {
		return nil, blobstore.ErrNotExist
	}
	return body, nil
}

func (w *world) Stat(context.Context, string) (blobstore.Info, error) {
	return blobstore.Info{}, blobstore.ErrNotExist
}

func (w *world) CreateRun(_ context.Context, run store.NewRun) (*schema.Root, bool, error) {
	w.runs, w.during = append(w.runs, run), append(w.during, w.inFlight)
	return &run.Root, true, nil
}

func (w *world) Begin() (end func()) {
	w.inFlight++
	return func() { w.inFlight-- }
}

func (w *world) RecordAction(_ context.Context, action store.NewAction) error {
	w.actions = append(w.actions, action)
	return nil
}

func taskSpec(change ...func(*core.TaskTemplate)) *task.TaskSpec {
	template := &core.TaskTemplate{Id: &core.Identifier{Name: "env.main", Version: "v1"}, Type: "python", Metadata: &core.TaskMetadata{}}
	for _, c := range change {
		c(template)
	}
	return &task.TaskSpec{Environment: &task.Environment{Name: "env"}, TaskTemplate: template}
}

func request(name string, spec *task.RunSpec) *workflow.CreateRunRequest {
	return &workflow.CreateRunRequest{
		Id:      &workflow.CreateRunRequest_RunId{RunId: &common.RunIdentifier{Project: "p", Domain: "d", Name: name}},
		Task:    &workflow.CreateRunRequest_TaskSpec{TaskSpec: taskSpec()},
		RunSpec: spec,
	}
}

func child(spec *workflow.TaskAction) *workflow.RecordActionRequest {
	return &workflow.RecordActionRequest{
		ActionId: &common.ActionIdentifier{Run: &common.RunIdentifier{Project: "p", Domain: "d", Name: "r"}, Name: "child"},
		Parent:   "a0", Spec: &workflow.RecordActionRequest_Task{Task: spec},
	}
}

// recorded records a child and returns what is stored of it.
func (w *world) recorded(t *testing.T, r *workflow.RecordActionRequest, configured ...queues.Queue) schema.Action {
	t.Helper()
	response, err := w.parts(configured...).Recorder.RecordAction(t.Context(), r)
	require.NoError(t, err)
	require.Zero(t, response.GetStatus().GetCode(), response.GetStatus().GetMessage())
	require.Len(t, w.actions, 1)
	return w.actions[0].Action
}

var errArchived = place.NotArchived("p", project.ProjectState_PROJECT_STATE_ARCHIVED, "run")
