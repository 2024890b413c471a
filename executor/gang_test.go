package executor_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// gang is the plugin of an operator that creates two pods for an object. The test creates them in its place.
type gang struct {
	*widgets
	pods *members.Reader
}

func gangOf(kind schema.GroupVersionKind) plugin.Definition {
	definition := widgetsOf(kind)
	single := definition.New
	definition.Indexes = []plugin.Index{members.Index()}
	definition.New = func(deps plugin.Deps) (plugin.Plugin, error) {
		made, err := single(deps)
		if err != nil {
			return nil, err
		}
		return &gang{widgets: made.(*widgets), pods: members.NewReader(podspec.DefaultConfig(), deps)}, nil
	}
	return definition
}

func (g *gang) Watches() []plugin.Watch { return append(g.widgets.Watches(), members.Watch()) }

func (g *gang) read(ctx context.Context, attempt *plugin.Attempt) ([]members.Member, error) {
	pods, err := g.pods.Cached(ctx, attempt)
	if err != nil {
		return nil, err
	}
	var all []members.Member
	for i := range pods {
		one, err := g.pods.Of(ctx, attempt, &pods[i])
		if err != nil {
			return nil, err
		}
		one.Primary = one.Role == "head"
		all = append(all, one)
	}
	return all, nil
}

// creates is what the gang always says.
const creates = "the operator creates the pods"

// Advance fails the attempt when all its pods have ended.
func (g *gang) Advance(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	result, err := g.widgets.Advance(ctx, attempt)
	if err != nil || result.Object == "" {
		return result, err
	}
	all, err := g.read(ctx, attempt)
	if err != nil {
		return result, err
	}
	result.LogContext = members.LogContext(all)
	result.Reason, result.Message, result.Expected = "Creating", creates, true
	ended := func(m members.Member) bool { return m.State.Phase >= common.ActionPhase_ACTION_PHASE_SUCCEEDED }
	if len(all) == 2 && !slices.ContainsFunc(all, func(m members.Member) bool { return !ended(m) }) {
		if why := members.Blame(all); why != nil {
			result.Fail(why)
		}
	}
	return result, nil
}

// Logs implements plugin.Logged.
func (g *gang) Logs(ctx context.Context, attempt *plugin.Attempt) ([]plugin.Log, error) {
	all, err := g.read(ctx, attempt)
	return members.Logs(all), err
}

// TestAnAttemptWithSeveralPods: its failure names the member that caused the others to fail, and each has its own stored log,
// although their containers have the same names.
func TestAnAttemptWithSeveralPods(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "gang.example.org", Version: "v1", Kind: "Widget"}
	h := newHarnessWith(t, []plugin.Definition{gangOf(kind)}, kubetest.NodeOptions{
		Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
			if pod.Labels[podspec.LabelRole] == "worker" {
				return kubetest.Result{ExitCode: 137, Reason: "OOMKilled"}
			}
			return kubetest.Result{ExitCode: 1} // It lost its worker.
		},
		Log: func(pod, _ string) string { return "2026-01-02T03:04:05.000000006Z hello from " + pod + "\n" },
	})
	objects := kubetest.Define(t, h.Cluster, kind, "widgets")
	h.stop(h.service)
	h.start() // with the kind
	action, task := h.submit(taskTemplate(asWidget, withoutOutputs))
	var owner *unstructured.Unstructured
	require.Eventually(t, func() bool {
		found, err := objects.Get(context.Background(), v1.PodName(task.Name, 1), metav1.GetOptions{})
		owner = found
		return err == nil
	}, waitLimit, 10*time.Millisecond)

	builder, err := podspec.New(podspec.DefaultConfig(), podspec.Deps{Live: h.Client, Store: h.store})
	require.NoError(t, err)
	attempt := &plugin.Attempt{Task: task, Template: taskTemplate(), Number: 1, Dir: blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", 1)}
	for _, role := range []string{"head", "worker"} {
		template, err := builder.BuildMember(t.Context(), attempt, podspec.Role{Name: role})
		require.NoError(t, err)
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Namespace, pod.Name = h.Namespace, owner.GetName()+"-"+role
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
		require.NoError(t, h.Client.Create(t.Context(), pod))
	}
	h.record.awaitPhase(t, action, 1, state.Failed)
	last := h.record.last(action)
	require.Equal(t, string(failure.OOMKilled), last.GetError().GetCode())
	require.Contains(t, last.GetError().GetMessage(), "worker pod "+owner.GetName()+"-worker: ")
	require.Equal(t, owner.GetName()+"-head", last.GetEvent().GetLogContext().GetPrimaryPodName())
	said := 0
	for _, transition := range h.record.events(action) {
		for _, event := range transition.GetEvent().GetClusterEvents() {
			if event.GetMessage() == creates && transition.GetError() == nil {
				said++
				require.Equal(t, workflow.ClusterEvent_TYPE_NORMAL, event.GetType(), "a normal part of a start is no warning")
			}
		}
	}
	require.Equal(t, 1, said, "pods that appear, and reports that repeat what is known, do not repeat the message")
	for member, pod := range map[string]string{"": owner.GetName() + "-head", owner.GetName() + "-worker": owner.GetName() + "-worker"} {
		require.Eventually(t, func() bool {
			body, err := os.ReadFile(blobpath.SealedLog(attempt.Dir, member, "primary"))
			return err == nil && string(body) == "2026-01-02T03:04:05.000000006Z hello from "+pod+"\n"
		}, waitLimit, 10*time.Millisecond, "the log of %s", pod)
	}
}
