package insight

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// ReservationReader finds the action that computes the key for which another waits; lists.Reader does.
type ReservationReader interface {
	ReservedBy(ctx context.Context, waits *schema.Action) (*ident.Action, error)
}

// AheadReader counts the actions ahead in a queue, those with which it takes turns, and the live ones; worklists.QueueReader does.
type AheadReader interface {
	Ahead(ctx context.Context, queue string, others []string, a *schema.Action) (worklists.Standing, error)
	Load(ctx context.Context, scope worklists.LoadScope) (*worklists.Load, error)
}

// Waits explains why actions wait.
type Waits struct {
	Actions ReservationReader
	Queue   AheadReader
	Queues  *queues.Set
	// MaxLive is how many actions may be live in the installation, as configured; Ceiling how many now, which is fewer while the
	// cluster is slow. Nil means always as many as configured.
	MaxLive int
	Ceiling func() int
	// Pools says why actions of reusable environments wait; nil says nothing.
	Pools Pools
	// Connectors says why actions that connectors run wait; nil says nothing.
	Connectors Connectors
	// Places decides among clusters, and Asks reads what actions ask of them.
	Places Places
	Asks   Asks
}

// Connectors explains the wait for a connector; enginev1connect.ConnectorRegistryServiceClient does.
type Connectors interface {
	ExplainConnectorWait(ctx context.Context, r *enginev1.ExplainConnectorWaitRequest) (*enginev1.ExplainConnectorWaitResponse, error)
}

// Pools explains the wait for a worker; enginev1connect.WorkerPoolServiceClient does.
type Pools interface {
	ExplainWorkerWait(ctx context.Context, r *enginev1.ExplainWorkerWaitRequest) (*enginev1.ExplainWorkerWaitResponse, error)
}

// Of returns what an action waits for; nil when it does not wait.
func (s *Waits) Of(ctx context.Context, a *lists.Standing) (*insightv1.Wait, error) {
	switch workflow.ActionType(a.ActionType) {
	case workflow.ActionType_ACTION_TYPE_CONDITION:
		if a.Phase == state.Paused {
			return signalWait(a), nil
		}
		return nil, nil //nolint:nilnil // it waits for nothing
	case workflow.ActionType_ACTION_TYPE_TASK:
	default:
		return nil, nil //nolint:nilnil // it waits for nothing
	}
	switch a.Phase {
	case state.Queued, state.WaitingForResources, state.Initializing:
	default:
		return nil, nil //nolint:nilnil // it waits for nothing
	}
	queue := s.Queues.Of(a.Queue)
	w := &insightv1.Wait{Queue: queue.Name, Since: timestamppb.New(a.CreatedAt)}
	switch {
	case a.AdmittedAt != nil:
		if err := clusterWait(w, a); err != nil {
			return nil, err
		}
		switch {
		case a.Runner == schema.RunnerConnector:
			return w, s.connectorWait(ctx, w, a)
		case a.Runner.Explained() && s.Pools != nil:
			return w, s.poolWait(ctx, w, a)
		}
		return w, nil
	// Holds come before limits: a held action is not up for admission.
	case a.Hold == schema.HoldCache:
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_PENDING, "its key is about to be looked up in the cache"
		return w, nil
	case a.Hold == schema.HoldReservation:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_CACHE_RESERVATION
		w.Message = cmp.Or(a.CacheReason, "another action computes the outputs that the cache has no entry for yet")
		owner, err := s.Actions.ReservedBy(ctx, &a.Action)
		if owner != nil {
			w.Behind = owner.Proto()
		}
		return w, err
	case a.Hold == schema.HoldPlacement:
		return w, s.placementWait(ctx, w, a)
	default:
		return w, s.queueWait(ctx, w, a)
	}
}

