package members_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// pods is an API server or a cache that has pods only.
type pods struct {
	client.Reader
	client.Writer
	all     []corev1.Pod
	deleted []string
}

func (p *pods) List(_ context.Context, into client.ObjectList, given ...client.ListOption) error {
	options := &client.ListOptions{}
	options.ApplyOptions(given)
	list := into.(*corev1.PodList)
	for i := range p.all {
		pod := &p.all[i]
		matches := pod.Namespace == options.Namespace
		if options.FieldSelector != nil {
			index := members.Index()
			value, exact := options.FieldSelector.RequiresExactMatch(index.Field)
			values := index.Values(pod)
			matches = matches && exact && len(values) == 1 && values[0] == value
		}
		if options.LabelSelector != nil {
			matches = matches && options.LabelSelector.Matches(labels.Set(pod.Labels))
		}
		if matches {
			list.Items = append(list.Items, *pod)
		}
	}
	return nil
}

// Get answers every Secret with one value.
func (p *pods) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.(*corev1.Secret).Data = map[string][]byte{"key": []byte("hunter2")}
	return nil
}

func (p *pods) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	p.deleted = append(p.deleted, object.GetName())
	return nil
}

// podOf is a pod of a role as an operator creates it from the template that BuildMember returns.
func podOf(t *testing.T, attempt *plugin.Attempt, role, name string) corev1.Pod {
	t.Helper()
	builder, err := podspec.New(podspec.DefaultConfig(), podspec.Deps{Store: &plugintest.Blobs{}, Clock: clock.NewFake(plugintest.Now())})
	require.NoError(t, err)
	template, err := builder.BuildMember(t.Context(), attempt, podspec.Role{
		Name: role, Template: plugintest.ContainerTask(func(c *core.Container) { c.Image = role }),
	})
	require.NoError(t, err)
	require.Equal(t, role, template.Spec.Containers[0].Image)
	made := corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	made.Namespace, made.Name, made.UID = attempt.Task.Namespace, name, types.UID(name)
	return made
}

func exited(pod corev1.Pod, code int32, reason string) corev1.Pod {
	pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "primary", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.NewTime(plugintest.Now())},
	}}}
	return pod
}

func TestMembersAreFoundByTheirLabels(t *testing.T) {
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	cluster := &pods{all: []corev1.Pod{
		podOf(t, attempt, "head", "head"), podOf(t, attempt, "worker", "worker-1"),
		podOf(t, plugintest.Second(plugintest.AttemptOf(plugintest.ContainerTask())), "head", "of-the-next-attempt"),
	}}
	foreign := podOf(t, attempt, "head", "of-another")
	foreign.Labels[podspec.LabelTaskAction] = "another"
	cluster.all = append(cluster.all, foreign)
	reader := members.NewReader(podspec.DefaultConfig(), plugin.Deps{Cache: cluster, Live: cluster, Writer: cluster, Clock: clock.NewFake(plugintest.Now())})
	for where, find := range map[string]func(context.Context, *plugin.Attempt) ([]corev1.Pod, error){"cache": reader.Cached, "API server": reader.Live} {
		found, err := find(t.Context(), attempt)
		require.NoError(t, err)
		require.Len(t, found, 2, where)
	}
	key, found := members.Watch().TaskAction(&cluster.all[1])
	require.True(t, found)
	require.Equal(t, "ns/r1-a0-0123abcd", key.String())

	cluster.all[0] = exited(cluster.all[0], 0, "")
	require.NoError(t, reader.Stop(t.Context(), cluster.all[:2]))
	require.Equal(t, []string{"worker-1"}, cluster.deleted, "only what runs")
}

// TestATaskCannotPoseAsAMember: by these labels the pods of other attempts are found.
func TestATaskCannotPoseAsAMember(t *testing.T) {
	builder, err := podspec.New(podspec.DefaultConfig(), podspec.Deps{Store: &plugintest.Blobs{}, Clock: clock.NewFake(plugintest.Now())})
	require.NoError(t, err)
	task := plugintest.ContainerTask()
	task.Metadata = &core.TaskMetadata{Metadata: &core.K8SObjectMetadata{Labels: map[string]string{
		podspec.LabelTaskAction: "another", podspec.LabelRole: "head", "team": "own",
	}}}
	template, err := builder.Build(t.Context(), plugintest.AttemptOf(task))
	require.NoError(t, err)
	require.NotContains(t, template.Labels, podspec.LabelTaskAction)
	require.NotContains(t, template.Labels, podspec.LabelRole)
}

