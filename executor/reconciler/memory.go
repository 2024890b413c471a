package reconciler

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// memory is what this process knows of live TaskActions beyond the cluster. It may be lost at any time.
type memory struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]*entry // GUARDED_BY(mu)
	// inherited are TaskActions from before our time that have no entry yet.
	inherited map[types.UID]struct{} // GUARDED_BY(mu)
}

// inherit notes a TaskAction that was there when we began.
func (m *memory) inherit(task *v1.TaskAction) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inherited[task.UID] = struct{}{}
}

// disinherit forgets one that went before anybody looked at it.
func (m *memory) disinherit(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.inherited, uid)
}

// entry is the memory of one TaskAction. Its fields belong to the one reconcile of its key that may run at a time;
// only answer crosses over from the goroutine that reports.
type entry struct {
	uid types.UID
	// inherited says that the TaskAction is from before our time. Its pod may have done its work and be gone, so the
	// record is asked before one is made.
	inherited bool
	template  *core.TaskTemplate
	invalid   *failure.Failure // why there is no template
	attempt   *plugin.Attempt  // the last that a plugin was asked about

	status v1.TaskActionStatus // as it is or shall be in the cluster
	dirty  bool                // status is to be written
	lost   []*plugin.Attempt   // what is removed when it is

	told     position  // the last position that was acknowledged
	toldAt   time.Time // when it was
	lastTime time.Time // the time of the last observation, which never goes back
	running  running   // the start of the last process
	stumbles int       // errors of the cluster in a row
	vetted   bool      // the record knows the action as live
	plan     *plan     // what to do when the report under way is acknowledged
	errors   int       // failed reports in a row

	followed  int32         // the attempt whose logs are read to their end, since somebody stops it
	dismissed bool          // nothing of it has to run any more
	sealed    chan struct{} // set when its last process ended: closed when the logs are kept

	mu        sync.Mutex
	reporting bool    // GUARDED_BY(mu): a report is under way
	answer    *answer // GUARDED_BY(mu): the answer to the last report, until it is taken
	finishing bool    // GUARDED_BY(mu): its end is being carried out
}

// position is where the record stands as far as we know.
type position struct {
	attempt int32
	phase   common.ActionPhase
	version uint32
	// news tells apart observations of one phase.
	news string
}

// plan is what follows from a report.
type plan struct {
	// told is the position that the report leads to.
	told position
	// end says that the action is over.
	end bool
	// ask says that there is no news: the record is asked whether it wants anything more.
	ask bool
	// mended is the kind of divergence that the report puts right; empty for none.
	mended string
	// status, where set, begins the next attempt.
	status *v1.TaskActionStatus
}

// enter finds the entry of a TaskAction, or begins one.
func (m *memory) enter(key types.NamespacedName, task *v1.TaskAction) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.entries[key]
	if found == nil || found.uid != task.UID {
		_, inherited := m.inherited[task.UID]
		delete(m.inherited, task.UID)
		found = &entry{uid: task.UID, inherited: inherited, status: *task.Status.DeepCopy()}
		if found.status.Attempt == 0 { // What was counted before goes on.
			found.status.UserFailures, found.status.SystemFailures = task.Spec.UserFailures, task.Spec.SystemFailures
		}
		m.entries[key] = found
	}
	return found
}

// leave removes the entry of a TaskAction that is gone; nil if there was none.
func (m *memory) leave(key types.NamespacedName) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.entries[key]
	delete(m.entries, key)
	return found
}

// back takes back that an entry was removed, unless there is another one.
func (m *memory) back(key types.NamespacedName, e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key] == nil {
		m.entries[key] = e
	}
}

// size is the number of entries.
func (m *memory) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}

// busy says that a report or the end is under way; its completion wakes the reconciler.
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
