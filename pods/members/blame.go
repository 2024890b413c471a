package members

import (
	"cmp"
	"slices"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

// Blame returns why an attempt failed: the failure of the member that most likely caused the others. Nil means that no member
// failed. A member that ran out of memory comes first, since the others then fail with errors of their connections. Members
// that failed by themselves come before those that the cluster stopped, as operators stop the rest. Among equals the primary
// member comes first, then the one that ended first.
func Blame(members []Member) *failure.Failure {
	culprit := Culprit(members)
	if culprit == nil {
		return nil
	}
	return culprit.State.Failure.In(culprit.String())
}

// Culprit returns the member whose failure Blame returns; nil if no member failed.
func Culprit(members []Member) *Member {
	failed := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.State.Failure == nil })
	if len(failed) == 0 {
		return nil
	}
	first := slices.MinFunc(failed, func(a, b Member) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			a.State.EndedAt.Compare(b.State.EndedAt),
			cmp.Compare(a.Pod.Name, b.Pod.Name),
		)
	})
	return &first
}

// rank orders members by how likely they caused the others to fail.
func rank(m Member) int {
	result := 4
	switch {
	case m.State.Failure.Reason == failure.OOMKilled:
		result = 0
	case m.State.Failure.IsUsers():
		result = 2
	}
	if !m.Primary {
		result++
	}
	return result
}

// LogContext says which pods and containers have logs. The pod of the primary member is the primary one, or the first.
func LogContext(members []Member) *core.LogContext {
	result := &core.LogContext{}
	for _, m := range members {
		own := m.State.LogContext
		if m.Primary || result.GetPrimaryPodName() == "" {
			result.PrimaryPodName = own.GetPrimaryPodName()
		}
		result.Pods = append(result.Pods, own.GetPods()...)
	}
	return result
}

// Logs lists the logs of members that can be read now. The stored logs of all but the primary member are distinguished by the
// names of their pods.
func Logs(members []Member) []plugin.Log {
	var result []plugin.Log
	for _, m := range members {
		for _, log := range podstatus.Logs(m.Pod) {
			if !m.Primary {
				log.Member = m.Pod.Name
			}
			result = append(result, log)
		}
	}
	return result
}
