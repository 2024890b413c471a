// Package sleep runs tasks of type core-sleep inside the engine, without a pod: each takes a duration and has no outputs.
// It measures what orchestration costs, and it is the smallest example of a plugin beside the pods'.
package sleep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/layout"
)

// TaskType is the type of task that the plugin serves.
const TaskType = "core-sleep"

const (
	// maxInputs is the largest inputs document that is read, in bytes.
	maxInputs = 1 << 20
	// fresh is the age up to which a TaskAction counts as just made: its sleep begins now. An older one began when it
	// was made, before a restart.
	fresh = 10 * time.Second
)

// Store reads inputs.
type Store interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
}

// Plugin sleeps.
type Plugin struct {
	store Store
	clock clock.Clock

	mu     sync.Mutex
	sleeps map[types.UID]span // GUARDED_BY(mu): of live TaskActions
}

type span struct{ from, until time.Time }

var _ plugin.Plugin = (*Plugin)(nil)

// New makes the plugin.
func New(store Store, clk clock.Clock) *Plugin {
	return &Plugin{store: store, clock: clk, sleeps: map[types.UID]span{}}
}

// Name implements plugin.Plugin.
func (p *Plugin) Name() string { return "sleep" }

// Advance implements plugin.Plugin.
func (p *Plugin) Advance(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	slept, err := p.span(ctx, attempt)
	if err != nil {
		var bad *invalidError
		if errors.As(err, &bad) {
			return plugin.State{
				Phase: common.ActionPhase_ACTION_PHASE_FAILED, Failure: failure.New(failure.BadTaskSpecification, bad.words),
			}, nil
		}
		return plugin.State{}, err
	}
	if left := slept.until.Sub(p.clock.Now()); left > 0 {
		return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_RUNNING, StartedAt: slept.from, Recheck: left}, nil
	}
	return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED, StartedAt: slept.from, EndedAt: slept.until}, nil
}

// Remove implements plugin.Plugin.
func (p *Plugin) Remove(_ context.Context, attempt *plugin.Attempt) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sleeps, attempt.Task.UID)
	return nil
}

func (p *Plugin) span(ctx context.Context, attempt *plugin.Attempt) (span, error) {
	p.mu.Lock()
	known, found := p.sleeps[attempt.Task.UID]
	p.mu.Unlock()
	if found {
		return known, nil
	}
	duration, err := p.duration(ctx, attempt.Task.Spec.InputURI)
	if err != nil {
		return span{}, err
	}
	from := p.clock.Now()
	if made := attempt.Task.CreationTimestamp.Time; from.Sub(made) > fresh {
		from = made
	}
	slept := span{from: from, until: from.Add(duration)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sleeps[attempt.Task.UID] = slept
	return slept, nil
}

// invalidError says that no other try can read a duration.
type invalidError struct{ words string }

func (e *invalidError) Error() string { return e.words }

// duration reads the task's only input.
func (p *Plugin) duration(ctx context.Context, inputURI string) (time.Duration, error) {
	body, err := p.store.ReadAll(ctx, layout.InputsPath(inputURI), maxInputs)
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return 0, &invalidError{"the inputs cannot be read: " + err.Error()}
	case err != nil:
		return 0, fmt.Errorf("read inputs: %w", err)
	}
	inputs := &task.Inputs{}
	if err := proto.Unmarshal(body, inputs); err != nil {
		return 0, &invalidError{"the inputs cannot be read: " + err.Error()}
	}
	if len(inputs.GetLiterals()) != 1 {
		return 0, &invalidError{fmt.Sprintf("it takes one duration, got %d inputs", len(inputs.GetLiterals()))}
	}
	return durationOf(inputs.GetLiterals()[0].GetValue())
}

// durationOf takes a duration, or a number of seconds.
func durationOf(literal *core.Literal) (time.Duration, error) {
	var duration time.Duration
	switch value := literal.GetScalar().GetPrimitive().GetValue().(type) {
	case *core.Primitive_Duration:
		duration = value.Duration.AsDuration()
	case *core.Primitive_Integer:
		duration = time.Duration(value.Integer) * time.Second
	case *core.Primitive_FloatValue:
		duration = time.Duration(value.FloatValue * float64(time.Second))
	default:
		return 0, &invalidError{"its input is no duration"}
	}
	return max(duration, 0), nil
}
