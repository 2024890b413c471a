package store

import (
	"bytes"
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// NewSpec is an encoded message for the specs table; see EncodeSpec.
type NewSpec struct {
	Kind         schema.SpecKind
	Digest, Body []byte
}

// NewRun is a run to create: its root row, without ids, times and state, and the specs that it refers to. For a root
// whose result comes from another run, the row has the phase RECOVERED and the result.
type NewRun struct {
	Root  schema.Root
	Specs []NewSpec
	// Traces are traces of another run whose results the root may reuse.
	Traces []RecoveredTrace
	// Uses are the artifacts that the inputs name.
	Uses []schema.ArtifactKey
	// ReadInputs says that the inputs may contain the data of artifacts.
	ReadInputs bool
}

// CreateRun stores a run. If a run of that name exists with the same request digest, it changes nothing and returns
// false; with another digest it returns AlreadyExists. It returns the root row of a created run.
func (w *Writer) CreateRun(ctx context.Context, run NewRun) (root *schema.Root, created bool, err error) {
	op := &createRun{NewRun: run}
	if err := w.submit(ctx, op); err != nil {
		return nil, false, err
	}
	return op.created, op.created != nil, nil
}

// slowestClock is how far the clock of the client of a run may be behind; beyond it, its times are not believed.
const slowestClock = 24 * time.Hour

type createRun struct {
	NewRun
	created *schema.Root
}

func (op *createRun) id() ident.Run {
	return ident.Run{Project: op.Root.Project, Domain: op.Root.Domain, Name: op.Root.RunName}
}

func (op *createRun) plan(p *plan) {
	p.run(op.id())
	p.queues[op.Root.Queue] = struct{}{}
	p.newRows += 1 + len(op.Traces)
	p.created[op.id()] = struct{}{}
}

func (op *createRun) apply(b *batch) error {
	op.created = nil
	if existing := b.runs[op.id()]; existing != nil {
		if !bytes.Equal(existing.root.RequestDigest, op.Root.RequestDigest) {
			return rpc.AlreadyExists("run %s already exists with a different request", op.id())
		}
		return nil
	}
	if _, going := b.going[op.id()]; going {
		return rpc.Aborted("a run named %s was just deleted; its name can be used again in a few minutes", op.id())
	}
	r := &row{Root: op.Root}
	r.Name = ident.RootAction
	r.ParentName = nil
	r.ActionType = schema.ActionTask
	r.begin()
	r.CreatedAt = b.now
	if r.Phase == state.Recovered {
		r.EndedAt = &b.now
	}
	r.limit()
	if r.RunStartTime == nil {
		r.RunStartTime = &b.now
	}
	if !r.Runner.Admitted() {
		// All times of its actions are by the clock of the client, which may be slow.
		r.CreatedAt = b.notAfterNow(r.RunStartTime, b.now.Add(-slowestClock))
	} else if err := b.enter(r, r); err != nil {
		return err
	}
	for _, s := range op.Specs {
		b.keep(spec{digest: s.Digest, body: s.Body, kind: s.Kind})
	}
	b.create(r)
	b.admit(r)
	b.use(r, op.Uses)
	if op.ReadInputs {
		b.reads = append(b.reads, r)
	}
	b.createTraces(r, op.Traces)
	root := r.Root
	op.created = &root
	return nil
}
