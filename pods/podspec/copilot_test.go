package podspec_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const (
	downloader = "flyte-copilot-downloader"
	uploader   = "flyte-copilot-uploader"
)

func withCopilot(c *podspec.Config) {
	c.Copilot.Image = "flyte-binary:v1"
	c.Copilot.Storage = podspec.CopilotStorage{URL: "s3://bucket/prefix", S3: podspec.CopilotS3{Endpoint: "http://store:9000", PathStyle: true}}
	c.EnvFromSecrets = []string{"object-store"}
	c.DefaultEnv = []string{"FROM_INSTALLATION=yes"}
}

func variables(names ...string) *core.VariableMap {
	result := &core.VariableMap{}
	for _, name := range names {
		result.Variables = append(result.Variables, &core.VariableEntry{
			Key: name, Value: &core.Variable{Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}}},
		})
	}
	return result
}

func rawTask(change ...func(*core.TaskTemplate)) *core.TaskTemplate {
	template := plugintest.ContainerTask(func(c *core.Container) {
		c.Args = []string{"sh", "-c", "true"}
		c.Env = []*core.KeyValuePair{{Key: "OF_TASK", Value: "1"}}
		c.DataConfig = &core.DataLoadingConfig{Enabled: true, InputPath: "/var/inputs", OutputPath: "/var/outputs"}
	})
	template.Type = "raw-container"
	template.Interface = &core.TypedInterface{Inputs: variables("x"), Outputs: variables("y")}
	for _, c := range change {
		c(template)
	}
	return template
}

func named(containers []corev1.Container, name string) *corev1.Container {
	for i := range containers {
		if containers[i].Name == name {
			return &containers[i]
		}
	}
	return nil
}

func flag(t *testing.T, container *corev1.Container, name string) string {
	t.Helper()
	for _, arg := range container.Args {
		if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
			return value
		}
	}
	require.Fail(t, "there is no --"+name, "%v", container.Args)
	return ""
}

func TestRawContainerGetsACopilot(t *testing.T) {
	b := newBench(t, withCopilot)
	made := b.build(t, plugintest.AttemptOf(rawTask()))
	helpers := made.Spec.InitContainers
	require.Len(t, helpers, 2)
	require.Equal(t, uploader, helpers[0].Name, "it listens before anything can end")
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *helpers[0].RestartPolicy)
	require.Equal(t, downloader, helpers[1].Name)
	require.Nil(t, helpers[1].RestartPolicy)
	for _, helper := range helpers {
		require.Equal(t, "flyte-binary:v1", helper.Image)
		require.Equal(t, []string{"flyte-binary"}, helper.Command)
		require.Equal(t, []corev1.EnvVar{{Name: "FROM_INSTALLATION", Value: "yes"}}, helper.Env, "none of the task's")
		require.Equal(t, "object-store", helper.EnvFrom[0].SecretRef.Name)
		require.Equal(t, "/base/p/d/r1/a0/1", flag(t, &helper, "attempt"))
		var storage map[string]any
		require.NoError(t, json.Unmarshal([]byte(flag(t, &helper, "storage")), &storage))
		require.Equal(t, "s3://bucket/prefix", storage["url"])
	}
	require.Equal(t, "/base/p/d/r1/inputs", flag(t, &helpers[1], "inputs"))
	require.Equal(t, "/var/inputs", flag(t, &helpers[1], "dir"))
	require.Contains(t, helpers[1].Args, "--await-sidecar")
	require.Equal(t, "/var/outputs", flag(t, &helpers[0], "dir"))
	declared := &core.VariableMap{}
	encoded, err := base64.StdEncoding.DecodeString(flag(t, &helpers[0], "outputs"))
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(encoded, declared))
	require.Equal(t, "y", declared.Variables[0].Key)

	primary := named(made.Spec.Containers, "primary")
	require.Equal(t, []string{"sh", "-c", "true"}, primary.Args)
	mounts := map[string]string{}
	for _, mount := range primary.VolumeMounts {
		mounts[mount.Name] = mount.MountPath
	}
	require.Equal(t, map[string]string{"flyte-inputs": "/var/inputs", "flyte-outputs": "/var/outputs"}, mounts)
	require.EqualValues(t, 3660, *made.Spec.TerminationGracePeriodSeconds, "an upload may take long")
	require.Equal(t, made.Spec, newBench(t, withCopilot).build(t, plugintest.AttemptOf(rawTask())).Spec, "the same attempt has the same pod")
}

func TestCopilotRunsOnlyTheRequiredHalves(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*core.TaskTemplate)
		want   []string
		dir    bool
	}{
		"no inputs":  {func(t *core.TaskTemplate) { t.Interface.Inputs = nil }, []string{uploader, downloader}, false},
		"no outputs": {func(t *core.TaskTemplate) { t.Interface.Outputs = nil }, []string{downloader}, true},
		"nothing":    {func(t *core.TaskTemplate) { t.Interface = nil }, nil, false},
		"inputs are not wanted": {func(t *core.TaskTemplate) {
			t.GetContainer().DataConfig.IoStrategy = &core.IOStrategy{DownloadMode: core.IOStrategy_DO_NOT_DOWNLOAD}
		}, []string{uploader, downloader}, false},
		"outputs are not wanted": {func(t *core.TaskTemplate) {
			t.GetContainer().DataConfig.IoStrategy = &core.IOStrategy{UploadMode: core.IOStrategy_DO_NOT_UPLOAD}
		}, []string{downloader}, true},
		"disabled": {func(t *core.TaskTemplate) { t.GetContainer().DataConfig.Enabled = false }, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			made := newBench(t, withCopilot).build(t, plugintest.AttemptOf(rawTask(tc.change)))
			var names []string
			for _, helper := range made.Spec.InitContainers {
				names = append(names, helper.Name)
			}
			require.Equal(t, tc.want, names)
			if helper := named(made.Spec.InitContainers, downloader); helper != nil {
				require.Equal(t, tc.dir, strings.Contains(strings.Join(helper.Args, " "), "--dir="))
			}
		})
	}
}

