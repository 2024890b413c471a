package asks

import (
	"context"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Actions reads actions for which a cluster is to be chosen; worklists.PlacementReader does.
type Actions interface {
	Placeable(ctx context.Context, ids []int64) ([]worklists.Placeable, error)
	Held(ctx context.Context, after int64, limit int) ([]worklists.Placeable, error)
}

// Specs reads encoded specs by digest; worklists.LiveReader does.
type Specs interface {
	Specs(ctx context.Context, digests [][]byte) (map[string][]byte, error)
}

// maxKnown bounds the specs whose requests are kept.
const maxKnown = 8192

// Reader reads what recorded actions ask for. It reads each spec once, as long as it is among those last used. It is safe for
// concurrent use.
type Reader struct {
	rules   *Rules
	queues  *queues.Set
	actions Actions
	specs   Specs
	tasks   *lru.Cache[string, ofTask]
	runs    *lru.Cache[string, ofRun]
}

type ofTask struct {
	request     placement.Request
	pods        Pods
	concurrency int32 // of a reusable environment
}

type ofRun struct {
	pool   string
	labels map[string]string
	data   []string
	pods   *task.RunSpec // what policies of pods judge of it
}

// NewReader returns a reader that knows no specs.
func NewReader(rules *Rules, set *queues.Set, actions Actions, specs Specs) *Reader {
	tasks, err := lru.New[string, ofTask](maxKnown)
	if err != nil {
		panic(err) // only a size that is not positive is refused
	}
	runs, err := lru.New[string, ofRun](maxKnown)
	if err != nil {
		panic(err)
	}
	return &Reader{rules: rules, queues: set, actions: actions, specs: specs, tasks: tasks, runs: runs}
}

// Asked is an action with what it asks for.
type Asked struct {
	RunID, ID int64
	Request   *placement.Request
}

// Of reads what actions ask for, by id. Those that do not exist are left out.
func (r *Reader) Of(ctx context.Context, ids []int64) (map[int64]*placement.Request, error) {
	rows, err := r.actions.Placeable(ctx, ids)
	if err != nil {
		return nil, err
	}
	asked, err := r.ask(ctx, rows)
	if err != nil {
		return nil, err
	}
	requests := make(map[int64]*placement.Request, len(asked))
	for _, one := range asked {
		requests[one.ID] = one.Request
	}
	return requests, nil
}

// Held reads a page of the actions that wait for a cluster, oldest first, after a given action.
func (r *Reader) Held(ctx context.Context, after int64, limit int) ([]Asked, error) {
	rows, err := r.actions.Held(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	return r.ask(ctx, rows)
}

func (r *Reader) ask(ctx context.Context, rows []worklists.Placeable) ([]Asked, error) {
	if err := r.learn(ctx, rows); err != nil {
		return nil, err
	}
	asked := make([]Asked, len(rows))
	for i := range rows {
		row := &rows[i]
		known, _ := r.tasks.Get(string(row.SpecDigest)) // nothing, if the cache is too small
		request := known.request
		run, _ := r.runs.Get(string(row.RunSpecDigest))
		queue := r.queues.Of(row.Queue)
		request.Project, request.Domain, request.Queue, request.Pin, request.Parent = row.Project, row.Domain, queue.Name, queue.Cluster, row.Parent
		request.Pool, request.Labels, request.Refuses = run.pool, run.labels, known.pods.within(run.pods)
		Data(&request, run.data, row.InputURI, row.RunOutputBase)
		Shared(&request, row.Runner, row.Environment)
		asked[i] = Asked{RunID: row.RunID, ID: row.ID, Request: &request}
	}
	return asked, nil
}

// Shared adapts the request of an action of a reusable environment: its workers have the resources, and are in one cluster.
func Shared(request *placement.Request, runner schema.Runner, environment string) {
	if runner == schema.RunnerPool {
		request.Group = request.Project + "/" + request.Domain + "/" + environment
		request.Resources, request.Pod, request.Type, request.Accelerator = nil, nil, "", ""
	}
}

// learn reads the specs that are not known.
func (r *Reader) learn(ctx context.Context, rows []worklists.Placeable) error {
	missing := map[string][]byte{}
	for i := range rows {
		if digest := rows[i].SpecDigest; len(digest) > 0 && !r.tasks.Contains(string(digest)) {
			missing[string(digest)] = digest
		}
		if digest := rows[i].RunSpecDigest; len(digest) > 0 && !r.runs.Contains(string(digest)) {
			missing[string(digest)] = digest
		}
	}
	if len(missing) == 0 {
		return nil
	}
	digests := make([][]byte, 0, len(missing))
	for _, digest := range missing {
		digests = append(digests, digest)
	}
	bodies, err := r.specs.Specs(ctx, digests)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := r.know(&rows[i], bodies); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) know(row *worklists.Placeable, bodies map[string][]byte) error {
	if body, ok := bodies[string(row.SpecDigest)]; ok {
		spec := &task.TaskSpec{}
		if err := proto.Unmarshal(body, spec); err != nil {
			return fmt.Errorf("the stored spec of action %d cannot be read: %w", row.ID, err)
		}
		r.tasks.Add(string(row.SpecDigest), ofTask{
			request: r.rules.task(spec.GetTaskTemplate()), pods: r.rules.pods(spec.GetTaskTemplate()),
			concurrency: spec.GetTaskTemplate().GetReusePolicy().GetConcurrency(),
		})
	}
	if body, ok := bodies[string(row.RunSpecDigest)]; ok {
		spec := &task.RunSpec{}
		if err := proto.Unmarshal(body, spec); err != nil {
			return fmt.Errorf("the stored spec of run %d cannot be read: %w", row.RunID, err)
		}
		r.runs.Add(string(row.RunSpecDigest), ofRun{
			pool: spec.GetClusterPool(), labels: spec.GetLabels().GetValues(), data: RunData(spec),
			pods: &task.RunSpec{Annotations: spec.GetAnnotations(), SecurityContext: spec.GetSecurityContext()},
		})
	}
	return nil
}

// Specs reads what one action with each of these specs asks for, by digest. Those that are not stored are left out.
func (r *Reader) Specs(ctx context.Context, digests [][]byte) (map[string]placement.Amounts, error) {
	found := make(map[string]placement.Amounts, len(digests))
	err := r.known(ctx, digests, func(digest []byte, known *ofTask) { found[string(digest)] = known.request.Resources })
	return found, err
}

// known calls back with what is known of each spec. Those that are not stored are left out.
func (r *Reader) known(ctx context.Context, digests [][]byte, each func(digest []byte, known *ofTask)) error {
	rows := make([]worklists.Placeable, len(digests))
	for i, digest := range digests {
		rows[i].SpecDigest = digest
	}
	for part := range slices.Chunk(rows, maxKnown/2) { // what a part learns must not be forgotten before it is read
		if err := r.learn(ctx, part); err != nil {
			return err
		}
		for i := range part {
			if known, ok := r.tasks.Get(string(part[i].SpecDigest)); ok {
				each(part[i].SpecDigest, &known)
			}
		}
	}
	return nil
}
