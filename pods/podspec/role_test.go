package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// TestThePodOfARole: a pod that a role brings gets from the task what it lacks, and keeps what it has.
func TestThePodOfARole(t *testing.T) {
	builder, err := podspec.New(podspec.DefaultConfig(), podspec.Deps{Store: &plugintest.Blobs{}, Clock: clock.NewFake(plugintest.Now())})
	require.NoError(t, err)
	task := plugintest.ContainerTask(func(c *core.Container) {
		c.Args = []string{"a0"}
		c.Env = []*core.KeyValuePair{{Key: "PRICE", Value: "$(HOME) $$5"}, {Key: "OWN", Value: "task"}}
	})
	ofRole := func(pod string, named string) *corev1.Container {
		t.Helper()
		brings := &core.K8SPod{PodSpec: &structpb.Struct{}}
		require.NoError(t, protojson.Unmarshal([]byte(pod), brings.PodSpec))
		attempt := plugintest.AttemptOf(task)
		role := podspec.RoleOf(task, "head", podspec.Different{Pod: brings, Container: named, NoProgram: true})
		template, err := builder.BuildMember(t.Context(), attempt, role)
		require.NoError(t, err)
		for i := range template.Spec.Containers {
			if template.Spec.Containers[i].Name == podspec.PrimaryName(task) {
				return &template.Spec.Containers[i]
			}
		}
		require.Fail(t, "the task has no container")
		return nil
	}
	plain, err := builder.BuildMember(t.Context(), plugintest.AttemptOf(task), podspec.Role{})
	require.NoError(t, err)
	value := func(of *corev1.Container, name string) string {
		t.Helper()
		for _, variable := range of.Env {
			if variable.Name == name {
				return variable.Value
			}
		}
		return ""
	}
	for pod, named := range map[string]string{
		`{"containers": [{"name": "any"}]}`:                                      "",
		`{"containers": [{"name": "side", "image": "s"}, {"name": "ray-head"}]}`: "ray-head",
	} {
		own := ofRole(pod, named)
		require.Equal(t, "image", own.Image)
		require.Empty(t, own.Args)
		require.Equal(t, value(&plain.Spec.Containers[0], "PRICE"), value(own, "PRICE"), "dollars reach the process as in the task's own pod")
		require.Equal(t, "task", value(own, "OWN"))
	}
	own := ofRole(`{"containers": [{"name": "any", "image": "theirs", "env": [{"name": "OWN", "value": "role"}]}]}`, "")
	require.Equal(t, "theirs", own.Image)
	require.Equal(t, "role", value(own, "OWN"))
}
