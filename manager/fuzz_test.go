package manager_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpcfuzz"
	"github.com/flyte-binary/flyte-binary/manager"
)

// Names of environment variables: how long to fuzz (a duration; unless set, a fixed number of requests), and the seed.
const (
	fuzzFor  = "FLYTE_FUZZ_FOR"
	fuzzSeed = "FLYTE_FUZZ_SEED"
)

// TestNoRequestBreaksTheServer sends requests that follow the descriptors, damaged bytes and JSON to every rpc: as a
// anonymous caller, and as a service that knows the internal token. `make fuzz` does it for longer.
func TestNoRequestBreaksTheServer(t *testing.T) {
	for name, token := range map[string]string{"stranger": "", "service": "of-the-fuzzer"} {
		t.Run(name, func(t *testing.T) {
			config := testConfig(t)
			config.Auth.InternalToken = "of-the-fuzzer"
			log := &lines{}
			server, err := manager.Complete(t.Context(), config, manager.Options{Logger: zerolog.New(log).Level(zerolog.ErrorLevel), REST: nowhere(t)})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
			require.NoError(t, server.Start(t.Context()))
			url := "http://" + server.Addr()

			fuzzer := rpcfuzz.New(rpcfuzz.Config{
				URL: url, Words: populate(t, url, config.Storage.URL), Seed: seedOf(t), Services: []string{"flyteidl2.", "flytebinary."}, Deadline: 300 * time.Millisecond,
				Header: http.Header{http.CanonicalHeaderKey(rpc.InternalTokenHeader): {token}},
			})
			defer fuzzer.Close()
			run := func(n int) {
				report, err := fuzzer.Run(t.Context(), n)
				require.NoError(t, err)
				t.Log(report)
			}
			run(2 * fuzzer.Methods()) // what is made once
			before := heap()
			duration, err := time.ParseDuration(os.Getenv(fuzzFor))
			if err != nil {
				run(10 * fuzzer.Methods())
			}
			for until := time.Now().Add(duration); time.Now().Before(until); {
				run(10 * fuzzer.Methods())
			}
			require.Less(t, heap(), before+64<<20, "memory grows")
			require.NotContains(t, log.String(), "panic")
		})
	}
}

// heap is the memory in use after a collection.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(fuzzSeed)
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return seed
}

// populate makes a run with a child and a condition, and returns names that exist.
func populate(t *testing.T, url, storage string) []string {
	t.Helper()
	run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: "fuzzed"}
	id := &core.Identifier{ResourceType: core.ResourceType_TASK, Project: run.GetProject(), Domain: run.GetDomain(), Name: "env.main", Version: "v1"}
	spec := &task.TaskSpec{ShortName: "main", TaskTemplate: &core.TaskTemplate{
		Id: id, Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "i", Args: []string{"x"}}},
	}}
	_, err := workflowconnect.NewRunServiceClient(http.DefaultClient, url).CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: run}, Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: spec},
	})
	require.NoError(t, err)
	parent := "a0"
	enqueue := func(name string, action *actions.Action) {
		action.ActionId = &common.ActionIdentifier{Run: run, Name: name}
		action.ParentActionName = &parent
		action.RunOutputBase = storage + "/flytesnacks/development/fuzzed/"
		action.InputUri = action.RunOutputBase + "none/inputs.pb"
		_, err := actionsconnect.NewActionsServiceClient(http.DefaultClient, url).Enqueue(t.Context(), &actions.EnqueueRequest{Action: action})
		require.NoError(t, err)
	}
	enqueue("child", &actions.Action{Spec: &actions.Action_Task{Task: &workflow.TaskAction{Spec: spec}}})
	enqueue("approve", &actions.Action{Spec: &actions.Action_Condition{Condition: &workflow.ConditionAction{
		Name: "approve", Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
	}}})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return []string{"flytesnacks", "development", "fuzzed", "a0", "child", "approve", "env.main", "v1", "default", "python"}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ToLower(l.text.String())
}
