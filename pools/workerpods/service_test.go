package workerpods_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pools/workerpods"
)

const (
	waitLimit = 20 * time.Second
	look      = 10 * time.Millisecond
	ownImage  = "registry.example/flyte-binary:1"
)

// fleet is WorkerFleetService with a set of workers.
type fleet struct {
	enginev1connect.UnimplementedWorkerFleetServiceHandler

	mu      sync.Mutex
	wanted  map[string]*enginev1.DesiredWorker  // GUARDED_BY(mu)
	seen    map[string]*enginev1.ObservedWorker // GUARDED_BY(mu): the last report
	changed chan struct{}                       // GUARDED_BY(mu): closed and replaced with each change
	hung    int                                 // GUARDED_BY(mu): the next streams that are accepted and then say nothing
}

func (f *fleet) WatchWorkers(ctx context.Context, _ *enginev1.WatchWorkersRequest, to *connect.ServerStream[enginev1.WatchWorkersResponse]) error {
	f.mu.Lock()
	f.hung--
	hung := f.hung >= 0
	f.mu.Unlock()
	if hung {
		<-ctx.Done()
		return ctx.Err()
	}
	sent := map[string]bool{}
	for {
		f.mu.Lock()
		var messages []*enginev1.WatchWorkersResponse
		for id, w := range f.wanted {
			if !sent[id] {
				sent[id] = true
				messages = append(messages, &enginev1.WatchWorkersResponse{Message: &enginev1.WatchWorkersResponse_Worker{Worker: w}})
			}
		}
		for id := range sent {
			if f.wanted[id] == nil {
				delete(sent, id)
				removed := &enginev1.RemovedWorker{Id: id}
				messages = append(messages, &enginev1.WatchWorkersResponse{Message: &enginev1.WatchWorkersResponse_Removed{Removed: removed}})
			}
		}
		changed := f.changed
		f.mu.Unlock()
		messages = append(messages, &enginev1.WatchWorkersResponse{Message: &enginev1.WatchWorkersResponse_Sentinel{Sentinel: &enginev1.WorkersSentinel{}}})
		for _, m := range messages {
			if err := to.Send(m); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fleet) IssueWorkerToken(_ context.Context, r *enginev1.IssueWorkerTokenRequest) (*enginev1.IssueWorkerTokenResponse, error) {
	return &enginev1.IssueWorkerTokenResponse{Token: "token of " + r.GetId()}, nil
}

func (f *fleet) ReportWorkers(_ context.Context, r *enginev1.ReportWorkersRequest) (*enginev1.ReportWorkersResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range r.GetWorkers() {
		f.seen[w.GetId()] = w
	}
	return &enginev1.ReportWorkersResponse{}, nil
}

func (f *fleet) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

// secrets is SecretValueService with one secret.
type secrets struct{}

func (secrets) GetSecretValues(_ context.Context, r *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error) {
	answer := &enginev1.GetSecretValuesResponse{Searched: []string{"the organization"}}
	for _, name := range r.GetNames() {
		if name == "key" {
			answer.Values = append(answer.Values, &enginev1.SecretValue{Name: name, Value: []byte("hidden")})
		} else {
			answer.Missing = append(answer.Missing, name)
		}
	}
	return answer, nil
}

// fixture is the service in front of a real API server. There is no kubelet: tests write the status of pods.
type fixture struct {
	t *testing.T
	*kubetest.Cluster
	fleet *fleet
}

func newFixture(t *testing.T, change func(*workerpods.Config, *podspec.Config)) *fixture {
	t.Helper()
	f := newCluster(t)
	f.start(clock.System{}, change)
	return f
}

func newCluster(t *testing.T) *fixture {
	t.Helper()
	return &fixture{t: t, Cluster: kubetest.New(t), fleet: &fleet{
		wanted: map[string]*enginev1.DesiredWorker{}, seen: map[string]*enginev1.ObservedWorker{}, changed: make(chan struct{}),
	}}
}

// start starts the service.
func (f *fixture) start(c clock.Clock, change func(*workerpods.Config, *podspec.Config)) {
	f.t.Helper()
	t := f.t
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(enginev1connect.NewWorkerFleetServiceHandler(f.fleet, connect.WithHandlerOptions(mux.Options()...)))
	config, pod := workerpods.Config{}, podspec.DefaultConfig()
	pod.Endpoint, pod.Insecure, pod.Copilot.Image = "dns:///flyte.example:8088", true, ownImage
	if change != nil {
		change(&config, &pod)
	}
	service, err := workerpods.New(config, workerpods.Deps{
		Kube: f.Config, Fleet: enginev1connect.NewWorkerFleetServiceClient(rpc.InProcess(mux), rpc.InProcessURL), Describe: taskactions.FromAssignment,
		Pod: pod, Secrets: secrets{}, Namespace: namespaces.Template(f.Namespace), Installation: "ours", Clock: c, Logger: zerolog.New(zerolog.NewTestWriter(t)),
	})
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
}

// worker is a wanted worker, made like an action of a task that a test changes.
func worker(id string, change ...func(*core.TaskTemplate)) *enginev1.DesiredWorker {
	template := &core.TaskTemplate{
		Id: &core.Identifier{Name: "env.f", Version: "v1", Project: "flytesnacks", Domain: "development"}, Type: "actor",
		Interface: &core.TypedInterface{}, Metadata: &core.TaskMetadata{},
		Target: &core.TaskTemplate_Container{Container: &core.Container{
			Image: "registry.example/task:1", Args: []string{"a0", "--run-name", "{{.runName}}"},
			Env: []*core.KeyValuePair{{Key: "OF_THE_TASK", Value: "yes"}},
		}},
	}
	for _, do := range change {
		do(template)
	}
	return &enginev1.DesiredWorker{Id: id, Concurrency: 3, Like: &enginev1.Assignment{
		Ref: &enginev1.ActionRef{Uid: 1, Id: &common.ActionIdentifier{
			Run: &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: "r"}, Name: "a0",
		}},
		Task: &workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: template}}, RunOutputBase: "/data/r/", Attempt: 1,
	}}
}

