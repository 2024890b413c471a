package charts_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret/secretconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
)

const (
	projectID = "flytesnacks"
	domainID  = "development"
	// holds is the image of tasks that run until they are aborted.
	holds = "holds"
	// appImage is that of the app.
	appImage = "web:1"
)

// flows goes through what a server does with a cluster.
type flows struct {
	t       *testing.T
	cluster *kubetest.Cluster
	// requests are those of the server to the API server.
	requests *recorder
	// tasksIn is the namespace of tasks.
	tasksIn string
	// start starts the server and returns its URL and what stops it.
	start func() (string, func())
	url   string
	stop  func()
	// appEnds is closed when the replica of the app may end.
	appEnds chan struct{}
	runs    workflowconnect.RunServiceClient
	apps    appconnect.AppServiceClient
	keeper  secretconnect.SecretServiceClient
}

func newFlows(t *testing.T, cluster *kubetest.Cluster, requests *recorder, tasksIn string, start func() (string, func())) *flows {
	appEnds := make(chan struct{})
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{AllNamespaces: true, Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		container := pod.Spec.Containers[0]
		if container.Image == holds {
			<-ctx.Done()
			return kubetest.Result{ExitCode: 143}
		}
		if container.Image == appImage {
			select {
			case <-appEnds:
			case <-ctx.Done():
			}
			return kubetest.Result{}
		}
		if len(container.Args) == 1 && (os.MkdirAll(container.Args[0], 0o755) != nil || os.WriteFile(filepath.Join(container.Args[0], "outputs.pb"), nil, 0o600) != nil) {
			return kubetest.Result{ExitCode: 1}
		}
		return kubetest.Result{}
	}})
	f := &flows{t: t, cluster: cluster, requests: requests, tasksIn: tasksIn, start: start, appEnds: appEnds}
	f.connect()
	return f
}

// connect starts a server.
func (f *flows) connect() {
	f.url, f.stop = f.start()
	f.runs = workflowconnect.NewRunServiceClient(http.DefaultClient, f.url)
	f.apps = appconnect.NewAppServiceClient(http.DefaultClient, f.url)
	f.keeper = secretconnect.NewSecretServiceClient(http.DefaultClient, f.url)
}

func (f *flows) eventually(what string, holds func() bool) {
	f.t.Helper()
	require.Eventually(f.t, holds, time.Minute, 20*time.Millisecond, what)
}

// secrets stores, changes, lists and deletes secrets. One stays, for tasks and apps.
func (f *flows) secrets() {
	ctx := f.t.Context()
	value := &secretpb.SecretSpec{Value: &secretpb.SecretSpec_StringValue{StringValue: "value"}}
	for _, name := range []string{"key", "other"} {
		id := &secretpb.SecretIdentifier{Name: name, Project: projectID, Domain: domainID}
		_, err := f.keeper.CreateSecret(ctx, &secretpb.CreateSecretRequest{Id: id, SecretSpec: value})
		require.NoError(f.t, err)
		_, err = f.keeper.UpdateSecret(ctx, &secretpb.UpdateSecretRequest{Id: id, SecretSpec: value})
		require.NoError(f.t, err)
		if name == "other" {
			_, err = f.keeper.DeleteSecret(ctx, &secretpb.DeleteSecretRequest{Id: id})
			require.NoError(f.t, err)
		}
	}
	listed, err := f.keeper.ListSecrets(ctx, &secretpb.ListSecretsRequest{})
	require.NoError(f.t, err)
	require.Len(f.t, listed.GetSecrets(), 1)
}

