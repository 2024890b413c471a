package reconciler

import (
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/executor/happenings"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
)

// Happened notes what the cluster says about an object of an attempt, and reports whether its TaskAction is live here. Warnings are
// reported at once, the rest with the next report of the attempt.
func (r *Reconciler) Happened(key types.NamespacedName, attempt int32, h happenings.Happening) bool {
	entry := r.memory.find(key)
	if entry == nil {
		return false
	}
	if entry.log.Add(attempt, h) {
		r.wake(key)
	}
	return true
}

// sourceNode is the source of what a node says of a running attempt.
const sourceNode = "node"

// addHappenings adds to a report what the cluster says about its attempt. What the report says itself is not said twice.
func (r *Reconciler) addHappenings(entry *entry, next *plan, transitions []*enginev1.Transition) {
	for _, transition := range transitions {
		event := transition.GetEvent()
		attempt := int32(event.GetAttempt()) //nolint:gosec // counts from 1
		event.ClusterEvents = slices.DeleteFunc(event.GetClusterEvents(), func(one *workflow.ClusterEvent) bool {
			if one.GetSourceComponent() == sourceNode {
				return entry.log.Has(attempt, one.GetMessage())
			}
			// An operator tells how its object ended in the object and in an Event, which may come first.
			return phase.Terminal(event.GetPhase()) && entry.log.HasExactly(attempt, one.GetMessage())
		})
		for _, one := range event.GetClusterEvents() {
			entry.log.Mention(attempt, one.GetMessage())
		}
	}
	for _, transition := range transitions {
		event := transition.GetEvent()
		attempt := int32(event.GetAttempt()) //nolint:gosec // counts from 1
		news, mark := entry.log.News(attempt)
		if mark == 0 {
			continue
		}
		for _, h := range news {
			event.ClusterEvents = append(event.ClusterEvents, clusterEvent(h))
		}
		next.toldOf, next.told = attempt, mark
		return
	}
}

func clusterEvent(h happenings.Happening) *workflow.ClusterEvent {
	event := &workflow.ClusterEvent{
		OccurredAt: timestamppb.New(h.At), Reason: h.Reason, Message: h.Message, SourceComponent: h.Source, Count: h.Count,
		Type: workflow.ClusterEvent_TYPE_NORMAL,
	}
	if h.Warning {
		event.Type = workflow.ClusterEvent_TYPE_WARNING
	}
	return event
}
