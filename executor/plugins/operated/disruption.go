package operated

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

// disruptions are the failures of pods that the cluster stopped.
var disruptions = []failure.Reason{
	failure.Evicted, failure.Preemption, failure.NodeLost, failure.NodeRefused, failure.UnexpectedDeletion,
}

// disrupted is the pod that the system stopped before the program of any pod failed by itself; nil if there is none. The programs of
// the other pods fail when they lose it, and their errors are not the cause.
func (p *Plugin) disrupted(all []members.Member) *members.Member {
	if !p.kind.KeepsPods {
		return nil
	}
	var found *members.Member
	var since time.Time
	for i := range all {
		m := all[i]
		if m.Pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
			continue // the operator deletes such a pod to start it again
		}
		if m.State.Failure == nil && m.State.Phase < common.ActionPhase_ACTION_PHASE_SUCCEEDED {
			m.State.Failure = podstatus.Stopped(m.Pod)
		}
		if m.State.Failure == nil || !slices.Contains(disruptions, m.State.Failure.Reason) {
			continue
		}
		at := podstatus.StoppedAt(m.Pod)
		if at.IsZero() {
			at = m.State.EndedAt
		}
		if found == nil || at.Before(since) {
			found, since = &m, at
		}
	}
	if found == nil || slices.ContainsFunc(all, func(m members.Member) bool { return failedBefore(m, since) }) {
		return nil
	}
	return found
}

// failedBefore reports whether the program of a pod failed by itself before a time. The times of pods are in whole seconds.
func failedBefore(m members.Member, when time.Time) bool {
	why, ended := m.State.Failure, m.State.EndedAt
	if why == nil || slices.Contains(disruptions, why.Reason) || ended.IsZero() {
		return false
	}
	return ended.Add(time.Second).Before(when)
}

// deleted is the failure of an attempt one of whose pods is gone.
func deleted(object *unstructured.Unstructured, reading Reading, left int) *failure.Failure {
	return failure.New(failure.DeletedExternally, "%d of %d pods of %s %s are left: %s", left, reading.Pods, object.GetKind(), object.GetName(),
		strings.Trim(reading.Reason+": "+reading.Message, ": "))
}

// missing reports whether a pod was deleted that the operator had when it gave the attempt up.
func (p *Plugin) missing(reading Reading, all []members.Member) bool {
	if !p.kind.KeepsPods || reading.Pods <= len(all) {
		return false
	}
	return !slices.ContainsFunc(all, func(m members.Member) bool {
		why := m.State.Failure
		return m.Pod.Spec.RestartPolicy != corev1.RestartPolicyNever || (why != nil && (!why.IsUsers() || why.Reason == failure.OOMKilled))
	})
}
