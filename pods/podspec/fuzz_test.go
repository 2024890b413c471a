package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
)

// FuzzTemplate feeds task templates as clients could send them, well encoded or not: each yields a pod with the
// labels of the action, or a failure with a message. Nothing panics.
func FuzzTemplate(f *testing.F) {
	seed := func(template *core.TaskTemplate) {
		body, err := proto.Marshal(template)
		require.NoError(f, err)
		f.Add(body)
	}
	seed(plugintest.ContainerTask(func(c *core.Container) {
		c.Args = []string{"{{.Input}}", "{{", "{{.Inputs.x}}"}
		c.Env = []*core.KeyValuePair{{Key: "a=b", Value: "\x00"}, {Key: "", Value: ""}}
		c.Resources = &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: 1, Value: "-1"}, {Name: 99, Value: "1e400"}}}
	}))
	seed(&core.TaskTemplate{})
	seed(&core.TaskTemplate{
		Config: map[string]string{"primary_container_name": "main"},
		Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PodSpec: &structpb.Struct{Fields: map[string]*structpb.Value{
			"containers":  structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("x")}}),
			"hostNetwork": structpb.NewBoolValue(true),
		}}}},
	})
	seed(&core.TaskTemplate{
		Target:            &core.TaskTemplate_Container{Container: &core.Container{DataConfig: &core.DataLoadingConfig{Enabled: true, InputPath: "../.."}}},
		ExtendedResources: &core.ExtendedResources{SharedMemory: &core.SharedMemory{SizeLimit: "?", MountPath: ""}},
	})
	f.Fuzz(func(t *testing.T, body []byte) {
		template := &core.TaskTemplate{}
		if proto.Unmarshal(body, template) != nil {
			return // refused by the API
		}
		b := newBench(t)
		attempt := plugintest.AttemptOf(template)
		made, err := b.builder.Build(t.Context(), attempt)
		if err != nil {
			require.NotNil(t, failure.Of(err), "%v", err)
			require.NotEmpty(t, failure.Of(err).Message)
			return
		}
		require.Empty(t, made.Name)
		require.Empty(t, made.Namespace)
		require.Empty(t, made.OwnerReferences)
		require.Equal(t, v1.ManagedValue, made.Labels[v1.LabelManaged])
		require.Equal(t, "r1", made.Labels[v1.LabelRun], "no task may impersonate another run")
	})
}
