package stack

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

// Client calls the server with Connect over HTTP/2 without TLS, like the SDK in a task.
type Client struct {
	URL       string
	storage   string
	Transport *http.Transport
	API       workflowconnect.RunServiceClient
	Actions   actionsconnect.ActionsServiceClient
}

// NewClient returns a client of the server at url. storage is the directory of its object store; it may be empty for a
// client that enqueues nothing.
func NewClient(url, storage string, options ...func(*http.Transport)) *Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true}
	for _, option := range options {
		option(transport)
	}
	over := &http.Client{Transport: transport}
	return &Client{
		URL: url, storage: storage, Transport: transport,
		API:     workflowconnect.NewRunServiceClient(over, url),
		Actions: actionsconnect.NewActionsServiceClient(over, url),
	}
}

// Close closes idle connections. Streams must have ended.
func (c *Client) Close() { c.Transport.CloseIdleConnections() }

// ready checks the readiness of the server.
func (c *Client) ready(ctx context.Context) error {
	_, err := c.Get(ctx, "/readyz")
	return err
}

// Get reads a plain page of the server; any other status than 200 is an error.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: c.Transport}).Do(request)
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

// EnqueueTask records a child that runs a task.
func (c *Client) EnqueueTask(ctx context.Context, parent ident.Action, name string, spec *task.TaskSpec) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	base := blobpath.RunBase(c.storage, Project, Domain, parent.Run.Name)
	_, err := c.Actions.Enqueue(ctx, &actions.EnqueueRequest{Action: &actions.Action{
		ActionId: ident.Action{Run: parent.Run, Name: name}.Proto(), ParentActionName: &parent.Name, RunOutputBase: base,
		InputUri: base + name + "/" + blobpath.InputsFile, Group: "map", Spec: &actions.Action_Task{Task: &workflow.TaskAction{Spec: spec}},
	}})
	return err
}

// EnqueueJob is EnqueueTask of a task whose inputs are read by the server: those of a sleep.
func (c *Client) EnqueueJob(ctx context.Context, parent ident.Action, name string, spec *task.TaskSpec) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	base := blobpath.RunBase(c.storage, Project, Domain, parent.Run.Name)
	_, err := c.Actions.Enqueue(ctx, &actions.EnqueueRequest{Action: &actions.Action{
		ActionId: ident.Action{Run: parent.Run, Name: name}.Proto(), ParentActionName: &parent.Name, RunOutputBase: base,
		InputUri: c.sleepInputs(HeldSleep), Group: "map", Spec: &actions.Action_Task{Task: &workflow.TaskAction{Spec: spec}},
	}})
	return err
}

// Kind is how an action is executed.
type Kind int

const (
	// WithPod is a pod that ends at once.
	WithPod Kind = iota
	// WithRetry is a pod whose first attempt fails and whose second succeeds.
	WithRetry
	// UntilAborted is a pod that runs until it is deleted.
	UntilAborted
	// InEngine is an action that the runs service executes itself: a sleep of zero length.
	InEngine
	// Cached is the same, with outputs from the cache when the action of that name has run before.
	Cached
	// Asleep is a sleep that lasts a while.
	Asleep
	// AsCondition is a condition that waits for a signal.
	AsCondition
	// AsTrace is a trace, which is done once it is recorded.
	AsTrace
)

// The project and domain of everything.
const (
	Project = "flytesnacks"
	Domain  = "development"
)

// CreateRun creates a run of one Python task, whose pod the node plays.
func (c *Client) CreateRun(ctx context.Context, run ident.Run) error {
	_, err := c.API.CreateRun(ctx, &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: run.Proto()},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: PythonTask("main")},
	})
	return err
}

