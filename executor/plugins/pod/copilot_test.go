package pod_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/executor/plugins/pod"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

const (
	downloader = "flyte-copilot-downloader"
	uploader   = "flyte-copilot-uploader"
)

func withCopilot(c *pod.Config) {
	c.Copilot.Image = "flyte-binary:v1"
	c.Copilot.Storage = pod.CopilotStorage{URL: "s3://bucket/prefix", S3: pod.CopilotS3{Endpoint: "http://store:9000", PathStyle: true}}
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
	template := containerTask(func(c *core.Container) {
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
	made := b.build(t, attemptOf(rawTask()))
	helpers := made.Spec.InitContainers
	require.Len(t, helpers, 2)
	require.Equal(t, uploader, helpers[0].Name, "it listens before anything can end")
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *helpers[0].RestartPolicy)
	require.Equal(t, downloader, helpers[1].Name)
	require.Nil(t, helpers[1].RestartPolicy)
	for _, helper := range helpers {
		require.Equal(t, "flyte-binary:v1", helper.Image)
		require.Equal(t, []string{"flyte-binary"}, helper.Command)
		require.Equal(t, []corev1.EnvVar{{Name: "FROM_INSTALLATION", Value: "yes"}}, helper.Env, "nothing of the task")
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
	require.EqualValues(t, 3660, *made.Spec.TerminationGracePeriodSeconds, "an upload may take its time")
	require.Equal(t, made.Spec, newBench(t, withCopilot).build(t, attemptOf(rawTask())).Spec, "the same attempt has the same pod")
}

func TestCopilotCarriesOnlyWhatThereIs(t *testing.T) {
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
			made := newBench(t, withCopilot).build(t, attemptOf(rawTask(tc.change)))
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
	made := newBench(t, withCopilot).build(t, attemptOf(rawTask(paths("", ""))))
	require.Equal(t, "/var/flyte/inputs", made.Spec.Containers[0].VolumeMounts[0].MountPath)
	require.Equal(t, "/var/flyte/outputs", made.Spec.Containers[0].VolumeMounts[1].MountPath)
	for name, change := range map[string]func(*core.TaskTemplate){
		"relative": paths("inputs", "/out"), "the root": paths("/in", "/"), "the same": paths("/data", "/data/"), "colon": paths("/a:b", "/out"),
	} {
		t.Run(name, func(t *testing.T) {
			state := newBench(t, withCopilot).advance(t, attemptOf(rawTask(change)))
			require.Equal(t, failure.BadTaskSpecification, state.Failure.Reason)
		})
	}
}

func TestVolumesOfRawContainersHaveTheSizeOfTheStorage(t *testing.T) {
	made := newBench(t, withCopilot).build(t, attemptOf(rawTask(func(t *core.TaskTemplate) {
		t.GetContainer().Resources = &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_EPHEMERAL_STORAGE, Value: "3Gi"}}}
	})))
	require.Equal(t, "3Gi", made.Spec.Volumes[0].EmptyDir.SizeLimit.String())
	require.Equal(t, "3Gi", made.Spec.Volumes[1].EmptyDir.SizeLimit.String())
}

func TestRawContainerWithoutAnImageOfTheCopilot(t *testing.T) {
	state := newBench(t).advance(t, attemptOf(rawTask()))
	require.Equal(t, failure.BadTaskSpecification, state.Failure.Reason)
	require.Contains(t, state.Failure.Message, "executor.pod.copilot.image")
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
	made := newBench(t, withCopilot).build(t, attemptOf(template))
	require.Len(t, made.Spec.InitContainers, 2)
	require.Len(t, named(made.Spec.Containers, "own").VolumeMounts, 2)
	require.EqualValues(t, 1000, *made.Spec.InitContainers[0].SecurityContext.RunAsUser, "files are to be readable on both sides")
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
	made := newBench(t, withCopilot, func(c *pod.Config) { c.Copilot.Storage.URL = "file:///mnt/flyte/data" }).build(t, attemptOf(template))
	for _, helper := range made.Spec.InitContainers {
		var paths []string
		for _, mount := range helper.VolumeMounts {
			paths = append(paths, mount.MountPath)
		}
		require.Contains(t, paths, "/mnt/flyte")
		require.NotContains(t, paths, "/mnt/fly")
	}
}

