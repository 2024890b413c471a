package tasks_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/projects"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/tasks"
)

// registry has one project and keeps what is deployed.
type registry struct {
	deployed []*catalog.Task
	refusal  [2]string // field and words, of all pods
}

func (r *registry) Review(*core.TaskTemplate, *task.RunSpec) (field, words string) {
	return r.refusal[0], r.refusal[1]
}

func (*registry) Get(_ context.Context, id string) (catalog.Project, error) {
	if id != "p" {
		return catalog.Project{}, rpc.NotFound("project %s does not exist", id)
	}
	return catalog.Project{ID: id}, nil
}

func (r *registry) Deploy(_ context.Context, task *catalog.Task, _, _ []byte) error {
	r.deployed = append(r.deployed, task)
	return nil
}

func (*registry) Root() string { return "/data" }

func (*registry) Canonical(uri string) (string, error) {
	if !strings.HasPrefix(uri, "/data/") {
		return "", blobstore.ErrForbiddenPath
	}
	return uri, nil
}

func (r *registry) handler() *tasks.Handler {
	places := projects.NewPlaces(r, []string{"d"})
	return tasks.New(tasks.Deps{
		Places: places, Access: blobaccess.New(r), Writer: r, Pods: r,
		Clock: clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)),
	})
}

func deploy(change func(*task.DeployTaskRequest)) *task.DeployTaskRequest {
	request := &task.DeployTaskRequest{
		TaskId: &task.TaskIdentifier{Project: "p", Domain: "d", Name: "env.main", Version: "v1"},
		Spec: &task.TaskSpec{
			Environment: &task.Environment{Name: "env"}, TaskTemplate: &core.TaskTemplate{Type: "python"},
			Documentation: &task.DocumentationEntity{},
		},
	}
	change(request)
	return request
}

func TestDeployTaskRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*task.DeployTaskRequest)
		kind   rpc.Kind
		text   string
	}{
		"triggers": {func(r *task.DeployTaskRequest) { r.Triggers = []*task.TaskTrigger{{}} }, rpc.KindUnimplemented, "1 trigger"},
		"type": {
			func(r *task.DeployTaskRequest) { r.GetSpec().GetTaskTemplate().Type = "ray" }, rpc.KindInvalidArgument,
			`spec.task_template.type: no part of this installation serves tasks of type "ray"`,
		},
		"label that no pod could have": {func(r *task.DeployTaskRequest) {
			r.GetSpec().GetTaskTemplate().Metadata = &core.TaskMetadata{Metadata: &core.K8SObjectMetadata{Labels: map[string]string{"a b": "x"}}}
		}, rpc.KindInvalidArgument, "spec.task_template.metadata.metadata.labels: "},
		"size": {func(r *task.DeployTaskRequest) {
			r.GetSpec().GetTaskTemplate().Config = map[string]string{"k": strings.Repeat("x", 1600<<10)}
		}, rpc.KindInvalidArgument, "spec.task_template: the objects of Kubernetes"},
		"project": {func(r *task.DeployTaskRequest) { r.GetTaskId().Project = "none" }, rpc.KindNotFound, "project none"},
		"domain":  {func(r *task.DeployTaskRequest) { r.GetTaskId().Domain = "none" }, rpc.KindNotFound, "there are d"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &registry{}
			_, err := r.handler().DeployTask(t.Context(), deploy(tc.change))
			require.Equal(t, tc.kind, rpc.KindOf(err), "%v", err)
			require.ErrorContains(t, err, tc.text)
			require.Empty(t, r.deployed)
		})
	}
}

func TestDeployedTask(t *testing.T) {
	for name, tc := range map[string]struct{ name, environment, description, wantName, wantDescription string }{
		"in an environment":        {"env.main", "env", "text", "main", "text"},
		"without one":              {"a.b.main", "", "text", "main", "text"},
		"of another environment":   {"other.main", "env", "text", "main", "text"},
		"long, in wide characters": {"env.main", "env", strings.Repeat("é", 300), "main", strings.Repeat("é", 255)},
		"with NUL":                 {"env.main", "env", "a\x00b", "main", "a?b"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &registry{}
			_, err := r.handler().DeployTask(t.Context(), deploy(func(request *task.DeployTaskRequest) {
				request.GetTaskId().Name = tc.name
				request.GetSpec().GetEnvironment().Name = tc.environment
				request.GetSpec().GetDocumentation().ShortDescription = tc.description
			}))
			require.NoError(t, err)
			require.Equal(t, tc.wantName, r.deployed[0].FunctionName)
			require.Equal(t, tc.wantDescription, r.deployed[0].ShortDescription)
			require.Equal(t, caller.AnonymousSubject, r.deployed[0].DeployedBySubject)
		})
	}
}

func TestTasksWhosePodsAreNotAllowedAreNotDeployed(t *testing.T) {
	r := &registry{refusal: [2]string{"task_template.k8s_pod.pod_spec", "privileged"}}
	_, err := r.handler().DeployTask(t.Context(), deploy(func(*task.DeployTaskRequest) {}))
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
	require.ErrorContains(t, err, "spec.task_template.k8s_pod.pod_spec")
	require.ErrorContains(t, err, "privileged")
	require.Empty(t, r.deployed)
}

func TestCodeIsDeployedWithItsProject(t *testing.T) {
	for uri, legal := range map[string]bool{
		"/data/uploads/p/d/x/fast.tgz": true, "/data/uploads/p/staging/x/fast.tgz": true, "s3://images/fast.tgz": true, "": true,
		"/data/uploads/q/d/x/fast.tgz": false, "/data/q/d/run/a0/1/outputs.pb": false,
	} {
		r := &registry{}
		_, err := r.handler().DeployTask(t.Context(), deploy(func(request *task.DeployTaskRequest) {
			request.GetSpec().GetTaskTemplate().Metadata = &core.TaskMetadata{CodeBundleUri: uri}
		}))
		if legal {
			require.NoError(t, err, uri)
			continue
		}
		require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err), "%v", err)
		require.ErrorContains(t, err, "spec.task_template")
		require.Empty(t, r.deployed)
	}
}
