package jobset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugins/jobset"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// clustered is the template of a task on three pods with the custom part that the SDK sends.
func clustered(t *testing.T, custom map[string]any) *core.TaskTemplate {
	t.Helper()
	template := plugintest.ContainerTask(func(c *core.Container) {
		c.Args = []string{"clustered", "--inputs", "{{.input}}"}
		c.Env = []*core.KeyValuePair{{Key: "NNODES", Value: "9"}}
	})
	template.Type = jobset.TaskType
	if custom == nil {
		custom = map[string]any{"replicas": 3, "nprocPerNode": 2, "runtime": map[string]any{"torchrun": map[string]any{"rdzvBackend": "C10D", "maxRestarts": 4}}}
	}
	encoded, err := structpb.NewStruct(custom)
	require.NoError(t, err)
	template.Custom = encoded
	return template
}

// cluster is an API server that knows JobSets and pods only, and its cache.
type cluster struct {
	client.Reader
	client.Writer
	sets    map[string]*unstructured.Unstructured
	pods    []corev1.Pod
	deleted []string
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := c.sets[key.Name]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "jobsets"}, key.Name)
	}
	found.DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

func (c *cluster) List(_ context.Context, into client.ObjectList, given ...client.ListOption) error {
	options := &client.ListOptions{}
	options.ApplyOptions(given)
	if workloads, ok := into.(*unstructured.UnstructuredList); ok {
		return c.waits(workloads)
	}
	list := into.(*corev1.PodList)
	for i := range c.pods {
		pod := &c.pods[i]
		matches := options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(pod.Labels))
		if options.FieldSelector != nil {
			value, _ := options.FieldSelector.RequiresExactMatch(members.Index().Field)
			matches = members.Index().Values(pod)[0] == value
		}
		if matches {
			list.Items = append(list.Items, *pod)
		}
	}
	return nil
}

// waits says of every set what Kueue says of one for which there is no room.
func (c *cluster) waits(into *unstructured.UnstructuredList) error {
	into.Items = append(into.Items, unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient unused quota for cpu"},
	}}}})
	return nil
}

func (c *cluster) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	made := object.(*unstructured.Unstructured)
	made.SetUID(types.UID(made.GetName() + "-uid"))
	made.SetCreationTimestamp(metav1.NewTime(plugintest.Now()))
	c.sets[made.GetName()] = made.DeepCopy()
	return nil
}

func (c *cluster) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	c.deleted = append(c.deleted, object.GetName())
	return nil
}

type bench struct {
	*cluster
	clock  *clock.Fake
	plugin plugin.Plugin
}

func newBench(t *testing.T) *bench {
	b := &bench{cluster: &cluster{sets: map[string]*unstructured.Unstructured{}}, clock: clock.NewFake(plugintest.Now())}
	var err error
	b.plugin, err = jobset.Definition(podspec.DefaultConfig(), operated.Config{Queue: "training"}).New(plugin.Deps{
		Cache: b.cluster, Live: b.cluster, Writer: b.cluster, Store: &plugintest.Blobs{}, Clock: b.clock,
	})
	require.NoError(t, err)
	return b
}

func (b *bench) advance(t *testing.T, attempt *plugin.Attempt) plugin.State {
	t.Helper()
	state, err := b.plugin.Advance(t.Context(), attempt)
	require.NoError(t, err)
	return state
}

// launch creates the JobSet of an attempt.
func (b *bench) launch(t *testing.T, attempt *plugin.Attempt) *unstructured.Unstructured {
	t.Helper()
	b.advance(t, attempt)
	require.Len(t, b.sets, 1)
	for _, set := range b.sets {
		return set
	}
	return nil
}

func at(t *testing.T, set *unstructured.Unstructured, into any, path ...string) {
	t.Helper()
	found, has, err := unstructured.NestedFieldNoCopy(set.Object, path...)
	require.NoError(t, err)
	require.True(t, has, "%v", path)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(found.(map[string]any), into))
}

// job is the template of the one Job of a JobSet.
func job(t *testing.T, set *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	all, _, err := unstructured.NestedSlice(set.Object, "spec", "replicatedJobs")
	require.NoError(t, err)
	require.Len(t, all, 1)
	replicated := all[0].(map[string]any)
	require.Equal(t, "workers", replicated["name"], "the launcher derives the name of the first host from it")
	return &unstructured.Unstructured{Object: replicated["template"].(map[string]any)}
}