func (f *fixture) want(w *enginev1.DesiredWorker) {
	f.fleet.change(func() { f.fleet.wanted[w.GetId()] = w })
}

func (f *fixture) unwant(id string) {
	f.fleet.change(func() { delete(f.fleet.wanted, id) })
}

func (f *fixture) eventually(what string, is func() bool) {
	f.t.Helper()
	require.Eventually(f.t, is, waitLimit, look, what)
}

func (f *fixture) pod(id string) *corev1.Pod {
	f.t.Helper()
	pod := &corev1.Pod{}
	f.eventually("worker "+id+" has a pod", func() bool {
		return f.Client.Get(f.t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: "worker-" + id}, pod) == nil
	})
	return pod
}

func (f *fixture) reported(id string, is func(*enginev1.ObservedWorker) bool) {
	f.t.Helper()
	f.eventually("worker "+id+" is reported", func() bool {
		f.fleet.mu.Lock()
		defer f.fleet.mu.Unlock()
		return f.fleet.seen[id] != nil && is(f.fleet.seen[id])
	})
}

func (f *fixture) status(pod *corev1.Pod, status corev1.PodStatus) {
	f.t.Helper()
	pod.Status = status
	require.NoError(f.t, f.Client.Status().Update(f.t.Context(), pod))
}

func variable(c *corev1.Container, name string) *corev1.EnvVar {
	for i := range c.Env {
		if c.Env[i].Name == name {
			return &c.Env[i]
		}
	}
	return nil
}