func TestBlame(t *testing.T) {
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	reader := members.NewReader(podspec.DefaultConfig(), plugin.Deps{Clock: clock.NewFake(plugintest.Now())})
	member := func(role, name string, code int32, reason string, after time.Duration) members.Member {
		pod := exited(podOf(t, attempt, role, name), code, reason)
		pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(plugintest.Now().Add(after))
		result, err := reader.Of(t.Context(), attempt, &pod)
		require.NoError(t, err)
		result.Primary = role == "head"
		return result
	}
	fine := member("worker", "worker-0", 0, "", 0)
	for name, tc := range map[string]struct {
		members []members.Member
		want    string
		reason  failure.Reason
	}{
		"memory before errors that follow": {
			[]members.Member{member("head", "head", 1, "", 0), fine, member("worker", "worker-1", 137, "OOMKilled", time.Second)},
			"worker pod worker-1", failure.OOMKilled,
		},
		"by itself before stopped": {
			[]members.Member{member("head", "head", 143, "", 0), member("worker", "worker-1", 3, "", time.Second)},
			"worker pod worker-1", failure.ContainerFailed,
		},
		"head before worker": {
			[]members.Member{member("worker", "worker-1", 3, "", 0), member("head", "head", 3, "", time.Second)},
			"head pod head", failure.ContainerFailed,
		},
		"the first of the workers": {
			[]members.Member{member("worker", "worker-1", 3, "", time.Second), member("worker", "worker-2", 3, "", 0)},
			"worker pod worker-2", failure.ContainerFailed,
		},
	} {
		blamed := members.Blame(tc.members)
		require.NotNil(t, blamed, name)
		require.Equal(t, tc.want, blamed.Member, name)
		require.Equal(t, tc.reason, blamed.Reason, name)
		require.Contains(t, blamed.Message, tc.want+": "+failure.Table()[tc.reason].Words, name)
	}
	require.Nil(t, members.Blame([]members.Member{fine}))
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, fine.State.Phase)
}

// What a runtime says of a member may have a value that its pod was given.
func TestNoStateHasAValueThatAMemberWasGiven(t *testing.T) {
	attempt, cluster := plugintest.AttemptOf(plugintest.ContainerTask()), &pods{}
	reader := members.NewReader(podspec.DefaultConfig(), plugin.Deps{Cache: cluster, Live: cluster, Clock: clock.NewFake(plugintest.Now())})
	pod := exited(podOf(t, attempt, "worker", "worker-1"), 128, "StartError")
	pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "given"}, Key: "key"},
	}})
	pod.Status.ContainerStatuses[0].State.Terminated.Message = `exec: "hunter2": executable file not found in $PATH`
	member, err := reader.Of(t.Context(), attempt, &pod)
	require.NoError(t, err)
	require.Contains(t, member.State.Failure.Message, "executable file not found")
	blamed := members.Blame([]members.Member{member})
	for _, text := range []string{member.State.Message, member.State.Failure.Message, blamed.Message, member.Pod.String()} {
		require.NotContains(t, text, "hunter2")
	}
}

func TestLogsOfMembers(t *testing.T) {
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	reader := members.NewReader(podspec.DefaultConfig(), plugin.Deps{Clock: clock.NewFake(plugintest.Now())})
	var all []members.Member
	for role, name := range map[string]string{"worker": "worker-1", "head": "head"} {
		pod := exited(podOf(t, attempt, role, name), 0, "")
		one, err := reader.Of(t.Context(), attempt, &pod)
		require.NoError(t, err)
		one.Primary = role == "head"
		all = append(all, one)
	}
	require.ElementsMatch(t, []plugin.Log{
		{Namespace: "ns", Pod: "head", Container: "primary"},
		{Namespace: "ns", Pod: "worker-1", Container: "primary", Member: "worker-1"},
	}, members.Logs(all), "the stored log of the primary pod does not depend on its name")
	logs := members.LogContext(all)
	require.Equal(t, "head", logs.GetPrimaryPodName())
	require.Len(t, logs.GetPods(), 2)
}