// Enqueue records a child, with the SDK's time limit of 5 s.
func (c *Client) Enqueue(ctx context.Context, parent ident.Action, name string, k Kind) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	base := blobpath.RunBase(c.storage, Project, Domain, parent.Run.Name)
	action := &actions.Action{
		ActionId:         ident.Action{Run: parent.Run, Name: name}.Proto(),
		ParentActionName: &parent.Name,
		RunOutputBase:    base,
		InputUri:         base + name + "/" + blobpath.InputsFile,
		Group:            "map",
	}
	switch k {
	case WithPod:
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: PythonTask("child")}}
	case WithRetry:
		spec := PythonTask(retriedTask)
		spec.TaskTemplate.Metadata.Retries = &core.RetryStrategy{Retries: 1}
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: spec}}
	case UntilAborted:
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: PythonTask(endlessTask)}}
	case InEngine:
		action.InputUri = c.sleepInputs(noSleep)
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: SleepTask()}}
	case Cached:
		action.InputUri = c.sleepInputs(noSleep)
		spec := SleepTask()
		spec.TaskTemplate.Metadata.Discoverable = true
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: spec, CacheKey: wrapperspb.String("bench-" + name)}}
	case Asleep:
		action.InputUri = c.sleepInputs(HeldSleep)
		action.Spec = &actions.Action_Task{Task: &workflow.TaskAction{Spec: SleepTask()}}
	case AsCondition:
		action.Spec = &actions.Action_Condition{Condition: &workflow.ConditionAction{
			Name: "approve", Prompt: "May I?", Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
		}}
	case AsTrace:
		now := time.Now()
		action.Spec = &actions.Action_Trace{Trace: &workflow.TraceAction{
			Name: "traced", Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED,
			StartTime: timestamppb.New(now.Add(-time.Millisecond)), EndTime: timestamppb.New(now),
			Outputs: &task.OutputReferences{OutputUri: base + name + "/1/" + blobpath.OutputsFile},
			Spec:    &task.TraceSpec{Interface: &core.TypedInterface{}},
		}}
	}
	_, err := c.Actions.Enqueue(ctx, &actions.EnqueueRequest{Action: action})
	return err
}

// Tasks whose pods the node treats differently. It recognizes them by their label.
const (
	retriedTask = "retried"
	endlessTask = "endless"
	// HeldTask runs until Release of the node.
	HeldTask = "held"
)

// PythonTask is as large as what the SDK sends.
func PythonTask(name string) *task.TaskSpec {
	return &task.TaskSpec{
		ShortName: name, Environment: &task.Environment{Name: "bench"},
		TaskTemplate: &core.TaskTemplate{
			Id: &core.Identifier{
				ResourceType: core.ResourceType_TASK, Project: Project, Domain: Domain, Name: "bench." + name, Version: "1",
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

// SleepTask is the built-in task that sleeps, which has no container.
func SleepTask() *task.TaskSpec {
	spec := PythonTask("sleep")
	spec.TaskTemplate.Type, spec.TaskTemplate.Target = "core-sleep", nil
	return spec
}

// The directories of the sleeps' inputs.
const (
	noSleep   = "sleep"
	HeldSleep = "held"
)

// sleepInputs is the file with the duration of a sleep.
func (c *Client) sleepInputs(name string) string {
	return filepath.Join(c.storage, Project, Domain, name, blobpath.InputsFile)
}

// WriteSleepInputs stores the inputs of sleeps of no length, which all of them share.
func (c *Client) WriteSleepInputs() error { return c.WriteSleep(noSleep, 0) }

// WriteSleep stores the inputs of sleeps of length d under a name.
func (c *Client) WriteSleep(name string, d time.Duration) error {
	body, err := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{{Name: "duration", Value: DurationLiteral(d)}}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.sleepInputs(name)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(c.sleepInputs(name), body, 0o644)
}

// DurationLiteral is a duration as an input of a task.
func DurationLiteral(d time.Duration) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: &core.Primitive{
		Value: &core.Primitive_Duration{Duration: durationpb.New(d)},
	}}}}}
}
