package executor_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	"github.com/flyte-binary/flyte-binary/executor"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

const waitLimit = 20 * time.Second

// record is a sink that applies the real state machine in memory.
type record struct {
	mu      sync.Mutex
	actions map[ident.Action]*recorded // GUARDED_BY(mu)
	down    bool                       // GUARDED_BY(mu): calls fail
	batches [][]*enginev1.Transition   // GUARDED_BY(mu)
	changed chan struct{}              // GUARDED_BY(mu): closed at the next change
}

type recorded struct {
	uid    int64
	at     state.Standing
	events []*enginev1.Transition // those that advanced it
}

func newRecord() *record {
	return &record{actions: map[ident.Action]*recorded{}, changed: make(chan struct{})}
}

func (r *record) Record(_ context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil, fmt.Errorf("the runs service is down")
	}
	r.batches = append(r.batches, transitions)
	outcomes := make([]enginev1.TransitionOutcome, len(transitions))
	for i, transition := range transitions {
		outcomes[i] = r.apply(transition)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return outcomes, nil
}

func (r *record) apply(transition *enginev1.Transition) enginev1.TransitionOutcome {
	event := transition.GetEvent()
	found := r.actions[ident.ActionOf(event.GetId())]
	if found == nil {
		return enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION
	}
	next := state.Position{Attempt: int32(event.GetAttempt()), Phase: int16(event.GetPhase()), Version: int32(event.GetVersion())}
	verdict := state.Next(found.at, next, state.Report(len(r.batches)))
	switch verdict.Outcome() {
	case state.Advance:
		found.at, _ = verdict.Apply(found.at)
		found.events = append(found.events, transition)
		return enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED
	case state.Ended:
		return enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL
	default:
		return enginev1.TransitionOutcome_TRANSITION_OUTCOME_STALE
	}
}

// GetAssignments says how live actions stand.
func (r *record) GetAssignments(_ context.Context, request *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil, fmt.Errorf("the runs service is down")
	}
	response := &enginev1.GetAssignmentsResponse{}
	for action, found := range r.actions {
		if !slices.Contains(request.GetUids(), found.uid) || state.Terminal(found.at.Phase) {
			continue
		}
		assignment := &enginev1.Assignment{
			Ref: &enginev1.ActionRef{Uid: found.uid, Id: action.Proto()}, Attempt: uint32(found.at.Attempt), Begun: found.at.Phase > state.Queued,
		}
		for _, event := range found.events {
			switch {
			case event.GetError() == nil:
			case event.GetEvent().GetErrorInfo().GetKind() == workflow.ErrorInfo_KIND_USER:
				assignment.UserFailures++
			default:
				assignment.SystemFailures++
			}
		}
		response.Assignments = append(response.Assignments, assignment)
	}
	return response, nil
}

func (r *record) add(action ident.Action, uid int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actions[action] = &recorded{uid: uid, at: state.Standing{Position: state.Position{Attempt: 1, Phase: state.Queued}}}
}

func (r *record) setDown(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

func (r *record) end(action ident.Action, phase state.Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actions[action].at.Phase = phase
}

// history is what was recorded of an action, as "attempt PHASE".
func (r *record) history(action ident.Action) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var result []string
	for _, transition := range r.actions[action].events {
		result = append(result, fmt.Sprintf("%d %s", transition.GetEvent().GetAttempt(),
			transition.GetEvent().GetPhase().String()[len("ACTION_PHASE_"):]))
	}
	return slices.Compact(result)
}

func (r *record) events(action ident.Action) []*enginev1.Transition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.actions[action].events)
}

func (r *record) last(action ident.Action) *enginev1.Transition {
	events := r.events(action)
	if len(events) == 0 {
		return &enginev1.Transition{}
	}
	return events[len(events)-1]
}

// await waits until a condition on the recorded transitions holds.
func (r *record) await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(waitLimit)
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func (r *record) awaitPhase(t testing.TB, action ident.Action, attempt int32, phase state.Phase) {
	t.Helper()
	r.await(t, fmt.Sprintf("%s is in phase %d of attempt %d", action, phase, attempt), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		at := r.actions[action].at
		return at.Attempt == attempt && at.Phase == phase
	})
}