func TestTheJobSetOfAnAttempt(t *testing.T) {
	b := newBench(t)
	set := b.launch(t, plugintest.AttemptOf(clustered(t, nil)))
	require.Equal(t, "r1-a0-0123abcd-0", set.GetName())
	require.Equal(t, "training", set.GetLabels()["kueue.x-k8s.io/queue-name"])
	require.NotContains(t, set.GetLabels(), podspec.LabelTaskAction, "only pods are found by it")
	subdomain, _, _ := unstructured.NestedString(set.Object, "spec", "network", "subdomain")
	require.Equal(t, set.GetName(), subdomain)

	only := job(t, set)
	for name, want := range map[string]int64{"parallelism": 3, "completions": 3, "backoffLimit": 0} {
		got, _, _ := unstructured.NestedInt64(only.Object, "spec", name)
		require.Equal(t, want, got, name)
	}
	template := &corev1.PodTemplateSpec{}
	at(t, only, template, "spec", "template")
	require.Equal(t, corev1.RestartPolicyNever, template.Spec.RestartPolicy)
	require.Equal(t, "r1-a0-0123abcd", template.Labels[podspec.LabelTaskAction])
	env := map[string]string{}
	for _, variable := range template.Spec.Containers[0].Env {
		require.NotContains(t, env, variable.Name, "each variable once")
		env[variable.Name] = variable.Value
		if variable.ValueFrom != nil {
			env[variable.Name] = variable.ValueFrom.FieldRef.FieldPath
		}
	}
	for name, want := range map[string]string{
		"JOBSET_NAME": set.GetName(), "NNODES": "3", "NPROC_PER_NODE": "2", "RDZV_BACKEND": "c10d", "MASTER_PORT": "29500",
		"JOBSET_MAX_RESTARTS": "0", "PET_MAX_RESTARTS": "4", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "POD_NAMESPACE": "metadata.namespace",
		"JOBSET_RESTART_ATTEMPT": "metadata.labels['jobset.sigs.k8s.io/restart-attempt']",
	} {
		require.Equal(t, want, env[name], name)
	}
}

func TestMaintenanceRestartsForFree(t *testing.T) {
	b := newBench(t)
	set := b.launch(t, plugintest.AttemptOf(clustered(t, map[string]any{
		"replicas": 1, "nprocPerNode": 1, "failurePolicy": map[string]any{"maxRestarts": 2, "restartOnHostMaintenance": true},
	})))
	restarts, _, _ := unstructured.NestedInt64(set.Object, "spec", "failurePolicy", "maxRestarts")
	require.EqualValues(t, 2, restarts)
	rules, _, _ := unstructured.NestedSlice(set.Object, "spec", "failurePolicy", "rules")
	require.Equal(t, "RestartJobSetAndIgnoreMaxRestarts", rules[0].(map[string]any)["action"])
	rules, _, _ = unstructured.NestedSlice(job(t, set).Object, "spec", "podFailurePolicy", "rules")
	require.Equal(t, "FailJob", rules[0].(map[string]any)["action"])
}

func TestWhatCannotBeRun(t *testing.T) {
	for words, custom := range map[string]map[string]any{
		"replicas: want 1 to 99999, got 0":             {"nprocPerNode": 1},
		"nproc_per_node: want at least 1":              {"replicas": 1},
		"failure_policy.max_restarts: must not be":     {"replicas": 1, "nprocPerNode": 1, "failurePolicy": map[string]any{"maxRestarts": -1}},
		"runtime.torchrun.max_restarts: must not be":   {"replicas": 1, "nprocPerNode": 1, "runtime": map[string]any{"torchrun": map[string]any{"maxRestarts": -1}}},
		`custom of task type "clustered-task": proto:`: {"replicas": "many"},
	} {
		b := newBench(t)
		state := b.advance(t, plugintest.AttemptOf(clustered(t, custom)))
		require.NotNil(t, state.Failure, words)
		require.Equal(t, failure.BadTaskSpecification, state.Failure.Reason)
		require.Contains(t, state.Failure.Message, words)
		require.Empty(t, b.sets)
	}
}

// TestNamesFitTheHostsOfPods: the controller appends to the name, and host names have at most 63 characters.
func TestNamesFitTheHostsOfPods(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(clustered(t, nil))
	attempt.Task.Name = strings.Repeat("a", 60) + "-0123abcd"
	set := b.launch(t, attempt)
	require.Empty(t, validation.IsDNS1035Label(set.GetName()+"-workers-0-99999-x7k2p"))
}

// pod adds the pod of an index, as the Job controller creates it.
func (b *bench) pod(t *testing.T, set *unstructured.Unstructured, index int, change func(*corev1.Pod)) {
	t.Helper()
	template := &corev1.PodTemplateSpec{}
	at(t, job(t, set), template, "spec", "template")
	pod := corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = set.GetNamespace(), fmt.Sprintf("%s-workers-0-%d-abcde", set.GetName(), index)
	pod.UID, pod.Spec.NodeName = types.UID(pod.Name), "n"
	pod.Labels["batch.kubernetes.io/job-completion-index"] = fmt.Sprint(index) // the cache drops annotations
	pod.CreationTimestamp = metav1.NewTime(plugintest.Now())
	change(&pod)
	b.pods = append(b.pods, pod)
}

