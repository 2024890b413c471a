package verdict

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Story R19: timeouts, backoff, queues, overwriting of the cache, recovery and webhooks were accepted and ignored.
func TestRetriesBackOffAsTheTaskWants(t *testing.T) {
	wanted := &core.Backoff{Base: durationpb.New(time.Second), Factor: proto.Float64(3), Cap: durationpb.New(5 * time.Second)}
	require.Equal(t, time.Second, userPause(wanted, 1))
	require.Equal(t, 3*time.Second, userPause(wanted, 2))
	require.Equal(t, 5*time.Second, userPause(wanted, 3))
	require.Equal(t, 2*time.Second, userPause(&core.Backoff{Base: durationpb.New(2 * time.Second)}, 7))
	require.Zero(t, userPause(nil, 3))
}

// Story R12: quota, throttling and preemption used up the retries that a task had declared for its own errors.
func TestRetryWords(t *testing.T) {
	require.Equal(t, "NodeLost; retrying in 4 s (system retry 2 of 3)",
		retryWords(failure.New(failure.NodeLost, ""), 3500*time.Millisecond, 2, 3))
	require.Equal(t, "ContainerFailed; retrying now (retry 1 of 5 of the task)",
		retryWords(failure.New(failure.ContainerFailed, ""), 0, 1, 5))
}

func TestOutOfMemorySaysWhatWasAskedFor(t *testing.T) {
	template := &core.TaskTemplate{Target: &core.TaskTemplate_Container{Container: &core.Container{Resources: &core.Resources{
		Limits: []*core.Resources_ResourceEntry{{Name: core.Resources_MEMORY, Value: "500Mi"}},
	}}}}
	require.Contains(t, explainMemory(template, failure.New(failure.OOMKilled, "")).Message, "it asked for 500Mi")
	require.NotContains(t, explainMemory(template, failure.New(failure.Killed, "")).Message, "500Mi")
}
