package reconciler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// maxStatusMessage is what the definition admits, in bytes.
const maxStatusMessage = 1024

// waitDelays is how many times StatusDelay an attempt waits before its status says what it waits for.
const waitDelays = 10

// stage is what a status would say of an attempt: that it waits or that it runs.
type stage struct {
	object  types.UID
	running bool
	since   time.Time // when it was first seen
}

// noteStatus has the status written once for a long action: that it runs or, later, what it waits for. Short actions,
// which are most, cost no write.
func (r *Reconciler) noteStatus(entry *entry, attempt *plugin.Attempt, state plugin.State) {
	if state.Object == "" || r.statusDue(entry, state) != 0 || !statusDiffers(entry, state) {
		return
	}
	begin(entry, attempt)
	entry.status.ObjectUID = state.Object
	entry.status.Phase, entry.status.Message = phase.Name(state.Phase), clip.Head(line(state), maxStatusMessage)
	entry.dirty = true
}

// begin makes the status that of the current attempt.
func begin(entry *entry, attempt *plugin.Attempt) {
	if entry.status.Attempt != attempt.Number {
		entry.status.NotBefore, entry.status.ObjectUID, entry.status.Plugin = nil, "", nil
		entry.status.Attempt = attempt.Number
	}
}

// keepWord has a new word of the plugin written, and reports whether there is one: until it is written, the state that came
// with it does not count.
func (r *Reconciler) keepWord(entry *entry, attempt *plugin.Attempt, state plugin.State) bool {
	if state.Word == nil || bytes.Equal(state.Word, attempt.Word) {
		return false
	}
	begin(entry, attempt)
	entry.status.Plugin, entry.dirty = bytes.Clone(state.Word), true
	return true
}

// statusDue returns in how long the status should be written; 0 means now, or that it is complete. The time counts from when the
// attempt began to wait or to run: in a burst, most actions wait for longer than they run, and would all cost a write.
func (r *Reconciler) statusDue(entry *entry, state plugin.State) time.Duration {
	if !statusDiffers(entry, state) {
		return 0
	}
	now := r.deps.Clock.Now()
	running := state.Phase == common.ActionPhase_ACTION_PHASE_RUNNING
	if entry.stage.object != state.Object || entry.stage.running != running {
		entry.stage = stage{object: state.Object, running: running, since: now}
	}
	delay := r.config.StatusDelay
	if !running {
		delay *= waitDelays
	}
	return max(0, entry.stage.since.Add(delay).Sub(now))
}

// statusDiffers reports whether the status lacks something that it should have: what the attempt waits for, once, and
// that it runs. With the creation and the deletion that makes four writes at most.
func statusDiffers(entry *entry, state plugin.State) bool {
	switch {
	case state.Object == "":
		return false
	case entry.status.ObjectUID != state.Object:
		return true
	}
	return state.Phase == common.ActionPhase_ACTION_PHASE_RUNNING && entry.status.Phase != phase.Name(state.Phase)
}

// writeStatus writes the whole status. There is one writer, so it depends on no version and never conflicts.
func (r *Reconciler) writeStatus(ctx context.Context, task *v1.TaskAction, entry *entry) error {
	body, err := json.Marshal(map[string]any{"status": statusFields(entry.status)})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	target := &v1.TaskAction{}
	target.Namespace, target.Name = task.Namespace, task.Name
	defer doing(ctx, "writing the status")()
	failpoint.Here("reconciler.before-status")
	err = r.deps.Writer.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, body))
	failpoint.Here("reconciler.after-status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write status: %w", err)
	}
	entry.dirty = false
	r.cleanUpLost(task, entry)
	r.wake(client.ObjectKeyFromObject(task))
	return nil
}

// statusFields has every field, so that a merge also clears.
func statusFields(status v1.TaskActionStatus) map[string]any {
	fields := map[string]any{
		"attempt": status.Attempt, "userFailures": status.UserFailures, "systemFailures": status.SystemFailures,
		"notBefore": nil, "podUid": nil, "phase": status.Phase, "message": nil, "plugin": nil,
	}
	if status.NotBefore != nil {
		fields["notBefore"] = status.NotBefore
	}
	if status.ObjectUID != "" {
		fields["podUid"] = status.ObjectUID
	}
	if len(status.Plugin) > 0 {
		fields["plugin"] = status.Plugin
	}
	if status.Message != "" {
		fields["message"] = status.Message
	}
	return fields
}
