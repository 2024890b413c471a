package reconciler

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/happenings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// memory is what this process knows of live TaskActions beyond the cluster. It may be lost at any time.
type memory struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]*entry // GUARDED_BY(mu)
	// stopping are entries of TaskActions that were deleted, whose attempts are being stopped.
	stopping map[*entry]struct{} // GUARDED_BY(mu)
	// adopted are TaskActions that existed when this process began and have no entry yet.
	adopted map[types.UID]struct{} // GUARDED_BY(mu)
}

// adopt notes a TaskAction that existed when this process began.
func (m *memory) adopt(task *v1.TaskAction) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.adopted[task.UID] = struct{}{}
}

// drop discards an adopted one that was deleted before it got an entry.
func (m *memory) drop(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.adopted, uid)
}

// entry is the memory of one TaskAction. Its fields belong to the one reconcile of its key that may run at a time;
// only those below mu are shared with goroutines in the background.
type entry struct {
	uid    types.UID
	action string // the id of the action
	// adopted means that the TaskAction existed when this process began. Its pod may have done its work and be
	// collected, so no pod is created before the runs service has confirmed that the action is live.
	adopted  bool
	template *core.TaskTemplate
	invalid  *failure.Failure // why there is no template
	attempt  *plugin.Attempt  // the last that a plugin was asked about

	status v1.TaskActionStatus // as it is or should be in the cluster
	stage  stage               // what status would say of the attempt
	dirty  bool                // status has to be written
	lost   []*plugin.Attempt   // cleaned up once it is written

	acked           position  // the last position that was acknowledged
	ackedAt         time.Time // when it was
	begun           begun     // the last phase that was reported
	running         running   // the start of the last process
	lingering       lingering // the look at what a running process has written
	transientErrors int       // errors of the API server or the object store in a row
	confirmedLive   bool      // the runs service has the action as live
	plan            *plan     // what to do when the report in flight is acknowledged
	reportErrors    int       // failed reports in a row

	log happenings.Log // what the cluster says about the attempt; shared with the goroutine that follows Events

	followedAttempt int32 // the attempt whose logs are read to their end, because it is being stopped
	finished        bool  // the action no longer needs a process

	mu        sync.Mutex
	sealed    chan struct{} // GUARDED_BY(mu): set when the last process ended, closed when its logs are sealed
	observed  bool          // GUARDED_BY(mu): the state of its attempt has been seen
	reporting bool          // GUARDED_BY(mu): a report is in flight
	answer    *answer       // GUARDED_BY(mu): the answer to the last report, until it is taken
	finishing bool          // GUARDED_BY(mu): its end is being carried out
}

// position is where the runs service has the action, as far as we know.
type position struct {
	attempt int32
	phase   common.ActionPhase
	version uint32
	// fingerprint distinguishes observations of one phase.
	fingerprint string
	// said identifies the message of the observation.
	said string
	// message is the message of the observation.
	message string
}

// plan is what follows from a report.
type plan struct {
	// position is what the report leads to.
	position position
	// end means that the action is over.
	end bool
	// probe means that the report repeats what is known, to learn whether the action is still live.
	probe bool
	// drift is the kind of drift that the report repairs; empty for none.
	drift string
	// toldOf is the attempt of which the report tells happenings, up to the mark told.
	toldOf int32
	told   int
	// status, where set, begins the next attempt.
	status *v1.TaskActionStatus
}

// load returns the entry of a TaskAction, and creates one if there is none.
func (m *memory) load(key types.NamespacedName, task *v1.TaskAction) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.entries[key]
	if found == nil || found.uid != task.UID {
		_, adopted := m.adopted[task.UID]
		delete(m.adopted, task.UID)
		found = &entry{uid: task.UID, action: task.Labels[v1.LabelUID], adopted: adopted, status: *task.Status.DeepCopy()}
		if found.status.Attempt == 0 { // Continue the earlier counts.
			found.status.UserFailures, found.status.SystemFailures = task.Spec.UserFailures, task.Spec.SystemFailures
		}
		m.entries[key] = found
	}
	return found
}

// find returns the entry of a TaskAction; nil if there is none.
func (m *memory) find(key types.NamespacedName) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[key]
}

// stopped notes that the attempt of a removed entry has been stopped.
func (m *memory) stopped(one *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.stopping, one)
}

// has reports whether an attempt of an action is known that was not stopped: an operator may still give it pods.
func (m *memory) has(action string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for one := range m.stopping {
		if one.action == action {
			return true
		}
	}
	for _, one := range m.entries {
		if one.action == action {
			return true
		}
	}
	return false
}

// remove removes the entry of a TaskAction that was deleted; nil if there was none. Its attempt counts as being stopped until stopped or
// restore is called.
func (m *memory) remove(key types.NamespacedName) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.entries[key]
	delete(m.entries, key)
	if found != nil {
		m.stopping[found] = struct{}{}
	}
	return found
}

// restore undoes remove, unless there is another entry.
func (m *memory) restore(key types.NamespacedName, e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.stopping, e)
	if m.entries[key] == nil {
		m.entries[key] = e
	}
}

// retains reports whether a TaskAction has logs that are not sealed, or may have: one that was adopted and not
// observed.
func (m *memory) retains(key types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	_, adopted := m.adopted[uid]
	found := m.entries[key]
	m.mu.Unlock()
	if found == nil || found.uid != uid {
		return adopted
	}
	return found.retained()
}

// size is the number of entries.
func (m *memory) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}

func (e *entry) retained() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sealed == nil {
		return e.adopted && !e.observed
	}
	return !isClosed(e.sealed)
}

// markObserved notes that the state of the attempt has been seen, and that sealing has begun if its process had ended.
func (e *entry) markObserved() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observed = true
}

// busy reports whether a report or the end is in flight; its completion wakes the reconciler.
func (e *entry) busy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reporting || e.finishing
}

func (e *entry) takeAnswer() *answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.answer
	e.answer = nil
	return taken
}

// current is the attempt that is or will be running. The cache may be behind our own writes.
func (e *entry) current(task *v1.TaskAction) int32 {
	return max(e.status.Attempt, task.CurrentAttempt())
}
