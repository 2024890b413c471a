package insight

import (
	"cmp"
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
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
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_PENDING
		say(w, sentence.New("its key is about to be looked up in the cache"))
		return w, nil
	case a.Hold == schema.HoldReservation:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_CACHE_RESERVATION
		if a.CacheReason != "" {
			say(w, sentence.Free(a.CacheReason))
		} else {
			say(w, sentence.New("another action computes the outputs that the cache has no entry for yet"))
		}
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
	}
	if a.DeadlineAt != nil {
		say(w, sentence.New("the condition %s waits for a signal, until %s", a.TaskName, a.DeadlineAt.UTC().Format(time.RFC3339)))
	} else {
		say(w, sentence.New("the condition %s waits for a signal", a.TaskName))
	}
	return w
}

// clusterWait explains an admitted action by the last report about it.
func clusterWait(w *insightv1.Wait, a *lists.Standing) error {
	w.Cause, w.Since = insightv1.WaitCause_WAIT_CAUSE_CLUSTER, timestamppb.New(*a.AdmittedAt)
	if a.Runner.InProcess() {
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_PENDING
		say(w, sentence.New("the runs service is about to run it"))
		return nil
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
	if a.Phase == state.Queued && a.Attempt > 1 {
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_BACKOFF
		say(w, sentence.New("attempt %d was lost and attempt %d begins when its backoff is over", a.Attempt-1, a.Attempt))
		if lost != "" {
			say(w, sentence.Free(lost))
		}
		return nil
	}
	say(w, inCluster(a.Phase, cmp.Or(own, told)))
	return nil
}

// inCluster says where the cluster is with an action; told is what it says itself, if anything.
func inCluster(phase int16, told string) sentence.Sentence {
	switch {
	case phase == state.Queued && told == "":
		return sentence.New("it is admitted, and the cluster has not begun with it yet")
	case phase == state.Queued:
		return sentence.New("it is admitted, and the cluster has not begun with it yet: %s", told)
	case phase == state.Initializing && told == "":
		return sentence.New("the cluster prepares its container")
	case phase == state.Initializing:
		return sentence.New("the cluster prepares its container: %s", told)
	case told == "":
		return sentence.New("the cluster has no place for it yet")
	default:
		return sentence.New("the cluster has no place for it yet: %s", told)
	}
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
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_PENDING
		sayInstead(w, sentence.New("its pool of workers is about to receive it"))
		return nil
	case err != nil:
		return err
	}
	cause := poolCauses[answer.GetCause()]
	if cause == insightv1.WaitCause_WAIT_CAUSE_BACKOFF {
		if w.GetCause() != cause { // its own message says which attempt was lost
			w.Cause, w.Message, w.Sentences = cause, answer.GetMessage(), answer.GetSentences()
		}
		return nil
	}
	w.Cause, w.Message, w.Sentences = cause, answer.GetMessage(), answer.GetSentences()
	w.Limit, w.Used, w.Ahead = answer.GetLimit(), answer.GetUsed(), answer.GetAhead()
	if ahead := int(w.GetAhead()); ahead > 0 && cause != insightv1.WaitCause_WAIT_CAUSE_PENDING {
		say(w, orMore(ahead, sentence.New("%d actions or more are ahead of it in its pool", worklists.MaxAhead),
			sentence.Count(ahead, "one action is ahead of it in its pool", "{n} actions are ahead of it in its pool")))
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
		limitWait(w, decision, s.MaxLive)
	case stands.Ahead > 0 || stands.Shared > 0 || stands.Turns > 0:
		turnWait(w, queue.Name)
	default:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_PENDING
		say(w, sentence.New("it is about to be admitted"))
	}
	if n := stands.Ahead; n > 0 {
		say(w, orMore(n, sentence.New("%d actions or more are ahead of it in queue %s", worklists.MaxAhead, queue.Name),
			sentence.Count(n, "one action is ahead of it in queue %s", "{n} actions are ahead of it in queue %s", queue.Name)))
	}
	if n := stands.Shared; n > 0 {
		say(w, turnsOfPeople(n, stands.People, a.Project))
	}
	if n := stands.Turns; n > 0 {
		say(w, turnsOfProjects(n, stands.Projects, a.Project))
	}
	return nil
}

func turnWait(w *insightv1.Wait, queue string) {
	w.Cause = insightv1.WaitCause_WAIT_CAUSE_TURN
	say(w, sentence.New("its turn in queue %s has not come", queue))
}

// turnsOfPeople and turnsOfProjects say whose actions get places in turn with others, so that none of them is ahead of all others.
func turnsOfPeople(n, people int, project string) sentence.Sentence {
	more := sentence.New("%d actions or more of other callers in project %s take turns with it", worklists.MaxAhead, project)
	if people == 1 {
		return orMore(n, more, sentence.Count(n, "one action of one other caller in project %s takes turns with it",
			"{n} actions of one other caller in project %s take turns with it", project))
	}
	return orMore(n, more, sentence.Count(n, "one action of %d other callers in project %s takes turns with it",
		"{n} actions of %d other callers in project %s take turns with it", people, project))
}

func turnsOfProjects(n, projects int, project string) sentence.Sentence {
	more := sentence.New("%d actions or more of other projects take turns with those of project %s", worklists.MaxAhead, project)
	if projects == 1 {
		return orMore(n, more, sentence.Count(n, "one action of one other project takes turns with those of project %s",
			"{n} actions of one other project take turns with those of project %s", project))
	}
	return orMore(n, more, sentence.Count(n, "one action of %d other projects takes turns with those of project %s",
		"{n} actions of %d other projects take turns with those of project %s", projects, project))
}

// orMore takes the sentence of more where n is as many as are counted.
func orMore(n int, more, exactly sentence.Sentence) sentence.Sentence {
	if n >= worklists.MaxAhead {
		return more
	}
	return exactly
}

// say adds a sentence to a wait.
func say(w *insightv1.Wait, one sentence.Sentence) {
	if w.GetMessage() != "" {
		w.Message += "; "
	}
	w.Message += one.String()
	w.Sentences = append(w.Sentences, one.Parts())
}

// sayInstead replaces what a wait says.
func sayInstead(w *insightv1.Wait, one sentence.Sentence) {
	w.Message, w.Sentences = one.String(), sentence.Parts(one)
}

// limitWait explains a decision that a limit holds the action back. The queue is in the wait already. usual is how many actions may be
// live in the installation while no cluster is slow.
func limitWait(w *insightv1.Wait, d limits.Decision, usual int) {
	w.Limit, w.Used = int64(d.Max), int64(d.Used)
	switch d.Limit {
	case limits.None:
	case limits.Run:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_RUN_CONCURRENCY
		say(w, sentence.New("the run is at its limit of concurrent actions (%d of %d in use)", d.Used, d.Max))
	case limits.QueueRuns:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_QUEUE_RUNS
		say(w, sentence.New("queue %s is at its limit of concurrent runs (%d of %d in use)", w.GetQueue(), d.Used, d.Max))
	case limits.QueueActions:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_QUEUE_ACTIONS
		say(w, sentence.New("queue %s is at its limit (%d of %d in use)", w.GetQueue(), d.Used, d.Max))
	case limits.Installation:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_INSTALLATION
		if d.Max < usual {
			say(w, sentence.New("the installation is at its limit of concurrent actions (%d of %d in use), fewer than the usual %d because the cluster answers slowly",
				d.Used, d.Max, usual))
			return
		}
		say(w, sentence.New("the installation is at its limit of concurrent actions (%d of %d in use)", d.Used, d.Max))
	}
}
