package runs_test

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/images"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// builder is a builder that the tests configure.
func builder(image string) images.Builder {
	return images.Builder{Image: image, Command: []string{"build"}, Args: []string{"{{.inputs.spec}}"}, Env: []string{"A=b"}, CPU: "1"}
}

// offer seeds the task of a builder, as the start of the service does.
func (r *readFixture) offer(t *testing.T, of images.Builder) {
	t.Helper()
	require.NoError(t, images.Seeder{Builder: of, Tasks: catalog.NewTaskWriter(r.pool), Clock: r.clock}.Start(t.Context()))
}

// buildTask is the task that a client of the SDK finds.
func (r *readFixture) buildTask(t *testing.T) *task.TaskSpec {
	t.Helper()
	tasks, err := r.tasks.ListTasks(t.Context(), &task.ListTasksRequest{
		ScopeBy: &task.ListTasksRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "system", Domain: "production"}},
		Request: &common.ListRequest{Limit: 1, SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_DESCENDING}},
	})
	require.NoError(t, err)
	require.Len(t, tasks.GetTasks(), 1)
	details, err := r.tasks.GetTaskDetails(t.Context(), &task.GetTaskDetailsRequest{TaskId: tasks.GetTasks()[0].GetTaskId()})
	require.NoError(t, err)
	require.Equal(t, "build-image", details.GetDetails().GetTaskId().GetName())
	return details.GetDetails().GetSpec()
}

func TestTheBuildTaskIsThatOfTheConfiguration(t *testing.T) {
	r := newReadFixture(t, nil)
	r.offer(t, images.Builder{})
	tasks, err := r.tasks.ListTasks(t.Context(), &task.ListTasksRequest{
		ScopeBy: &task.ListTasksRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "system", Domain: "production"}}, Request: &common.ListRequest{Limit: 1},
	})
	require.NoError(t, err)
	require.Empty(t, tasks.GetTasks(), "there is no builder")
	for _, image := range []string{"one", "two", "two", "one"} { // the last was there before
		r.clock.Step(time.Minute)
		r.offer(t, builder(image))
		spec := r.buildTask(t)
		container := spec.GetTaskTemplate().GetContainer()
		require.Equal(t, image, container.GetImage())
		require.True(t, container.GetDataConfig().GetEnabled())
		var inputs []string
		for _, input := range spec.GetTaskTemplate().GetInterface().GetInputs().GetVariables() {
			inputs = append(inputs, input.GetKey())
		}
		require.Equal(t, []string{"spec", "context", "target_image"}, inputs)
		require.Len(t, spec.GetTaskTemplate().GetInterface().GetOutputs().GetVariables(), 1)
	}
}

// build stores a successful run of the build task.
func (r *readFixture) build(t *testing.T, id int, domain string, spec *task.TaskSpec, target, output string) {
	t.Helper()
	digest, body, err := schema.EncodeSpec(schema.SpecTask, spec)
	require.NoError(t, err)
	_, err = r.pool.Exec(t.Context(), `INSERT INTO specs (digest, kind, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, digest, schema.SpecTask, body)
	require.NoError(t, err)
	name := "build" + string(rune('a'+id))
	_, err = r.pool.Exec(t.Context(), `INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, task_project, task_domain,
		task_name, spec_digest, input_uri, output_uri, created_at, ended_at, updated_at)
		VALUES ($1, $1, 'flytesnacks', $2, $3, 'a0', 1, $4, 'system', 'production', 'build-image', $5, $6, $7, $8, $8, $8)`,
		id, domain, name, int(common.ActionPhase_ACTION_PHASE_SUCCEEDED), digest, "/data/"+name+"/in", "/data/"+name+"/out", r.clock.Now())
	require.NoError(t, err)
	text := func(key, value string) *task.NamedLiteral {
		return &task.NamedLiteral{Name: key, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
			Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: value}}}}}}}
	}
	inputs, err := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{text("spec", "x"), text("target_image", target)}})
	require.NoError(t, err)
	outputs, err := proto.Marshal(&task.Outputs{Literals: []*task.NamedLiteral{text("image", output)}})
	require.NoError(t, err)
	require.NoError(t, r.blobs.WriteAll(t.Context(), "/data/"+name+"/in/inputs.pb", inputs))
	require.NoError(t, r.blobs.WriteAll(t.Context(), "/data/"+name+"/out/outputs.pb", outputs))
}

func TestAnImageExistsOnceItsBuildHasSucceeded(t *testing.T) {
	own := builder("own")
	r := newReadFixture(t, func(c *runs.Config) { c.Images.Builder = own })
	r.offer(t, own)
	digest := func(of string) string { return "image:" + strings.Repeat(of, 32) }
	find := func(domain, name string) (*imagebuilder.Image, error) {
		response, err := r.images.GetImage(t.Context(), &imagebuilder.GetImageRequest{
			Id: &imagebuilder.ImageIdentifier{Name: name}, ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: domain},
		})
		return response.GetImage(), err
	}
	_, err := find("development", digest("a"))
	refused(t, err, connect.CodeNotFound, "has not been built")
	base, err := find("development", "flyte:py3.11-v2.12.1")
	require.NoError(t, err)
	require.Equal(t, "flyte:py3.11-v2.12.1", base.GetFqin(), "nobody describes that one")

	spec := r.buildTask(t)
	spec.TaskTemplate.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "k"}}} // the client's own part
	r.build(t, 1, "development", spec, "registry.example/x/"+digest("a"), "registry.example/x/image@sha256:1")
	found, err := find("development", digest("a"))
	require.NoError(t, err)
	require.Equal(t, "registry.example/x/image@sha256:1", found.GetFqin())
	require.Equal(t, "buildb", found.GetBuildRun().GetName())
	_, err = find("production", digest("a"))
	refused(t, err, connect.CodeNotFound, "has not been built")

	// Built again, by force: the newest counts.
	r.build(t, 5, "development", spec, "registry.example/x/"+digest("a"), "registry.example/x/image@sha256:5")
	found, err = find("development", digest("a"))
	require.NoError(t, err)
	require.Equal(t, "registry.example/x/image@sha256:5", found.GetFqin())

	// What the run has left may go; the image is remembered.
	_, err = r.pool.Exec(t.Context(), `DELETE FROM actions`)
	require.NoError(t, err)
	found, err = find("development", digest("a"))
	require.NoError(t, err)
	require.Equal(t, "registry.example/x/image@sha256:5", found.GetFqin())

	other := proto.CloneOf(spec)
	other.GetTaskTemplate().GetContainer().Image = "evil"
	r.build(t, 2, "development", other, digest("b"), "evil:1")
	r.build(t, 3, "development", spec, digest("c"), "no reference")
	r.build(t, 4, "development", spec, "image:latest", "image:latest")
	delete(r.blobs.objects, "/data/builde/out/outputs.pb")
	for _, name := range []string{digest("b"), digest("c"), digest("d")} {
		_, err = find("development", name)
		refused(t, err, connect.CodeNotFound, "has not been built")
	}
	left, err := catalog.NewBuiltImages(r.pool).Unread(t.Context(), ident.Run{Project: "system", Domain: "production", Name: "build-image"}, "flytesnacks", "development", 9)
	require.NoError(t, err)
	require.Empty(t, left, "each run is read once")
}