func signalWait(a *lists.Standing) *insightv1.Wait {
	w := &insightv1.Wait{
		Cause: insightv1.WaitCause_WAIT_CAUSE_SIGNAL, Since: timestamppb.New(a.CreatedAt),
		Message: fmt.Sprintf("the condition %s waits for a signal", a.TaskName),
	}
	if a.DeadlineAt != nil {
		w.Message += ", until " + a.DeadlineAt.UTC().Format(time.RFC3339)
	}
	return w
}

// clusterWait explains an admitted action by the last report about it.
func clusterWait(w *insightv1.Wait, a *lists.Standing) error {
	w.Cause, w.Since = insightv1.WaitCause_WAIT_CAUSE_CLUSTER, timestamppb.New(*a.AdmittedAt)
	if a.Runner.InProcess() {
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_PENDING, "the runs service is about to run it"
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
	// own is the executor's newest message about this phase of the attempt, told the newest of anyone about the attempt, lost the
	// error of the attempt before it.
	var own, told, lost string
	for i := range a.Events { // the newest first
		var event workflow.ActionEvent
		if err := proto.Unmarshal(a.Events[i].Event, &event); err != nil {
			return rpc.DataLoss(err, "a stored event of action %s cannot be read", a.Name)
		}
		if a.Events[i].Attempt != a.Attempt {
			lost = cmp.Or(lost, event.GetErrorInfo().GetMessage())
			continue
		}
		w.Since = timestamppb.New(a.Events[i].RecordedAt)
		list := event.GetClusterEvents()
		if len(list) > 0 && told == "" && !protomap.IsNote(list[0]) {
			told = list[len(list)-1].GetMessage()
		}
		if a.Events[i].Phase == a.Phase {
			own = cmp.Or(own, saidByExecutor(list))
		}
	}
	if told = cmp.Or(own, told); told != "" {
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

// sourceExecutor is the source of what the executor says itself, a sentence about what the attempt waits for. The Events of the
// cluster that it passes on have other sources, and most tell only that something happened.
const sourceExecutor = "executor"

func saidByExecutor(list []*workflow.ClusterEvent) string {
	for _, event := range list {
		if event.GetSourceComponent() == sourceExecutor {
			return event.GetMessage()
		}
	}
	return ""
}

// poolCauses are the causes of pools.
var poolCauses = map[enginev1.WorkerWaitCause]insightv1.WaitCause{
	enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_UNSPECIFIED: insightv1.WaitCause_WAIT_CAUSE_PENDING,
	enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_SLOTS:       insightv1.WaitCause_WAIT_CAUSE_WORKER_SLOTS,
	enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_STARTING:    insightv1.WaitCause_WAIT_CAUSE_WORKER_START,
	enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_PROBLEM:     insightv1.WaitCause_WAIT_CAUSE_WORKER_PROBLEM,
	enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_BACKOFF:     insightv1.WaitCause_WAIT_CAUSE_BACKOFF,
}

// poolWait explains an admitted action of a reusable environment by its pool.
func (s *Waits) poolWait(ctx context.Context, w *insightv1.Wait, a *lists.Standing) error {
	answer, err := s.Pools.ExplainWorkerWait(ctx, &enginev1.ExplainWorkerWaitRequest{Uid: a.ID})
	switch {
	case connect.CodeOf(err) == connect.CodeNotFound:
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_PENDING, "its pool of workers is about to receive it"
		return nil
	case err != nil:
		return err
	}
	cause := poolCauses[answer.GetCause()]
	if cause == insightv1.WaitCause_WAIT_CAUSE_BACKOFF {
		if w.GetCause() != cause { // its own message says which attempt was lost
			w.Cause, w.Message = cause, answer.GetMessage()
		}
		return nil
	}
	w.Cause, w.Message, w.Limit, w.Used, w.Ahead = cause, answer.GetMessage(), answer.GetLimit(), answer.GetUsed(), answer.GetAhead()
	if w.GetAhead() > 0 && cause != insightv1.WaitCause_WAIT_CAUSE_PENDING {
		w.Message += fmt.Sprintf("; %s ahead of it in its pool", howMany(int(w.GetAhead())))
	}
	return nil
}

// queueWait finds the limit that holds a queued action back. It counts with the same limits and scope as admission, so
// it names the limit at which admission stops.
func (s *Waits) queueWait(ctx context.Context, w *insightv1.Wait, a *lists.Standing) error {
	queue := s.Queues.Of(a.Queue)
	var others []string
	if queue == s.Queues.Default() {
		others = append([]string{}, s.Queues.Others()...)
	}
	stands, err := s.Queue.Ahead(ctx, queue.Name, others, &a.Action)
	if err != nil {
		return err
	}
	action := limits.Action{
		Queue: queue, Project: a.Project, Person: a.CreatedBySubject, RunID: a.RunID, RunLimit: int(a.RunLimit), Root: a.ParentName == nil, Executor: a.Runner.OnCluster(),
	}
	most := s.MaxLive
	if s.Ceiling != nil {
		most = s.Ceiling()
	}
	scope := worklists.LoadScope{All: stands.Live >= most}
	limits.Cover(&scope, s.Queues, action)
	counted, err := s.Queue.Load(ctx, scope)
	if err != nil {
		return err
	}
	load := limits.New(s.Queues, limits.Snapshot{MaxLive: most, Live: stands.Live, Scope: scope, Counted: counted})
	w.Ahead = int64(stands.Ahead)
	switch decision := load.Decide(action); {
	case !decision.Admits():
		limitWait(w, decision)
		if decision.Limit == limits.Installation && most < s.MaxLive {
			w.Message += fmt.Sprintf(", fewer than the usual %d because the cluster answers slowly", s.MaxLive)
		}
	case stands.Ahead > 0 || stands.Shared > 0 || stands.Turns > 0:
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_TURN, "its turn in queue "+queue.Name+" has not come"
	default:
		w.Cause, w.Message = insightv1.WaitCause_WAIT_CAUSE_PENDING, "it is about to be admitted"
	}
	if stands.Ahead > 0 {
		w.Message += fmt.Sprintf("; %s ahead of it in queue %s", howMany(stands.Ahead), queue.Name)
	}
	if stands.Shared > 0 {
		w.Message += takeTurns(stands.Shared, count(stands.People, "other caller")+" in project "+a.Project, "it")
	}
	if stands.Turns > 0 {
		w.Message += takeTurns(stands.Turns, count(stands.Projects, "other project"), "those of project "+a.Project)
	}
	return nil
}

// takeTurns says whose actions get places in turn with others, so that none of them is ahead of all others.
func takeTurns(n int, whose, others string) string {
	take := "take"
	if n == 1 {
		take = "takes"
	}
	return fmt.Sprintf("; %s of %s %s turns with %s", count(n, "action"), whose, take, others)
}

// count is a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "one " + noun
	case n >= worklists.MaxAhead:
		return fmt.Sprintf("%d %ss or more", worklists.MaxAhead, noun)
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

// limitWait explains a decision that a limit holds the action back. The queue is in the wait already.
func limitWait(w *insightv1.Wait, d limits.Decision) {
	w.Limit, w.Used = int64(d.Max), int64(d.Used)
	used := fmt.Sprintf("(%d of %d in use)", d.Used, d.Max)
	switch d.Limit {
	case limits.None:
	case limits.Run:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_RUN_CONCURRENCY
		w.Message = "the run is at its limit of concurrent actions " + used
	case limits.QueueRuns:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_QUEUE_RUNS
		w.Message = "queue " + w.GetQueue() + " is at its limit of concurrent runs " + used
	case limits.QueueActions:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_QUEUE_ACTIONS
		w.Message = "queue " + w.GetQueue() + " is at its limit " + used
	case limits.Installation:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_INSTALLATION
		w.Message = "the installation is at its limit of concurrent actions " + used
	}
}

func howMany(ahead int) string {
	if ahead == 1 {
		return "one action is"
	}
	return count(ahead, "action") + " are"
}
