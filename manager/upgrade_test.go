package manager_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestARollingUpgradeUnderLoad: three replicas of the real program are replaced one after the other while runs are created,
// execute and are watched. Every call is answered, if only by "unavailable, try again", every stream ends cleanly or with
// that, a watch continues where it was on another replica, and every run succeeds.
//
// FLYTE_UPGRADE_ACTIONS is how many actions are in flight; FLYTE_UPGRADE_OLD the program of the version before. See
// `make upgrade-test`.
func TestARollingUpgradeUnderLoad(t *testing.T) {
	inFlight := 30
	if text := os.Getenv("FLYTE_UPGRADE_ACTIONS"); text != "" {
		var err error
		inFlight, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	drains := []string{"server.drainDelay=500ms"}
	oldSettings := drains
	if os.Getenv("FLYTE_UPGRADE_OLD") != "" {
		oldSettings = nil // it may not know the key
	}
	cluster := kubetest.New(t)
	release := make(chan struct{})
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{SkipBinding: true, Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		args := pod.Spec.Containers[0].Args
		if strings.HasPrefix(args[1], "long") {
			select { // until the upgrade is over
			case <-release:
			case <-ctx.Done():
				return kubetest.Result{ExitCode: 1}
			}
		}
		if os.MkdirAll(args[0], 0o755) != nil || os.WriteFile(filepath.Join(args[0], "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		return kubetest.Result{}
	}})
	lease := 3 * time.Second
	if inFlight > 100 {
		lease = configuration.DefaultConfig().Replicas.Lease.Duration // a new leader reads all objects first
	}
	f := newFleet(t, cluster, lease)
	for range 3 {
		f.add(oldProgram(t), oldSettings...)
	}

	var latencies sync.Map
	create := func(name string) {
		began := time.Now()
		f.retried(func(url string) error {
			_, err := workflowconnect.NewRunServiceClient(f.client, url).CreateRun(t.Context(), sleeper(name))
			return err
		})
		latencies.Store(name, time.Since(began))
	}
	var names []string
	var creating sync.WaitGroup
	places := make(chan struct{}, 16)
	for i := range inFlight {
		name := fmt.Sprint("long", i)
		names = append(names, name)
		places <- struct{}{}
		creating.Go(func() { create(name); <-places })
	}
	creating.Wait()
	latencies.Clear()

	// Load and watches during the upgrade.
	ctx, over := context.WithCancel(t.Context())
	watched := follow(t, f, names[0])
	var busy sync.WaitGroup
	var mu sync.Mutex
	for caller := range 4 {
		busy.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("short%d-%d", caller, i)
				create(name)
				mu.Lock()
				names = append(names, name)
				mu.Unlock()
				_ = clock.Sleep(ctx, clock.System{}, 100*time.Millisecond) // the load, not a wait
			}
		})
	}
	began := time.Now()
	for _, old := range slices.Clone(f.replicas) {
		f.replace(old, newProgram(t), drains...)
	}
	took := time.Since(began)
	over()
	busy.Wait()
	close(release)

	var all []time.Duration
	latencies.Range(func(_, took any) bool { all = append(all, took.(time.Duration)); return true })
	slices.Sort(all)
	t.Logf("%d actions in flight, %d runs created during the upgrade of %s: CreateRun p50 %s, p99 %s, longest %s",
		inFlight, len(all), took.Round(time.Millisecond), all[len(all)/2], all[len(all)*99/100], all[len(all)-1])

	// A pass over all of them takes a while on a busy machine.
	patience := 5*time.Minute + time.Duration(inFlight)*100*time.Millisecond
	require.Eventually(t, func() bool { return f.succeeded() == len(names) || t.Failed() }, patience, time.Second)
	require.Equal(t, len(names), f.succeeded(), "of the runs that were created, have succeeded")
	resumed := <-watched
	require.Positive(t, resumed, "the watch of a run went on at another replica")
}

// succeeded counts the runs that have succeeded. One that ended in another way fails the test.
func (f *fleet) succeeded() (count int) {
	request := &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
		Request: &common.ListRequest{Limit: 200},
	}
	for {
		var page *workflow.ListRunsResponse
		f.retried(func(url string) (err error) {
			page, err = workflowconnect.NewRunServiceClient(f.client, url).ListRuns(f.t.Context(), request)
			return err
		})
		for _, run := range page.GetRuns() {
			switch phase := run.GetAction().GetStatus().GetPhase(); phase {
			case common.ActionPhase_ACTION_PHASE_SUCCEEDED:
				count++
			case common.ActionPhase_ACTION_PHASE_FAILED, common.ActionPhase_ACTION_PHASE_ABORTED, common.ActionPhase_ACTION_PHASE_TIMED_OUT:
				f.t.Errorf("%s ended as %s", run.GetAction().GetId().GetRun().GetName(), phase)
			default: // it continues
			}
		}
		if request.Request.Token = page.GetToken(); request.Request.GetToken() == "" {
			return count
		}
	}
}

// sleeper is a run whose pod the test's node ends.
func sleeper(name string) *workflow.CreateRunRequest {
	return &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: runOf("flytesnacks", name)},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id:   &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "sleeper", Version: "1"},
			Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "sleeper:1", Args: []string{"{{.outputPrefix}}", name}}},
		}}},
	}
}

// follow watches a run until it ends, from replica to replica by its cursor, and sends how often it continued where it was.
func follow(t *testing.T, f *fleet, name string) <-chan int {
	t.Helper()
	resumed, done := 0, make(chan int, 1)
	var watching sync.WaitGroup
	t.Cleanup(watching.Wait)
	watching.Go(func() {
		defer func() { done <- resumed }()
		var cursor int64
		texts := 0
		for t.Context().Err() == nil {
			stream, err := insightv1connect.NewInsightServiceClient(f.client, f.next()).WatchRunActions(t.Context(),
				&insightv1.WatchRunActionsRequest{RunId: runOf("flytesnacks", name), Cursor: cursor, Strings: uint32(texts)})
			if err != nil {
				continue
			}
			for stream.Receive() {
				message := stream.Msg()
				if start := message.GetStart(); start != nil && cursor > 0 {
					if !start.GetResumed() {
						t.Error("the watch began anew at another replica")
					}
					resumed++
				}
				texts += len(message.GetActions().GetStrings())
				if caught := message.GetCaughtUp(); caught != nil {
					cursor = caught.GetCursor()
				}
				if ended := message.GetActions().GetEnded(); len(ended) > 0 && ended[0] > 0 {
					_ = stream.Close() // all is known
					return
				}
			}
			if err := stream.Err(); err != nil && connect.CodeOf(err) != connect.CodeUnavailable && t.Context().Err() == nil {
				t.Errorf("a stream ended with %v", err)
			}
			_ = stream.Close() // it has ended
		}
	})
	return done
}
