package runs

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// wait says what an action waits for; nil when it does not wait.
func (s *Service) wait(ctx context.Context, a *store.Standing) (*insightv1.Wait, error) {
	switch workflow.ActionType(a.ActionType) {
	case workflow.ActionType_ACTION_TYPE_CONDITION:
		if a.Phase == state.Paused {
			return signalWait(a), nil
		}
		return nil, nil
	case workflow.ActionType_ACTION_TYPE_TASK:
	default:
		return nil, nil
	}
	switch a.Phase {
	case state.Queued, state.WaitingForResources, state.Initializing:
	default:
		return nil, nil
	}
	queue := s.queues.Of(a.Queue)
	w := &insightv1.Wait{Queue: queue.Name, Since: timestamppb.New(a.CreatedAt)}
	switch {
	case a.AdmittedAt != nil:
		return w, s.clusterWait(w, a)
	case a.Hold == store.HoldCache:
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_PENDING, "its key is about to be looked up in the cache"
		return w, nil
	case a.Hold == store.HoldReservation:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_CACHE_RESERVATION
		w.Message = firstOf(a.CacheReason, "another action computes the outputs that the cache has no entry for yet")
		owner, err := s.lists.ReservedBy(ctx, &a.Action)
		if owner != nil {
			w.Behind = owner.Proto()
		}
		return w, err
	default:
		return w, s.queueWait(ctx, w, a)
	}
}

func signalWait(a *store.Standing) *insightv1.Wait {
	w := &insightv1.Wait{
		Cause: insightv1.WaitCause_WAIT_CAUSE_SIGNAL, Since: timestamppb.New(a.CreatedAt),
		Message: fmt.Sprintf("the condition %s waits for somebody to signal it", a.TaskName),
	}
	if a.DeadlineAt != nil {
		w.Message += ", until " + a.DeadlineAt.UTC().Format(time.RFC3339)
	}
	return w
}

// clusterWait explains an admitted action with what was reported of it last.
func (s *Service) clusterWait(w *insightv1.Wait, a *store.Standing) error {
	w.Cause, w.Since = insightv1.WaitCause_WAIT_CAUSE_CLUSTER, timestamppb.New(*a.AdmittedAt)
	if a.Runner == store.RunnerEngine {
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_PENDING, "the engine is about to run it"
		return nil
	}
	switch a.Phase {
	case state.Queued:
		w.Message = "it is admitted, and the cluster has not begun with it yet"
	case state.Initializing:
		w.Message = "the cluster prepares its container"
	default:
		w.Message = "the cluster has no place for it yet"
	}
	var told, lost string
	for i := range a.Events { // the newest first
		var event workflow.ActionEvent
		if err := proto.Unmarshal(a.Events[i].Event, &event); err != nil {
			return rpc.DataLoss(err, "a stored event of action %s cannot be read", a.Name)
		}
		if a.Events[i].Attempt != a.Attempt {
			lost = firstOf(lost, event.GetErrorInfo().GetMessage())
			continue
		}
		w.Since = timestamppb.New(a.Events[i].RecordedAt)
		if list := event.GetClusterEvents(); len(list) > 0 && told == "" {
			told = list[len(list)-1].GetMessage()
		}
	}
	if told != "" {
		w.Message += ": " + told
	}
	if a.Phase == state.Queued && a.Attempt > 1 {
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_BACKOFF
		w.Message = fmt.Sprintf("attempt %d was lost and attempt %d begins when its backoff is over", a.Attempt-1, a.Attempt)
		if lost != "" {
			w.Message += "; " + lost
		}
	}
	return nil
}