// observedRaw is the state of a raw container's pod.
func observedRaw(t *testing.T, change func(*corev1.Pod)) plugin.State {
	t.Helper()
	b := newBench(t, withCopilot)
	attempt := attemptOf(rawTask())
	made := b.build(t, attempt)
	made.Spec.NodeName = "n"
	change(made)
	b.sync()
	b.clock.Step(time.Second)
	return b.advance(t, attempt)
}

func statuses(uploaderState, downloaderState, primaryState corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: uploader, State: uploaderState}, {Name: downloader, State: downloaderState}}
		p.Status.ContainerStatuses = container(primaryState)
	}
}

// An existing backend never lets a non-zero exit of a raw container fail the action: the pod is made again for ever.
//
// Story R3: a raw container that exited with an error never failed its action; its pod was made again for ever.
func TestNonZeroExitOfARawContainerFailsTheAttemptAtOnce(t *testing.T) {
	up := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	state := observedRaw(t, func(p *corev1.Pod) {
		statuses(up, exits(0), exits(3))(p)
		p.Status.Phase = corev1.PodRunning // the sidecar still runs
	})
	require.Equal(t, failed, state.Phase)
	require.Equal(t, failure.ContainerFailed, state.Failure.Reason)
	require.Equal(t, failure.User, state.Failure.Class)
	require.Contains(t, state.Failure.Message, "exit code 3")
	require.True(t, state.Settled, "what the sidecar says of missing outputs comes second")
}

func TestStatesOfRawContainers(t *testing.T) {
	up := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	wait := waits("PodInitializing")

	state := observedRaw(t, func(p *corev1.Pod) { statuses(up, up, wait)(p); p.Status.Phase = corev1.PodPending })
	require.Equal(t, initializing, state.Phase)

	state = observedRaw(t, func(p *corev1.Pod) { statuses(up, exits(0), up)(p); p.Status.Phase = corev1.PodRunning })
	require.Equal(t, running, state.Phase)
	require.Equal(t, "primary", state.LogContext.Pods[0].PrimaryContainerName, "its log comes first")

	state = observedRaw(t, func(p *corev1.Pod) { statuses(up, exits(0), exits(0))(p); p.Status.Phase = corev1.PodRunning })
	require.Equal(t, running, state.Phase, "the outputs are being carried")
	require.Contains(t, state.Message, "outputs")

	state = observedRaw(t, func(p *corev1.Pod) { statuses(exits(0), exits(0), exits(0))(p); p.Status.Phase = corev1.PodSucceeded })
	require.Equal(t, succeeded, state.Phase)

	state = observedRaw(t, func(p *corev1.Pod) { statuses(exits(1), exits(0), exits(0))(p); p.Status.Phase = corev1.PodSucceeded })
	require.Equal(t, succeeded, state.Phase, "whether there are outputs is seen in the object store")

	state = observedRaw(t, func(p *corev1.Pod) { statuses(exits(143), exits(1), wait)(p); p.Status.Phase = corev1.PodFailed })
	require.Equal(t, failure.CopilotFailed, state.Failure.Reason)
	require.Contains(t, state.Failure.Message, downloader, "not the sidecar, which was ended with it")
	require.False(t, state.Settled, "it has left an error document")

	state = observedRaw(t, func(p *corev1.Pod) { statuses(exits(0), exits(0), exits(139))(p); p.Status.Phase = corev1.PodFailed })
	require.Equal(t, failure.SegmentationFault, state.Failure.Reason)
}

func TestDollarsOfScriptsAreKept(t *testing.T) {
	made := newBench(t, withCopilot).build(t, attemptOf(rawTask(func(t *core.TaskTemplate) {
		t.GetContainer().Args = []string{"sh", "-c", "echo $$ > pid; kill $$$(ONE) $((1)) $x", "$$(ONE)", "$$"}
	})))
	require.Equal(t, []string{"sh", "-c", "echo $$$$ > pid; kill $$$$$(ONE) $((1)) $x", "$$(ONE)", "$$$$"}, made.Spec.Containers[0].Args)
}