// harness is a cluster with an executor and a node for one test.
type harness struct {
	*kubetest.Cluster
	t        testing.TB
	config   executor.Config
	record   *record
	store    *blobstore.Store
	root     string
	node     *kubetest.Node
	counter  *kubetest.Counter
	service  *executor.Service
	uid      atomic.Int64
	cut      atomic.Bool // the executor cannot reach the API server
	mute     atomic.Bool // the API server rejects status writes
	muted    atomic.Int64
	finished atomic.Int64 // calls of deleteFinished
	reader   *metric.ManualReader
	secrets  *secretValues
	leader   executor.Leader     // nil for all shards
	plugins  []plugin.Definition // in addition to those of the configuration

	installation string
}

func newHarness(t testing.TB, node kubetest.NodeOptions, change ...func(*executor.Config)) *harness {
	return newHarnessWith(t, nil, node, change...)
}

// newHarnessWith is newHarness with plugins of the test.
func newHarnessWith(t testing.TB, plugins []plugin.Definition, node kubetest.NodeOptions, change ...func(*executor.Config)) *harness {
	h := &harness{plugins: plugins, Cluster: kubetest.New(t), t: t, record: newRecord(), root: t.TempDir(), secrets: &secretValues{}}
	config := blobstore.DefaultConfig()
	config.URL, config.Sync = h.root, false
	var err error
	h.store, err = blobstore.Open(context.Background(), config)
	require.NoError(t, err)
	h.config = executor.DefaultConfig()
	h.config.Namespaces = []string{h.Namespace}
	h.config.InstallCRD = false
	h.config.Reconciler.SystemBackoff = 10 * time.Millisecond
	h.config.Reconciler.MaxSystemBackoff = 20 * time.Millisecond
	for _, c := range change {
		c(&h.config)
	}
	h.node = kubetest.StartNode(t, h.Cluster, node)
	h.start()
	return h
}

func (h *harness) start() {
	kube, counter := kubetest.Counted(h.Config)
	h.counter = counter
	kube.Wrap(func(next http.RoundTripper) http.RoundTripper { return breakable{h, next} })
	h.reader = metric.NewManualReader()
	service, err := executor.NewWith(h.config, executor.Deps{
		Installation: h.installation, Leader: h.leader, Meter: metric.NewMeterProvider(metric.WithReader(h.reader)),
		Kube: kube, Sink: h.record, Assignments: h.record, Store: h.store, Secrets: h.secrets, Logger: zerolog.New(zerolog.NewTestWriter(h.t)).Level(zerolog.WarnLevel),
	}, h.plugins...)
	require.NoError(h.t, err)
	service.NotifyFinished(h.deleteFinished)
	require.NoError(h.t, service.Start(context.Background()))
	h.service = service
	h.t.Cleanup(func() { h.stop(service) })
}

// deleteFinished deletes a TaskAction, as its owner does.
func (h *harness) deleteFinished(task *v1.TaskAction) {
	h.finished.Add(1)
	err := h.Client.Delete(context.Background(), &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: task.Name}},
		client.Preconditions{UID: &task.UID})
	if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		require.NoError(h.t, err)
	}
}

func (h *harness) stop(service *executor.Service) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	require.NoError(h.t, service.Stop(ctx))
}

// breakable is a connection to the API server that can be cut.
type breakable struct {
	h    *harness
	next http.RoundTripper
}

func (b breakable) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.h.cut.Load() {
		return nil, fmt.Errorf("the API server is unreachable")
	}
	if b.h.mute.Load() && strings.HasSuffix(request.URL.Path, "/status") {
		b.h.muted.Add(1)
		return nil, fmt.Errorf("the API server rejects status writes")
	}
	return b.next.RoundTrip(request)
}