func runs(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "primary", State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(plugintest.Now())},
	}}}
}

func pulls(p *corev1.Pod) {
	p.Status.Phase = corev1.PodPending
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "primary", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
	}}}
}

func exits(code int32, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "primary", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.NewTime(plugintest.Now().Add(time.Second))},
		}}}
	}
}

func condition(set *unstructured.Unstructured, kind string) {
	set.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": kind, "status": "True", "reason": "FailedJobs", "message": "jobset failed due to one or more job failures"},
	}}
}

func TestStatesOfJobSets(t *testing.T) {
	const (
		waiting   = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
		running   = common.ActionPhase_ACTION_PHASE_RUNNING
		succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
		failed    = common.ActionPhase_ACTION_PHASE_FAILED
	)
	for name, tc := range map[string]struct {
		age    time.Duration
		pods   []func(*corev1.Pod)
		change func(*unstructured.Unstructured)
		phase  common.ActionPhase
		reason failure.Reason
		words  string
	}{
		"new":                      {phase: common.ActionPhase_ACTION_PHASE_QUEUED},
		"its controller is silent": {age: time.Minute, phase: waiting, words: "waits for the JobSet controller to create its pods"},
		"suspended": {age: time.Minute, phase: waiting, words: "JobSet is suspended: LocalQueue training has not admitted it: insufficient unused quota for cpu", change: func(set *unstructured.Unstructured) {
			condition(set, "Suspended")
		}},
		"one pod pulls":         {pods: []func(*corev1.Pod){runs, pulls}, phase: common.ActionPhase_ACTION_PHASE_INITIALIZING, words: "pod r1-a0-0123abcd-0-workers-0-1-abcde: "},
		"all run":               {pods: []func(*corev1.Pod){runs, runs}, phase: running},
		"one failed, unsettled": {pods: []func(*corev1.Pod){runs, exits(1, "Error")}, phase: running},
		"restarted": {pods: []func(*corev1.Pod){runs, runs}, phase: running, words: "restart 2", change: func(set *unstructured.Unstructured) {
			set.Object["status"] = map[string]any{"restarts": int64(2)}
		}},
		"image cannot be pulled": {age: time.Hour, pods: []func(*corev1.Pod){runs, pulls}, phase: failed, reason: failure.ImagePullBackOff, words: "workers-0-1-abcde: "},
		"complete":               {pods: []func(*corev1.Pod){exits(0, "Completed")}, phase: succeeded, change: func(set *unstructured.Unstructured) { condition(set, "Completed") }},
		"failed for memory": {
			pods: []func(*corev1.Pod){exits(1, "Error"), exits(137, "OOMKilled")}, phase: failed, reason: failure.OOMKilled, words: "workers-0-1-abcde: ",
			change: func(set *unstructured.Unstructured) { condition(set, "Failed") },
		},
		"failed, its pods cleaned up": {
			phase: failed, reason: failure.OperatorFailed, words: "one or more job failures",
			change: func(set *unstructured.Unstructured) { condition(set, "Failed") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			attempt := plugintest.AttemptOf(clustered(t, nil))
			set := b.launch(t, attempt)
			for i, change := range tc.pods {
				b.pod(t, set, i, change)
			}
			if tc.change != nil {
				tc.change(set)
			}
			b.clock.Step(tc.age)
			state := b.advance(t, attempt)
			require.Equal(t, tc.phase, state.Phase, state.Message)
			require.Equal(t, set.GetUID(), state.Object)
			if tc.reason != "" {
				require.Equal(t, tc.reason, state.Failure.Reason)
				require.Contains(t, state.Failure.Message, tc.words)
			} else {
				require.Nil(t, state.Failure)
				require.Contains(t, state.Message, tc.words)
			}
			if len(tc.pods) > 0 {
				require.Equal(t, set.GetName()+"-workers-0-0-abcde", state.LogContext.GetPrimaryPodName())
				require.Len(t, state.LogContext.GetPods(), len(tc.pods))
				logs, err := b.plugin.(plugin.Logged).Logs(t.Context(), attempt)
				require.NoError(t, err)
				require.NotEmpty(t, logs)
			}
		})
	}
}

func TestAnAbortStopsThePodsAfterTheirJobSet(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(clustered(t, nil))
	set := b.launch(t, attempt)
	b.pod(t, set, 0, runs)
	b.pod(t, set, 1, exits(0, "Completed"))
	require.NoError(t, b.plugin.Remove(t.Context(), attempt))
	require.Equal(t, []string{set.GetName(), set.GetName() + "-workers-0-0-abcde"}, b.deleted)
}