// TestThePodOfAWorker has the shape that a cluster needs: our program comes by an init container.
func TestThePodOfAWorker(t *testing.T) {
	f := newFixture(t, nil)
	f.want(worker("w1", func(t *core.TaskTemplate) {
		t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "key", EnvVar: "FROM_SECRET", MountRequirement: core.Secret_ENV_VAR}}}
	}))
	pod := f.pod("w1")
	require.Equal(t, "w1", pod.Labels[v1.Group+"/worker"])
	require.Equal(t, "ours", pod.Labels[v1.LabelInstallation])
	require.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)

	var install *corev1.Container
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Image == ownImage {
			install = &pod.Spec.InitContainers[i]
		}
	}
	require.NotNil(t, install)
	require.Equal(t, []string{"flyte-binary", "worker", "--install=/var/flyte/worker"}, append(install.Command, install.Args...))
	require.False(t, *install.SecurityContext.AllowPrivilegeEscalation)
	require.True(t, *install.SecurityContext.ReadOnlyRootFilesystem)

	primary := &pod.Spec.Containers[0]
	require.Equal(t, "registry.example/task:1", primary.Image)
	require.Equal(t, []string{"/var/flyte/worker/flyte-binary", "worker"}, primary.Command)
	require.Empty(t, primary.Args)
	mounted := map[string]bool{}
	for _, mount := range primary.VolumeMounts {
		if mount.MountPath == "/var/flyte/worker" {
			require.True(t, mount.ReadOnly)
			require.Equal(t, mount.Name, install.VolumeMounts[0].Name)
			mounted[mount.Name] = true
		}
	}
	require.Len(t, mounted, 1)
	require.Equal(t, "http://flyte.example:8088", variable(primary, "FLYTE_WORKER_ENDPOINT").Value)
	require.Equal(t, "3", variable(primary, "FLYTE_WORKER_CONCURRENCY").Value)
	require.Equal(t, "yes", variable(primary, "OF_THE_TASK").Value)
	for _, name := range []string{"ACTION_NAME", "RUN_NAME", "_U_RUN_BASE"} {
		require.Nil(t, variable(primary, name), "each attempt brings its own")
	}

	token := variable(primary, "FLYTE_WORKER_TOKEN").ValueFrom.SecretKeyRef
	held := &corev1.Secret{}
	require.NoError(t, f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: token.Name}, held))
	require.Equal(t, "token of w1", string(held.Data[token.Key]))
	require.Equal(t, held.UID, pod.OwnerReferences[0].UID, "the pod goes with the Secret")

	given := variable(primary, "FROM_SECRET")
	require.NotNil(t, given)
	values := &corev1.Secret{}
	require.NoError(t, f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: given.ValueFrom.SecretKeyRef.Name}, values))
	require.Equal(t, "hidden", string(values.Data[given.ValueFrom.SecretKeyRef.Key]))
	require.Equal(t, held.UID, values.OwnerReferences[0].UID)
}

func TestAProgramOfTheNodeNeedsNoInitContainer(t *testing.T) {
	f := newFixture(t, func(c *workerpods.Config, p *podspec.Config) {
		c.Program, p.Copilot.Image = "/usr/bin/flyte-binary", ""
	})
	f.want(worker("w1"))
	pod := f.pod("w1")
	require.Empty(t, pod.Spec.InitContainers)
	require.Equal(t, []string{"/usr/bin/flyte-binary", "worker"}, pod.Spec.Containers[0].Command)
}

func TestAWorkerThatCannotHaveAPodSaysWhy(t *testing.T) {
	f := newFixture(t, func(_ *workerpods.Config, p *podspec.Config) { p.Copilot.Image = "" })
	f.want(worker("w1"))
	f.reported("w1", func(w *enginev1.ObservedWorker) bool {
		return w.GetEnded() && w.GetReason() != "" && len(w.GetReason()) < 4001
	})
	other := newFixture(t, nil)
	other.want(worker("w2", func(t *core.TaskTemplate) {
		t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "missing", MountRequirement: core.Secret_ENV_VAR}}}
	}))
	other.reported("w2", func(w *enginev1.ObservedWorker) bool { return w.GetReason() != "" })
}

