package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// The task that clients run to build an image.
const (
	taskProject = "system"
	taskDomain  = "production"
	taskName    = "build-image"
)

// Inputs and output of the task.
const (
	inputSpec    = "spec"
	inputContext = "context"
	inputTarget  = "target_image"
	outputImage  = "image"
)

// OutputDir is where the container of the builder writes its output.
const OutputDir = "/var/flyte/outputs"

// template is the task without a version: a raw container, so that the builder needs to know nothing of this system.
func (b Builder) template() *core.TaskTemplate {
	text := func(name, description string) *core.VariableEntry {
		kind := &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRING}}
		return &core.VariableEntry{Key: name, Value: &core.Variable{Type: kind, Description: description}}
	}
	container := &core.Container{
		Image: b.Image, Command: b.Command, Args: b.Args, Resources: b.resources(),
		DataConfig: &core.DataLoadingConfig{
			Enabled: true, OutputPath: OutputDir,
			IoStrategy: &core.IOStrategy{DownloadMode: core.IOStrategy_DO_NOT_DOWNLOAD, UploadMode: core.IOStrategy_UPLOAD_EAGER},
		},
	}
	for _, variable := range b.Env {
		name, value, _ := strings.Cut(variable, "=")
		container.Env = append(container.Env, &core.KeyValuePair{Key: name, Value: value})
	}
	return &core.TaskTemplate{
		Id:   &core.Identifier{ResourceType: core.ResourceType_TASK, Project: taskProject, Domain: taskDomain, Name: taskName},
		Type: "raw-container",
		Metadata: &core.TaskMetadata{
			Runtime: &core.RuntimeMetadata{Type: core.RuntimeMetadata_OTHER}, PodTemplateName: b.PodTemplate,
		},
		Interface: &core.TypedInterface{
			Inputs: &core.VariableMap{Variables: []*core.VariableEntry{
				text(inputSpec, "URI of the description of the image"),
				text(inputContext, "URI of the archive with the client's files; may be empty"),
				text(inputTarget, "name and tag of the image"),
			}},
			Outputs: &core.VariableMap{Variables: []*core.VariableEntry{text(outputImage, "reference of the image")}},
		},
		Target: &core.TaskTemplate_Container{Container: container},
	}
}

func (b Builder) resources() *core.Resources {
	requests := &core.Resources{}
	for _, entry := range []*core.Resources_ResourceEntry{
		{Name: core.Resources_CPU, Value: b.CPU}, {Name: core.Resources_MEMORY, Value: b.Memory},
	} {
		if entry.GetValue() != "" {
			requests.Requests = append(requests.Requests, entry)
		}
	}
	return requests
}

// spec is the whole task. Its version is a digest of its content.
func (b Builder) spec() (*task.TaskSpec, error) {
	template := b.template()
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode the task %s: %w", taskName, err)
	}
	digest := sha256.Sum256(body)
	template.Id.Version = "v" + hex.EncodeToString(digest[:6])
	return &task.TaskSpec{
		TaskTemplate: template, ShortName: taskName, Environment: &task.Environment{Name: taskProject},
		Documentation: &task.DocumentationEntity{ShortDescription: "Builds an image that a client describes, see docs/images.md."},
	}, nil
}

// Deployer stores versions of tasks; catalog.TaskWriter does.
type Deployer interface {
	Deploy(ctx context.Context, task *catalog.Task, digest, spec []byte) error
	Promote(ctx context.Context, project, domain, name, version string, now time.Time) error
}

// Seeder offers the task build-image when the service starts, unless there is no builder.
type Seeder struct {
	Builder Builder
	Tasks   Deployer
	Clock   clock.Clock
}

var _ lifecycle.Part = Seeder{}

// Start implements lifecycle.Part. A version that exists is not changed.
func (s Seeder) Start(ctx context.Context) error {
	if !s.Builder.Enabled() {
		return nil
	}
	spec, err := s.Builder.spec()
	if err != nil {
		return err
	}
	digest, body, err := schema.EncodeSpec(schema.SpecTask, spec)
	if err != nil {
		return fmt.Errorf("encode the task %s: %w", taskName, err)
	}
	now, version := s.Clock.Now(), spec.GetTaskTemplate().GetId().GetVersion()
	err = s.Tasks.Deploy(ctx, &catalog.Task{
		Project: taskProject, Domain: taskDomain, Name: taskName, Version: version,
		EnvironmentName: taskProject, FunctionName: taskName, ShortName: taskName, TaskType: spec.GetTaskTemplate().GetType(),
		IsEntrypoint: true, ShortDescription: spec.GetDocumentation().GetShortDescription(), CreatedAt: now,
	}, digest, body)
	if err != nil {
		return err
	}
	return s.Tasks.Promote(ctx, taskProject, taskDomain, taskName, version, now) // a configuration that was used before
}

// Stop implements lifecycle.Part.
func (Seeder) Stop(context.Context) error { return nil }