func (f *flows) create(name, image string, change func(*core.TaskTemplate)) *common.RunIdentifier {
	f.t.Helper()
	run := &common.RunIdentifier{Project: projectID, Domain: domainID, Name: name}
	template := &core.TaskTemplate{
		Id:     &core.Identifier{Project: projectID, Domain: domainID, Name: name + ".main", Version: "1"},
		Type:   "python",
		Target: &core.TaskTemplate_Container{Container: &core.Container{Image: image, Args: []string{"{{.outputPrefix}}"}}},
	}
	if change != nil {
		change(template)
	}
	_, err := f.runs.CreateRun(f.t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: run}, Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: template}},
	})
	require.NoError(f.t, err)
	return run
}

func (f *flows) abort(run *common.RunIdentifier) {
	f.t.Helper()
	_, err := f.runs.AbortRun(f.t.Context(), &workflow.AbortRunRequest{RunId: run})
	require.NoError(f.t, err)
	f.gone(run)
}

// measured runs a task until the server has asked what it uses. The cluster has no metrics API, which changes nothing else.
func (f *flows) measured() {
	f.t.Helper()
	held := f.create("measured", holds, nil)
	f.eventually("no one asked the metrics API", func() bool {
		f.requests.mu.Lock()
		defer f.requests.mu.Unlock()
		for right := range f.requests.seen {
			if strings.Contains(right, "metrics.k8s.io") {
				return true
			}
		}
		return false
	})
	f.abort(held)
}

// gone waits until the cluster has nothing of a run.
func (f *flows) gone(run *common.RunIdentifier) {
	f.t.Helper()
	f.eventually(run.GetName()+" is still in the cluster", func() bool {
		var left v1.TaskActionList
		require.NoError(f.t, f.cluster.Client.List(f.t.Context(), &left, client.MatchingLabels{v1.LabelRun: run.GetName()}))
		return len(left.Items) == 0 && len(f.pods(run)) == 0
	})
}

func (f *flows) pods(run *common.RunIdentifier) []corev1.Pod {
	f.t.Helper()
	found, err := f.cluster.Clientset.CoreV1().Pods(f.tasksIn).List(f.t.Context(), metav1.ListOptions{LabelSelector: v1.LabelRun + "=" + run.GetName()})
	require.NoError(f.t, err)
	return found.Items
}

// task runs a task with a secret and a PodTemplate of the server's namespace to its end.
func (f *flows) task() {
	_, err := f.cluster.Clientset.CoreV1().PodTemplates(f.cluster.Namespace).Create(f.t.Context(), &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "primary", Image: "x"}}}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	run := f.create("task", "hello:1", func(t *core.TaskTemplate) {
		t.Metadata = &core.TaskMetadata{PodTemplateName: "small"}
		t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "key", MountRequirement: core.Secret_ENV_VAR, EnvVar: "KEY"}}}
	})
	f.eventually("the task does not succeed", func() bool {
		details, err := f.runs.GetRunDetails(f.t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
		require.NoError(f.t, err)
		require.NotEqual(f.t, common.ActionPhase_ACTION_PHASE_FAILED, details.GetDetails().GetAction().GetStatus().GetPhase(), details)
		return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
	})
	f.gone(run)
}