func taskTemplate(change ...func(*core.TaskTemplate)) *core.TaskTemplate {
	template := &core.TaskTemplate{
		Id:   &core.Identifier{Project: "p", Domain: "d", Name: "env.main", Version: "v1"},
		Type: "python",
		Interface: &core.TypedInterface{Outputs: &core.VariableMap{Variables: []*core.VariableEntry{
			{Key: "o0", Value: &core.Variable{Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}}}},
		}}},
		Target: &core.TaskTemplate_Container{Container: &core.Container{
			Image: "image", Args: []string{"a0", "--inputs", "{{.input}}", "--outputs-path", "{{.outputPrefix}}"},
		}},
	}
	for _, c := range change {
		c(template)
	}
	return template
}

func withRetries(n uint32) func(*core.TaskTemplate) {
	return func(t *core.TaskTemplate) {
		t.Metadata = &core.TaskMetadata{Retries: &core.RetryStrategy{Retries: n}}
	}
}

func withoutOutputs(t *core.TaskTemplate) { t.Interface = nil }

// submit records an action and creates its TaskAction, as its owner does.
func (h *harness) submit(template *core.TaskTemplate, change ...func(*enginev1.Assignment)) (ident.Action, *v1.TaskAction) {
	h.t.Helper()
	return h.submitAs(template, h.installation, change...)
}

func clientKey(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }

// submitAs is submit for a given installation.
func (h *harness) submitAs(template *core.TaskTemplate, installation string, change ...func(*enginev1.Assignment)) (ident.Action, *v1.TaskAction) {
	h.t.Helper()
	uid := h.uid.Add(1)
	action := ident.Run{Project: "p", Domain: "d", Name: "r" + strconv.FormatInt(uid, 10)}.Root()
	h.record.add(action, uid)
	assignment := &enginev1.Assignment{
		Ref:           &enginev1.ActionRef{Uid: uid, Id: action.Proto()},
		Task:          &workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: template, ShortName: "main"}},
		InputUri:      h.root + "/in",
		RunOutputBase: blobpath.RunBase(h.root, "p", "d", action.Run.Name),
		Attempt:       1,
		RunStartTime:  timestamppb.Now(),
		QueuedAt:      timestamppb.Now(),
	}
	for _, f := range change {
		f(assignment)
	}
	made := taskactions.FromAssignment(assignment, h.Namespace)
	if installation != "" {
		made.Labels[v1.LabelInstallation] = installation
	}
	require.NoError(h.t, h.Client.Create(context.Background(), made))
	return action, made
}

// awaitGone waits until nothing of an action is left in the cluster.
func (h *harness) awaitGone(task *v1.TaskAction) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		err := h.Client.Get(context.Background(), client.ObjectKeyFromObject(task), &v1.TaskAction{})
		return apierrors.IsNotFound(err) && len(h.pods()) == 0
	}, waitLimit, 5*time.Millisecond, "the TaskAction and its pods must be deleted")
}

func (h *harness) pods() []corev1.Pod {
	h.t.Helper()
	list, err := h.Clientset.CoreV1().Pods(h.Namespace).List(context.Background(), metav1.ListOptions{})
	require.NoError(h.t, err)
	return list.Items
}

func (h *harness) awaitPods(n int) []corev1.Pod {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.pods()) == n }, waitLimit, 5*time.Millisecond)
	return h.pods()
}

// outputDir is the attempt directory that a pod was given.
func outputDir(pod *corev1.Pod) string {
	args := pod.Spec.Containers[0].Args
	return args[slices.Index(args, "--outputs-path")+1]
}

func write(pod *corev1.Pod, name string, message proto.Message) {
	body, err := proto.Marshal(message)
	if err == nil {
		err = os.MkdirAll(outputDir(pod), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(outputDir(pod), name), body, 0o644)
	}
	if err != nil {
		panic(err)
	}
}

// succeeds writes empty outputs, as a task without a result does.
func succeeds(_ context.Context, pod *corev1.Pod) kubetest.Result {
	write(pod, blobpath.OutputsFile, &task.Outputs{})
	return kubetest.Result{}
}

func fails(code, message string, kind core.ContainerError_Kind, origin core.ExecutionError_ErrorKind) kubetest.Program {
	return func(_ context.Context, pod *corev1.Pod) kubetest.Result {
		write(pod, blobpath.ErrorFile, &core.ErrorDocument{Error: &core.ContainerError{Code: code, Message: message, Kind: kind, Origin: origin}})
		return kubetest.Result{}
	}
}
