package store

import (
	"bytes"
	"context"

	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// NewSpec is an encoded message for the specs table; see EncodeSpec.
type NewSpec struct {
	Kind         SpecKind
	Digest, Body []byte
}

// NewRun is a run to be created: its root row, without ids, times and state, and the specs that it refers to. A root
// whose result comes from another run brings the phase RECOVERED and the result.
type NewRun struct {
	Root  Root
	Specs []NewSpec
	// Traces are traces of another run, whose results the root may reuse.
	Traces []RecoveredTrace
}

// CreateRun stores a run. When a run of that name exists with the same request digest it changes nothing and answers
// false; with another digest it answers AlreadyExists. The root row is returned when it was created.
func (w *Writer) CreateRun(ctx context.Context, run NewRun) (root *Root, created bool, err error) {
	op := &createRun{NewRun: run}
	if err := w.submit(ctx, op); err != nil {
		return nil, false, err
	}
	return op.created, op.created != nil, nil
}

type createRun struct {
	NewRun
	created *Root
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
			return rpc.AlreadyExists("run %s exists with other content", op.id())
		}
		return nil
	}
	if _, going := b.going[op.id()]; going {
		return rpc.Aborted("a run named %s was deleted a moment ago; its name is free again in some minutes", op.id())
	}
	r := &row{Root: op.Root}
	r.Name = ident.RootAction
	r.ParentName = nil
	r.ActionType = actionTask
	r.Attempt = 1
	r.CreatedAt = b.now
	if r.Phase == state.Recovered {
		r.EndedAt = &b.now
	} else {
		r.Phase = state.Queued
	}
	r.limit()
	if r.RunStartTime == nil {
		r.RunStartTime = &b.now
	}
	if err := b.enter(r, r); err != nil {
		return err
	}
	for _, s := range op.Specs {
		b.keep(spec{digest: s.Digest, body: s.Body, kind: s.Kind})
	}
	b.create(r)
	b.admit(r)
	b.createTraces(r, op.Traces)
	root := r.Root
	op.created = &root
	return nil
}
