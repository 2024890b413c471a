// Package dispatch tells executors which actions should run, through EngineService. It reads the store; changes go
// through runs/store.Writer.
package dispatch

import (
	"context"
	"maps"
	"slices"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/obs/tracelink"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/recent"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Reader reads the live set; worklists.LiveReader is one.
type Reader interface {
	Live(ctx context.Context, of worklists.Selection, after schema.Ref, limit int) ([]schema.Ref, error)
	LiveOfRuns(ctx context.Context, of worklists.Selection, runIDs []int64) ([]schema.Ref, error)
	LiveByID(ctx context.Context, ids []int64, parents, ended bool) ([]worklists.LiveAction, error)
	Specs(ctx context.Context, digests [][]byte) (map[string][]byte, error)
}

// Precedence tells whether calls of users need the processors more than new assignments do; precedence.Calls does.
type Precedence interface {
	ClaimProcessors() bool
}

// Deps are the dependencies of the package.
type Deps struct {
	Reader Reader
	Feed   *Feed
	Clock  clock.Clock
	Logger zerolog.Logger
	// Precedence says which calls new assignments wait for; nil means none.
	Precedence Precedence
	// Waits gets, in seconds, how long each action was admitted before an executor got it; nil means that nothing is measured.
	Waits metric.Float64Histogram
	// Tracer records the admission and the assignment of actions whose run has a trace; nil records none.
	Tracer trace.Tracer
}

// Assignments tells executors what should run.
type Assignments struct {
	config Config
	deps   Deps
	specs  *recent.Cache[string, []byte] // by digest
	rounds *rounds
}

// NewAssignments returns the assignments; nothing runs until an executor watches.
func NewAssignments(config Config, deps Deps) *Assignments {
	if deps.Waits == nil {
		deps.Waits = noop.Float64Histogram{}
	}
	return &Assignments{config: config, deps: deps, specs: recent.New[string](32<<20, func(spec []byte) int { return len(spec) }), rounds: newRounds(deps.Reader, deps.Tracer != nil)} // spans hang below those of parents
}

// Get reads whole assignments. Actions that are not live are left out unless ended is true, and those of other clusters unless cluster
// is empty.
func (a *Assignments) Get(ctx context.Context, cluster string, ids []int64, ended bool) ([]*enginev1.Assignment, error) {
	actions, err := a.read(ctx, ids, ended)
	if err != nil {
		return nil, err
	}
	actions = slices.DeleteFunc(actions, func(action worklists.LiveAction) bool { return cluster != "" && action.Cluster != cluster })
	specs, err := a.load(ctx, actions)
	if err != nil {
		return nil, err
	}
	assignments := make([]*enginev1.Assignment, 0, len(actions))
	for i := range actions {
		assignment, err := assemble(&actions[i], specs)
		if err != nil {
			return nil, err
		}
		if a.deps.Tracer != nil {
			traceBelowParent(&actions[i], assignment)
		}
		assignments = append(assignments, assignment)
		if !assignment.GetBegun() && actions[i].Attempt == 1 {
			a.handedOut(ctx, &actions[i], assignment)
		}
	}
	return assignments, nil
}

// read reads actions. Those that must be live are read together with what others ask for.
func (a *Assignments) read(ctx context.Context, ids []int64, ended bool) ([]worklists.LiveAction, error) {
	if ended {
		return a.deps.Reader.LiveByID(ctx, ids, a.deps.Tracer != nil, ended)
	}
	return a.rounds.liveByID(ctx, ids)
}

// handedOut measures how an action came to an executor.
func (a *Assignments) handedOut(ctx context.Context, action *worklists.LiveAction, assignment *enginev1.Assignment) {
	now := a.deps.Clock.Now()
	a.deps.Waits.Record(ctx, max(0, now.Sub(action.AdmittedAt).Seconds()))
	if a.deps.Tracer == nil {
		return
	}
	span := tracelink.Span{
		Name: "admit action", Start: action.CreatedAt, End: action.AdmittedAt,
		Attributes: tracelink.Action(action.Project, action.Domain, action.RunName, action.Name),
	}
	if variable := traceOf(assignment); variable != nil {
		span.Parent = variable.GetValue()
	}
	span.Record(a.deps.Tracer)
	span.Name, span.Start, span.End = "assign action", action.AdmittedAt, now
	span.Record(a.deps.Tracer)
}

// traceBelowParent makes a child part of what the attempt of its parent caused. The attempt is the one that the parent is in now: it
// has enqueued the child, unless the parent was retried before the child was admitted.
func traceBelowParent(action *worklists.LiveAction, assignment *enginev1.Assignment) {
	variable := traceOf(assignment)
	if variable == nil || action.Parent == nil {
		return
	}
	if above := tracelink.OfAttempt(
		variable.GetValue(), action.Project, action.Domain, action.RunName, *action.Parent, action.ParentAttempt,
	); above != "" {
		variable.Value = above
	}
}

// traceOf is the variable of an action that has its trace; nil if it has none.
func traceOf(assignment *enginev1.Assignment) *core.KeyValuePair {
	for _, pair := range assignment.GetRunSpec().GetEnvs().GetValues() {
		if pair.GetKey() == tracelink.Variable {
			return pair
		}
	}
	return nil
}

// load reads the specs of actions, from the cache where possible.
func (a *Assignments) load(ctx context.Context, actions []worklists.LiveAction) (map[string][]byte, error) {
	found := map[string][]byte{}
	missing := map[string]struct{}{}
	for i := range actions {
		for _, digest := range [][]byte{actions[i].SpecDigest, actions[i].RunSpecDigest} {
			if len(digest) == 0 {
				continue
			}
			if body, ok := a.specs.Get(string(digest)); ok {
				found[string(digest)] = body
			} else {
				missing[string(digest)] = struct{}{}
			}
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	digests := make([][]byte, 0, len(missing))
	for digest := range missing {
		digests = append(digests, []byte(digest))
	}
	read, err := a.deps.Reader.Specs(ctx, digests)
	if err != nil {
		return nil, err
	}
	for digest, body := range read {
		a.specs.Put(digest, body)
	}
	maps.Copy(found, read)
	return found, nil
}

func assemble(a *worklists.LiveAction, specs map[string][]byte) (*enginev1.Assignment, error) {
	out := &enginev1.Assignment{
		Ref:   refOf(a.Ref),
		Group: a.Group,
		Task: &workflow.TaskAction{
			Id: &task.TaskIdentifier{
				Project: a.TaskProject, Domain: a.TaskDomain, Name: a.TaskName, Version: a.TaskVersion,
			},
			Queue: a.Queue,
		},
		InputUri:      a.InputURI,
		RunOutputBase: a.RunOutputBase,
		Attempt:       uint32(a.Attempt), //nolint:gosec // counts from 1
		QueuedAt:      timestamppb.New(a.CreatedAt),
		Priority:      a.Priority,
		Ancestors:     a.Ancestors,
		Cluster:       a.Cluster,
	}
	if a.Parent != nil {
		out.Parent = *a.Parent
	}
	// Only an executor leads an action beyond the queue.
	out.Begun = a.Phase > state.Queued
	for _, encoded := range a.Lost {
		lost := &workflow.ActionEvent{}
		if err := proto.Unmarshal(encoded, lost); err != nil {
			return nil, rpc.DataLoss(err, "a stored event of action %s cannot be read", a.Name)
		}
		// Not the kind of the error: that is SYSTEM where a task blames the system, and the task's retries are for it.
		if lost.GetErrorInfo().GetKind() == workflow.ErrorInfo_KIND_USER {
			out.UserFailures++
		} else {
			out.SystemFailures++
		}
	}
	if a.CacheKey != "" {
		out.Task.CacheKey = wrapperspb.String(a.CacheKey)
	}
	if a.RunStartTime != nil {
		out.RunStartTime = timestamppb.New(*a.RunStartTime)
	}
	spec, ok := specs[string(a.SpecDigest)]
	if !ok {
		return nil, rpc.DataLoss(nil, "the spec of action %s is not stored", a.Name)
	}
	out.Task.Spec = &task.TaskSpec{}
	if err := proto.Unmarshal(spec, out.GetTask().GetSpec()); err != nil {
		return nil, rpc.DataLoss(err, "the stored spec of action %s cannot be read", a.Name)
	}
	if body, ok := specs[string(a.RunSpecDigest)]; ok {
		out.RunSpec = &task.RunSpec{}
		if err := proto.Unmarshal(body, out.GetRunSpec()); err != nil {
			return nil, rpc.DataLoss(err, "the stored run spec of run %s cannot be read", a.RunName)
		}
	}
	return out, nil
}

func refOf(ref schema.Ref) *enginev1.ActionRef {
	run := ident.Run{Project: ref.Project, Domain: ref.Domain, Name: ref.RunName}
	return &enginev1.ActionRef{
		Uid: ref.ID, Id: ident.Action{Run: run, Name: ref.Name}.Proto(), Placement: uint32(ref.Placement), //nolint:gosec // counts from 0
	}
}

// sortedIDs makes the order of loads repeatable.
func sortedIDs[V any](m map[int64]V) []int64 { return slices.Sorted(maps.Keys(m)) }