func TestDirectoriesOfRawContainers(t *testing.T) {
	paths := func(in, out string) func(*core.TaskTemplate) {
		return func(t *core.TaskTemplate) {
			t.GetContainer().DataConfig.InputPath, t.GetContainer().DataConfig.OutputPath = in, out
		}
	}
	made := newBench(t, withCopilot).build(t, plugintest.AttemptOf(rawTask(paths("", ""))))
	require.Equal(t, "/var/flyte/inputs", made.Spec.Containers[0].VolumeMounts[0].MountPath)
	require.Equal(t, "/var/flyte/outputs", made.Spec.Containers[0].VolumeMounts[1].MountPath)
	for name, change := range map[string]func(*core.TaskTemplate){
		"relative": paths("inputs", "/out"), "the root": paths("/in", "/"), "the same": paths("/data", "/data/"), "colon": paths("/a:b", "/out"),
	} {
		t.Run(name, func(t *testing.T) {
			why := newBench(t, withCopilot).lost(t, plugintest.AttemptOf(rawTask(change)))
			require.Equal(t, failure.BadTaskSpecification, why.Reason)
		})
	}
}

func TestVolumesOfRawContainersHaveTheSizeOfTheStorage(t *testing.T) {
	made := newBench(t, withCopilot).build(t, plugintest.AttemptOf(rawTask(func(t *core.TaskTemplate) {
		t.GetContainer().Resources = &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_EPHEMERAL_STORAGE, Value: "3Gi"}}}
	})))
	require.Equal(t, "3Gi", made.Spec.Volumes[0].EmptyDir.SizeLimit.String())
	require.Equal(t, "3Gi", made.Spec.Volumes[1].EmptyDir.SizeLimit.String())
}

func TestRawContainerWithoutAnImageOfTheCopilot(t *testing.T) {
	why := newBench(t).lost(t, plugintest.AttemptOf(rawTask()))
	require.Equal(t, failure.BadTaskSpecification, why.Reason)
	require.Contains(t, why.Message, "executor.pod.copilot.image")
}

func TestPodOfTheTaskMayBeRawToo(t *testing.T) {
	spec, err := structpb.NewStruct(map[string]any{"containers": []any{map[string]any{
		"name": "own", "image": "i", "securityContext": map[string]any{"runAsUser": 1000},
	}}})
	require.NoError(t, err)
	template := rawTask()
	template.Target = &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{
		PodSpec: spec, PrimaryContainerName: "own", DataConfig: &core.DataLoadingConfig{Enabled: true},
	}}
	made := newBench(t, withCopilot).build(t, plugintest.AttemptOf(template))
	require.Len(t, made.Spec.InitContainers, 2)
	require.Len(t, named(made.Spec.Containers, "own").VolumeMounts, 2)
	require.EqualValues(t, 1000, *made.Spec.InitContainers[0].SecurityContext.RunAsUser, "both sides must be able to read the files")
}

func TestDirectoryAsObjectStoreIsMountedForTheCopilotToo(t *testing.T) {
	spec, err := structpb.NewStruct(map[string]any{
		"containers": []any{map[string]any{"name": "own", "image": "i", "volumeMounts": []any{
			map[string]any{"name": "store", "mountPath": "/mnt/flyte"}, map[string]any{"name": "other", "mountPath": "/mnt/fly"},
		}}},
		"volumes": []any{map[string]any{"name": "store", "emptyDir": map[string]any{}}, map[string]any{"name": "other", "emptyDir": map[string]any{}}},
	})
	require.NoError(t, err)
	template := rawTask()
	template.Target = &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{
		PodSpec: spec, PrimaryContainerName: "own", DataConfig: &core.DataLoadingConfig{Enabled: true},
	}}
	made := newBench(t, withCopilot, func(c *podspec.Config) { c.Copilot.Storage.URL = "file:///mnt/flyte/data" }).build(t, plugintest.AttemptOf(template))
	for _, helper := range made.Spec.InitContainers {
		var paths []string
		for _, mount := range helper.VolumeMounts {
			paths = append(paths, mount.MountPath)
		}
		require.Contains(t, paths, "/mnt/flyte")
		require.NotContains(t, paths, "/mnt/fly")
	}
}

func TestDollarsOfScriptsAreKept(t *testing.T) {
	made := newBench(t, withCopilot).build(t, plugintest.AttemptOf(rawTask(func(t *core.TaskTemplate) {
		t.GetContainer().Args = []string{"sh", "-c", "echo $$ > pid; kill $$$(ONE) $((1)) $x", "$$(ONE)", "$$"}
	})))
	require.Equal(t, []string{"sh", "-c", "echo $$$$ > pid; kill $$$$$(ONE) $((1)) $x", "$$(ONE)", "$$$$"}, made.Spec.Containers[0].Args)
}
