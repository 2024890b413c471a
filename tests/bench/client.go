package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// client calls the server with Connect over HTTP/2 without TLS, like the SDK in a task.
type client struct {
	url       string
	storage   string
	transport *http.Transport
	api       workflowconnect.RunServiceClient
	actions   actionsconnect.ActionsServiceClient
}

func newClient(url, storage string, options ...func(*http.Transport)) *client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true}
	for _, option := range options {
		option(transport)
	}
	over := &http.Client{Transport: transport}
	return &client{
		url: url, storage: storage, transport: transport,
		api:     workflowconnect.NewRunServiceClient(over, url),
		actions: actionsconnect.NewActionsServiceClient(over, url),
	}
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// ready checks the readiness of the server.
func (c *client) ready(ctx context.Context) error {
	_, err := c.get(ctx, "/readyz")
	return err
}

func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: c.transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, response.Status, body)
	}
	return body, err
}

// enqueueTask records a child that runs a task.
func (c *client) enqueueTask(ctx context.Context, parent ident.Action, name string, spec *task.TaskSpec) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	base := blobpath.RunBase(c.storage, project, domain, parent.Run.Name)
	_, err := c.actions.Enqueue(ctx, &actions.EnqueueRequest{Action: &actions.Action{
		ActionId: ident.Action{Run: parent.Run, Name: name}.Proto(), ParentActionName: &parent.Name, RunOutputBase: base,
		InputUri: base + name + "/" + blobpath.InputsFile, Group: "map", Spec: &actions.Action_Task{Task: &workflow.TaskAction{Spec: spec}},
	}})
	return err
}

// kind is how an action is executed.
type kind int

const (
	// withPod is a pod that ends at once.
	withPod kind = iota
	// withRetry is a pod whose first attempt fails and whose second succeeds.
	withRetry
	// untilAborted is a pod that runs until it is deleted.
	untilAborted
	// inEngine is an action that the runs service executes itself: a sleep of zero length.
	inEngine
	// cached is the same, with outputs from the cache when the action of that name has run before.
	cached
	// asleep is a sleep that lasts a while.
	asleep
	// asCondition is a condition that waits for a signal.
	asCondition
	// asTrace is a trace, which is done once it is recorded.
	asTrace
)

// The project and domain of everything.
const (
	project = "flytesnacks"
	domain  = "development"
)

func (c *client) createRun(ctx context.Context, run ident.Run) error {
	_, err := c.api.CreateRun(ctx, &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: run.Proto()},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: pythonTask("main")},
	})
	return err
}

// enqueue records a child, with the SDK's time limit of 5 s.
func (c *client) enqueue(ctx context.Context, parent ident.Action, name string, k kind) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	base := blobpath.RunBase(c.storage, project, domain, parent.Run.Name)
	action := &actions.Action{
		ActionId:         ident.Action{Run: parent.Run, Name: name}.Proto(),
		ParentActionName: &parent.Name,
		RunOutputBase:    base,
		InputUri:         base + name + "/" + blobpath.InputsFile,
		Group:            "map",
	}
	switch k {
	case withPod:
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: pythonTask("child")}}
	case withRetry:
		spec := pythonTask(retriedTask)
		spec.TaskTemplate.Metadata.Retries = &core.RetryStrategy{Retries: 1}
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: spec}}
	case untilAborted:
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: pythonTask(endlessTask)}}
	case inEngine:
		action.InputUri = c.sleepInputs(noSleep)
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: sleepTask()}}
	case cached:
		action.InputUri = c.sleepInputs(noSleep)
		spec := sleepTask()
		spec.TaskTemplate.Metadata.Discoverable = true
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: spec, CacheKey: wrapperspb.String("bench-" + name)}}
	case asleep:
		action.InputUri = c.sleepInputs(heldSleep)
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: sleepTask()}}
	case asCondition:
		action.Spec = &actions.Action_Condition{Condition: &workflow.ConditionAction{
			Name: "approve", Prompt: "May I?", Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
		}}
	case asTrace:
		now := time.Now()
		action.Spec = &actions.Action_Trace{Trace: &workflow.TraceAction{
			Name: "traced", Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED,
			StartTime: timestamppb.New(now.Add(-time.Millisecond)), EndTime: timestamppb.New(now),
			Outputs: &task.OutputReferences{OutputUri: base + name + "/1/" + blobpath.OutputsFile},
			Spec:    &task.TraceSpec{Interface: &core.TypedInterface{}},
		}}
	}
	_, err := c.actions.Enqueue(ctx, &actions.EnqueueRequest{Action: action})
	return err
}

// Tasks whose pods the node treats differently. It recognises them by their label.
const (
	retriedTask = "retried"
	endlessTask = "endless"
)

// pythonTask is as large as what the SDK sends.
func pythonTask(name string) *task.TaskSpec {
	return &task.TaskSpec{
		ShortName: name, Environment: &task.Environment{Name: "bench"},
		TaskTemplate: &core.TaskTemplate{
			Id: &core.Identifier{
				ResourceType: core.ResourceType_TASK, Project: project, Domain: domain, Name: "bench." + name, Version: "1",
			},
			Type: "python", Interface: &core.TypedInterface{}, Metadata: &core.TaskMetadata{},
			Target: &core.TaskTemplate_Container{Container: &core.Container{
				Image: "registry.example/bench/python:3.13-0123456789abcdef0123456789abcdef",
				Args: []string{
					"a0", "--inputs", "{{.input}}", "--outputs-path", "{{.outputPrefix}}", "--version", "d41d8cd98f00b204e9800998ecf8427e",
					"--raw-data-path", "{{.rawOutputDataPrefix}}", "--checkpoint-path", "{{.checkpointOutputPrefix}}",
					"--prev-checkpoint", "{{.prevCheckpointPrefix}}", "--run-name", "{{.runName}}", "--name", "{{.actionName}}",
					"--run-start-time", "{{.runStartTime}}", "--tgz", "/data/uploads/flytesnacks/development/d41d8cd98f00b204e9800998ecf8427e/fast.tar.gz",
					"--dest", ".", "--resolver", "flyte._internal.resolvers.default.DefaultTaskResolver", "mod", "bench", "instance", name,
				},
				Resources: &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_CPU, Value: "1"}}},
			}},
		},
	}
}

func sleepTask() *task.TaskSpec {
	spec := pythonTask("sleep")
	spec.TaskTemplate.Type, spec.TaskTemplate.Target = "core-sleep", nil
	return spec
}

// The directories of the sleeps' inputs.
const (
	noSleep   = "sleep"
	heldSleep = "held"
)

// sleepInputs is the file with the duration of a sleep.
func (c *client) sleepInputs(name string) string {
	return filepath.Join(c.storage, project, domain, name, blobpath.InputsFile)
}

func (c *client) writeSleepInputs() error { return c.writeSleep(noSleep, 0) }

func (c *client) writeSleep(name string, d time.Duration) error {
	body, err := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{{Name: "duration", Value: durationLiteral(d)}}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.sleepInputs(name)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(c.sleepInputs(name), body, 0o644)
}

func durationLiteral(d time.Duration) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: &core.Primitive{
		Value: &core.Primitive_Duration{Duration: durationpb.New(d)},
	}}}}}
}
