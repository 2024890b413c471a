package executor_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/executor"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// remote is a plugin of a service outside the cluster that gives every job a new id: only its word tells a restarted
// executor which job an attempt has.
type remote struct {
	mu      sync.Mutex
	drafts  int      // GUARDED_BY(mu): words that were made
	started []string // GUARDED_BY(mu): words with which jobs were started
	asked   []string // GUARDED_BY(mu): words with which the attempt was asked about
	done    bool     // GUARDED_BY(mu)
	word    string
}

func (r *remote) Name() string { return "remote" }

func (r *remote) Advance(_ context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, string(attempt.Word))
	switch {
	case attempt.Word == nil && !attempt.MayLaunch:
		return plugin.State{}, nil
	case attempt.Word == nil:
		r.drafts++
		// The phase must not be seen before the word is written.
		return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_RUNNING, StartedAt: time.Now(), Word: []byte(r.word)}, nil
	case len(r.started) == 0:
		r.started = append(r.started, string(attempt.Word))
	}
	phase := common.ActionPhase_ACTION_PHASE_INITIALIZING
	if r.done {
		phase = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	}
	return plugin.State{Phase: phase, Word: attempt.Word, Recheck: 20 * time.Millisecond}, nil
}

func (r *remote) Remove(context.Context, *plugin.Attempt) error { return nil }

func (r *remote) read() (drafts int, started, asked []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drafts, append([]string(nil), r.started...), append([]string(nil), r.asked...)
}

func (r *remote) definition() plugin.Definition {
	return plugin.Definition{Name: "remote", Types: []string{"remote"}, New: func(plugin.Deps) (plugin.Plugin, error) { return r, nil }}
}

func asRemote(t *core.TaskTemplate) { t.Type = "remote" }

// TestAPluginsWordIsWrittenBeforeItCounts: while it cannot be written, nothing that the plugin said with it is reported, and
// the plugin is not asked to act on it. After a restart the plugin has it.
func TestAPluginsWordIsWrittenBeforeItCounts(t *testing.T) {
	service := &remote{word: strings.Repeat("\x00", v1.MaxPluginWord-7) + "job-123"} // any bytes, as many as are allowed
	h := newHarnessWith(t, []plugin.Definition{service.definition()}, kubetest.NodeOptions{})
	h.mute.Store(true)
	action, task := h.submit(taskTemplate(asRemote, withoutOutputs))
	require.Eventually(t, func() bool { return h.muted.Load() > 1 }, waitLimit, 5*time.Millisecond, "the write is retried")
	_, started, _ := service.read()
	require.Empty(t, started)
	require.Empty(t, h.record.events(action), "nothing was reported")

	h.mute.Store(false)
	h.record.awaitPhase(t, action, 1, state.Initializing)
	_, started, _ = service.read()
	require.Equal(t, []string{service.word}, started)
	written := &v1.TaskAction{}
	require.NoError(t, h.Client.Get(t.Context(), clientKey(task), written))
	require.Equal(t, service.word, string(written.Status.Plugin))
	require.EqualValues(t, 1, written.Status.Attempt)

	h.stop(h.service)
	drafts, _, before := service.read()
	h.start()
	require.Eventually(t, func() bool {
		_, _, asked := service.read()
		return len(asked) > len(before)
	}, waitLimit, 5*time.Millisecond)
	now, _, asked := service.read()
	require.Equal(t, service.word, asked[len(before)], "a restarted executor remembers the word")
	require.Equal(t, drafts, now, "no other job")
	service.mu.Lock()
	service.done = true
	service.mu.Unlock()
	h.record.awaitPhase(t, action, 1, state.Succeeded)
}

// TestAWordThatIsTooLong is refused before the API server would refuse the whole status.
func TestAWordThatIsTooLong(t *testing.T) {
	service := &remote{word: strings.Repeat("x", v1.MaxPluginWord+1)}
	h := newHarnessWith(t, []plugin.Definition{service.definition()}, kubetest.NodeOptions{},
		func(c *executor.Config) { c.Reconciler.ErrorBackoff = time.Millisecond })
	action, task := h.submit(taskTemplate(asRemote, withoutOutputs))
	h.record.await(t, "users are shown why", func() bool {
		events := h.record.last(action).GetEvent().GetClusterEvents()
		return len(events) > 0 && strings.Contains(events[0].GetMessage(), "the word of the attempt has 4097 bytes; the maximum is 4096")
	})
	written := &v1.TaskAction{}
	require.NoError(t, h.Client.Get(t.Context(), clientKey(task), written))
	require.Empty(t, written.Status.Plugin)
}
