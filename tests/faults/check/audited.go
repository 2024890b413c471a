package check

import (
	"slices"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// Audit is the record of what callers did.
type Audit struct {
	// Events are those of the storm, in the order of the chain, and Open those that are not part of the chain yet.
	Events, Open []AuditEvent
	// Sent are the events that the sink took, in the order of their arrival, repetitions too. It may have older ones.
	Sent []AuditSent
	// Problem is what the server finds wrong with the chain; empty if all its hashes are right.
	Problem string
}

// AuditEvent is one thing that was done.
type AuditEvent struct {
	Sequence            int64
	Hash                string
	Permission, Outcome string
	Resources           []string
}

// AuditSent is an event that the sink took.
type AuditSent struct {
	Sequence int64
	Hash     string
}

// made are the events of changes that succeeded.
func (a *Audit) made(permission, resource string) bool {
	return slices.ContainsFunc(slices.Concat(a.Events, a.Open), func(e AuditEvent) bool {
		return e.Permission == permission && e.Outcome == "succeeded" && slices.Contains(e.Resources, resource)
	})
}

// changesAreOnRecord: every run that a client created has its record, no record of success is without its run, and the chain is whole.
func changesAreOnRecord(e *Evidence, f *findings) {
	if e.Audit.Problem != "" {
		f.add("the record is damaged: %s", e.Audit.Problem)
	}
	for i := range e.Runs {
		run := &e.Runs[i]
		if run.Trigger != "" {
			continue // a service created it, for no call of a person or a key
		}
		exists, recorded := len(run.Rows) > 0, e.Audit.made("run.create", run.resource())
		switch {
		case exists && !recorded:
			f.add("run %s exists and there is no record of who created it", run.Name)
		case !exists && recorded:
			f.add("run %s is recorded as created and does not exist", run.Name)
		}
	}
}

// recordIsSent: the sink has every event of the record with its hash, and without repetitions they came in the order of the chain.
func recordIsSent(e *Evidence, f *findings) {
	taken, next := map[int64]string{}, int64(0)
	for _, sent := range e.Audit.Sent {
		if before, again := taken[sent.Sequence]; again {
			if before != sent.Hash {
				f.add("the audit event %d was sent with the hash %s and then with %s", sent.Sequence, before, sent.Hash)
			}
			continue
		}
		taken[sent.Sequence] = sent.Hash
		if next != 0 && sent.Sequence != next {
			f.add("the audit event %d came when %d was next", sent.Sequence, next)
		}
		next = sent.Sequence + 1
	}
	for _, event := range e.Audit.Events {
		switch hash, ok := taken[event.Sequence]; {
		case !ok:
			f.add("the audit event %d (%s of %v) was not sent", event.Sequence, event.Permission, event.Resources)
		case hash != event.Hash:
			f.add("the audit event %d was sent with the hash %s and has %s", event.Sequence, hash, event.Hash)
		}
	}
}

// resource is the run as the record names it.
func (r *Run) resource() string {
	return "run " + r.Script.Tenant.Project() + "/" + script.Domain + "/" + r.Name
}