// queueWait finds the limit that holds a queued action back.
func (s *Service) queueWait(ctx context.Context, w *insightv1.Wait, a *store.Standing) error {
	queue := s.queues.Of(a.Queue)
	var others []string
	if queue == s.queues.Default() {
		others = append([]string{}, s.queues.Others()...)
	}
	ahead, live, err := s.queue.Ahead(ctx, queue.Name, others, &a.Action)
	if err != nil {
		return err
	}
	scope := store.LoadScope{All: live >= s.config.Admission.MaxLive}
	switch limited := queue.MaxActions > 0 || queue.MaxRuns > 0; {
	case limited && others != nil:
		scope.All = true
	case limited:
		scope.Queues = []string{queue.Name}
	}
	if a.RunLimit > 0 {
		scope.Runs = []int64{a.RunID}
	}
	load, err := s.queue.Load(ctx, scope)
	if err != nil {
		return err
	}
	var actions, runs, installation int
	for _, part := range load.Parts {
		installation += part.Executor
		if s.queues.Of(part.Queue) != queue {
			continue
		}
		actions += part.Actions
		if part.Root {
			runs++
		}
	}
	reached := func(cause insightv1.WaitCause, limit, used int, format string, args ...any) bool {
		if limit == 0 || used < limit {
			return false
		}
		w.Cause, w.Limit, w.Used, w.Message = cause, int64(limit), int64(used), fmt.Sprintf(format, args...)
		return true
	}
	w.Ahead = int64(ahead)
	switch {
	case reached(insightv1.WaitCause_WAIT_CAUSE_RUN_CONCURRENCY, int(a.RunLimit), load.Runs[a.RunID],
		"%d of the %d actions that the run may have at once are under way", load.Runs[a.RunID], a.RunLimit):
	case a.ParentName == nil && reached(insightv1.WaitCause_WAIT_CAUSE_QUEUE_RUNS, queue.MaxRuns, runs,
		"%d of the %d runs that queue %s may have at once are under way", runs, queue.MaxRuns, queue.Name):
	case reached(insightv1.WaitCause_WAIT_CAUSE_QUEUE_ACTIONS, queue.MaxActions, actions,
		"%d of the %d actions that queue %s may have at once are under way", actions, queue.MaxActions, queue.Name):
	case scope.All && a.Runner == store.RunnerExecutor && reached(insightv1.WaitCause_WAIT_CAUSE_INSTALLATION, s.config.Admission.MaxLive, installation,
		"%d of the %d actions that the installation may have at once are under way", installation, s.config.Admission.MaxLive):
	case ahead > 0:
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_TURN, "its turn in queue "+queue.Name+" has not come"
	default:
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_PENDING, "it is about to be admitted"
	}
	if ahead > 0 {
		w.Message += fmt.Sprintf("; %s before it in queue %s", howMany(ahead), queue.Name)
	}
	return nil
}

func howMany(ahead int) string {
	switch {
	case ahead == 1:
		return "one action goes"
	case ahead >= store.MaxAhead:
		return fmt.Sprintf("%d actions or more go", store.MaxAhead)
	default:
		return fmt.Sprintf("%d actions go", ahead)
	}
}

// tellWait adds, to the details of an action that is not admitted, why it waits, as an event of its attempt. Nothing of
// that is stored.
func (s *Service) tellWait(ctx context.Context, a *store.Action, details *workflow.ActionDetails) error {
	if a.Phase != state.Queued || workflow.ActionType(a.ActionType) != workflow.ActionType_ACTION_TYPE_TASK || len(details.GetAttempts()) == 0 {
		return nil
	}
	standing, err := s.lists.Standing(ctx, ident.Action{Run: ident.Run{Project: a.Project, Domain: a.Domain, Name: a.RunName}, Name: a.Name})
	if err != nil || standing.Phase != state.Queued || standing.AdmittedAt != nil {
		return err
	}
	w, err := s.wait(ctx, standing)
	if err != nil || w == nil {
		return err
	}
	newest := details.GetAttempts()[len(details.GetAttempts())-1]
	newest.ClusterEvents = append(newest.ClusterEvents, &workflow.ClusterEvent{
		OccurredAt: w.GetSince(), Message: "waits: " + w.GetMessage(), Reason: "Queued", SourceComponent: "admission",
		Type: workflow.ClusterEvent_TYPE_NORMAL, Count: 1,
	})
	return nil
}