// adoptedTask deletes the pod of a task, as people do. Then it takes the labels of the installation and of the shard from a
// TaskAction and its pod while no server runs, as if an older version had made them.
func (f *flows) adoptedTask() {
	ctx := f.t.Context()
	run := f.create("adopted", holds, nil)
	f.eventually("no pod", func() bool { return len(f.pods(run)) == 1 })
	first := f.pods(run)[0]
	require.NoError(f.t, f.cluster.Clientset.CoreV1().Pods(f.tasksIn).Delete(ctx, first.Name, metav1.DeleteOptions{}))
	f.eventually("no second attempt", func() bool { found := f.pods(run); return len(found) == 1 && found[0].UID != first.UID })

	// A pod whose TaskAction is gone.
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: first.Labels, OwnerReferences: first.OwnerReferences}, Spec: first.Spec}
	orphan.OwnerReferences[0].Name, orphan.OwnerReferences[0].UID = "gone", "gone"
	orphan.Spec.NodeName = ""
	_, err := f.cluster.Clientset.CoreV1().Pods(f.tasksIn).Create(ctx, orphan, metav1.CreateOptions{})
	require.NoError(f.t, err)
	f.eventually("the orphan stays", func() bool { return len(f.pods(run)) == 1 })

	f.stop()
	var tasks v1.TaskActionList
	require.NoError(f.t, f.cluster.Client.List(ctx, &tasks, client.MatchingLabels{v1.LabelRun: run.GetName()}))
	require.Len(f.t, tasks.Items, 1)
	pod := f.pods(run)[0]
	for _, object := range []client.Object{&tasks.Items[0], &pod} {
		require.NoError(f.t, f.cluster.Client.Patch(ctx, object, without(v1.LabelInstallation)))
		require.NoError(f.t, f.cluster.Client.Patch(ctx, object, without(v1.LabelShard)))
	}
	f.connect()
	f.eventually("not labelled again", func() bool {
		require.NoError(f.t, f.cluster.Client.Get(ctx, client.ObjectKeyFromObject(&tasks.Items[0]), &tasks.Items[0]))
		return tasks.Items[0].Labels[v1.LabelInstallation] != "" && tasks.Items[0].Labels[v1.LabelShard] != ""
	})
	f.abort(run)
}

// without is the patch that removes a label.
func without(label string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+label+`":null}}}`))
}

// reusedTask has a worker started for a task of a reusable environment, and aborts the task: with the chart, nothing must be
// turned on.
func (f *flows) reusedTask() {
	run := f.create("reused", holds, func(t *core.TaskTemplate) {
		t.Type = tasktype.Actor
		t.ReusePolicy = &core.ReusePolicy{MinReplicas: 1, MaxReplicas: 1, Concurrency: 1}
	})
	worker := metav1.ListOptions{LabelSelector: v1.Group + "/worker"}
	f.eventually("no worker runs", func() bool {
		found, err := f.cluster.Clientset.CoreV1().Pods(f.tasksIn).List(f.t.Context(), worker)
		require.NoError(f.t, err)
		return len(found.Items) == 1 && found.Items[0].Status.Phase == corev1.PodRunning
	})
	require.Empty(f.t, f.pods(run), "the task has no pod of its own")
	f.abort(run)
}

// job deletes the Job of a task, as people do, takes the label of the shard from the next one, as if an older version had
// made it, and aborts the task.
func (f *flows) job() {
	ctx := f.t.Context()
	run := f.create("job", holds, func(t *core.TaskTemplate) { t.Config = map[string]string{"plugin": "job"} })
	jobs := f.cluster.Clientset.BatchV1().Jobs(f.tasksIn)
	name := func() string {
		found, err := jobs.List(ctx, metav1.ListOptions{LabelSelector: v1.LabelRun + "=" + run.GetName()})
		require.NoError(f.t, err)
		if len(found.Items) == 0 {
			return ""
		}
		return found.Items[0].Name
	}
	f.eventually("no Job", func() bool { return name() != "" })
	first := name()
	now := metav1.DeletePropagationBackground
	require.NoError(f.t, jobs.Delete(ctx, first, metav1.DeleteOptions{PropagationPolicy: &now}))
	f.eventually("no second attempt", func() bool { second := name(); return second != "" && second != first })
	f.stop()
	second, err := jobs.Get(ctx, name(), metav1.GetOptions{})
	require.NoError(f.t, err)
	require.NoError(f.t, f.cluster.Client.Patch(ctx, second, without(v1.LabelShard)))
	f.connect()
	f.eventually("the Job has no shard", func() bool {
		second, err = jobs.Get(ctx, second.Name, metav1.GetOptions{})
		require.NoError(f.t, err)
		return second.Labels[v1.LabelShard] != ""
	})
	f.abort(run)
	f.eventually("the Job stays", func() bool { return name() == "" })
}