// TestWhatBecomesOfAPod is reported, and only the end of its process loses a worker.
func TestWhatBecomesOfAPod(t *testing.T) {
	f := newFixture(t, nil)
	for _, id := range []string{"unschedulable", "evicted", "out-of-memory", "killed", "done", "deleted", "unwanted"} {
		f.want(worker(id))
	}
	f.status(f.pod("unschedulable"), corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available", LastTransitionTime: metav1.Now(),
	}}})
	f.reported("unschedulable", func(w *enginev1.ObservedWorker) bool { return !w.GetEnded() && w.GetReason() != "" })
	f.status(f.pod("evicted"), corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "the node was low on memory"})
	f.reported("evicted", func(w *enginev1.ObservedWorker) bool {
		return w.GetEnded() && w.GetReason() != "" && !w.GetOutOfMemory()
	})
	for id, reason := range map[string]string{"out-of-memory": "OOMKilled", "killed": "Error"} {
		pod := f.pod(id)
		f.status(pod, corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reason}},
		}}})
		f.reported(id, func(w *enginev1.ObservedWorker) bool {
			return w.GetEnded() && w.GetOutOfMemory() == (reason == "OOMKilled")
		})
	}
	f.status(f.pod("done"), corev1.PodStatus{Phase: corev1.PodSucceeded})
	f.reported("done", func(w *enginev1.ObservedWorker) bool { return w.GetEnded() })

	pod := f.pod("unwanted")
	f.unwant("unwanted")
	f.eventually("its objects are deleted", func() bool {
		gone := apierrors.IsNotFound(f.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}))
		return gone && apierrors.IsNotFound(f.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Secret{}))
	})

	deleted := f.pod("deleted")
	require.NoError(t, f.Client.Delete(t.Context(), deleted, client.GracePeriodSeconds(0)))
	f.eventually("a pod that somebody deleted is made again while its worker is wanted", func() bool {
		again := &corev1.Pod{}
		return f.Client.Get(t.Context(), client.ObjectKeyFromObject(deleted), again) == nil && again.UID != deleted.UID
	})
}

// What a runtime says of a worker that cannot start may have a value that the worker was given.
func TestNoReasonHasAValueThatAWorkerWasGiven(t *testing.T) {
	f := newFixture(t, nil)
	f.want(worker("w", func(t *core.TaskTemplate) {
		t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "key", EnvVar: "FROM_SECRET", MountRequirement: core.Secret_ENV_VAR}}}
	}))
	pod := f.pod("w")
	f.status(pod, corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 128, Reason: "StartError", Message: `exec: "hidden": executable file not found, nor "token of w"`,
		}},
	}}})
	var reason string
	f.reported("w", func(w *enginev1.ObservedWorker) bool {
		reason = w.GetReason()
		return w.GetEnded()
	})
	require.Contains(t, reason, "executable file not found")
	require.NotContains(t, reason, "hidden")
	require.NotContains(t, reason, "token of w")
}

// A server that hangs after it has accepted the stream would leave workers unscheduled forever.
func TestWantedWorkersOfAHungServiceAreWatchedAgain(t *testing.T) {
	f := newCluster(t)
	f.fleet.hung = 1
	fake := clock.NewFake(time.Now())
	f.start(fake, nil)
	f.want(worker("w"))
	f.eventually("the worker has a pod", func() bool {
		fake.Step(time.Second)
		return f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: "worker-w"}, &corev1.Pod{}) == nil
	})
}

// A reason that ended in half a character, or has a zero byte, would make each report fail forever.
func TestReasonsOfAnyTextAreReported(t *testing.T) {
	f := newFixture(t, nil)
	f.want(worker("w"))
	pod := f.pod("w")
	f.status(pod, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "a\x00" + strings.Repeat("é", 3000),
	}}})
	f.reported("w", func(w *enginev1.ObservedWorker) bool {
		return strings.HasSuffix(w.GetReason(), "éé") && !strings.Contains(w.GetReason(), "\x00")
	})
}
