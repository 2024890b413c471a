// Package builtin is what the engine runs itself, without a pod or any object in the cluster: tasks of the types
// core-sleep and echo. It reads their inputs and writes their outputs; when they begin and end is in their rows, which
// the package timers looks after.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/layout"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// The types of tasks.
const (
	Sleep = "core-sleep" // takes a duration and has no outputs
	Echo  = "echo"       // its outputs are its inputs
)

// Runs tells whether the engine runs tasks of a type itself.
func Runs(taskType string) bool { return taskType == Sleep || taskType == Echo }

const (
	// maxInputs is the largest inputs document that is read, in bytes.
	maxInputs = 10 << 20
	// parallel is how many actions are prepared at once.
	parallel = 32
	// patience bounds the work on one action.
	patience = 10 * time.Second
	// pause is about how long an action waits that the object store had no answer for.
	pause = 2 * time.Second
	// maxSpecs is how many task specs are remembered, about.
	maxSpecs = 1024
)

// Blobs is what the package needs of the object store.
type Blobs interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	WriteAll(ctx context.Context, uri string, body []byte) error
}

// Specs reads encoded task specs by digest.
type Specs interface {
	Specs(ctx context.Context, digests [][]byte) (map[string][]byte, error)
}

// Tasks begins actions.
type Tasks struct {
	blobs  Blobs
	specs  Specs
	logger zerolog.Logger

	mu    sync.Mutex
	known map[string]*core.TaskTemplate // GUARDED_BY(mu)
}

// New makes it.
func New(blobs Blobs, specs Specs, logger zerolog.Logger) *Tasks {
	return &Tasks{blobs: blobs, specs: specs, logger: logger, known: map[string]*core.TaskTemplate{}}
}

// Prepare says how actions begin, each in its place. What cannot be said for now is postponed.
func (t *Tasks) Prepare(ctx context.Context, due []store.DueAction) []*store.Start {
	starts := make([]*store.Start, len(due))
	templates, err := t.templates(ctx, due)
	if err != nil {
		t.logger.Warn().Err(err).Int("actions", len(due)).Msg("the tasks of actions cannot be read, trying again soon")
		for i := range starts {
			starts[i] = postponed()
		}
		return starts
	}
	slots := make(chan struct{}, parallel)
	var group sync.WaitGroup
	for i := range due {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			starts[i] = t.prepare(ctx, &due[i], templates[string(due[i].SpecDigest)])
		})
	}
	group.Wait()
	return starts
}

func postponed() *store.Start {
	return &store.Start{Postpone: pause + rand.N(pause)} //nolint:gosec // spreads load
}

// badError says that no other try can go better.
type badError struct{ words string }

func (e *badError) Error() string { return e.words }

func bad(format string, args ...any) error { return &badError{words: fmt.Sprintf(format, args...)} }

func (t *Tasks) prepare(ctx context.Context, action *store.DueAction, template *core.TaskTemplate) *store.Start {
	start, err := t.begin(ctx, action, template)
	var wrong *badError
	switch {
	case err == nil:
		start.Limit = template.GetMetadata().GetTimeout().AsDuration()
		return start
	case errors.As(err, &wrong):
		return &store.Start{Failure: &core.ExecutionError{
			Code: "BadTaskInputs", Message: wrong.words, Kind: core.ExecutionError_USER, Recoverability: core.ContainerError_NON_RECOVERABLE,
		}}
	default:
		t.logger.Warn().Err(err).Str("run", action.RunName).Str("action", action.Name).Msg("an action cannot begin yet, trying again soon")
		return postponed()
	}
}

func (t *Tasks) begin(ctx context.Context, action *store.DueAction, template *core.TaskTemplate) (*store.Start, error) {
	if template == nil {
		return nil, bad("the task of the action cannot be read")
	}
	inputs, err := t.inputs(ctx, action, template)
	if err != nil {
		return nil, err
	}
	if template.GetType() == Sleep {
		return sleep(inputs, template)
	}
	return t.echo(ctx, action, inputs, template)
}

// inputs reads what the action was given. A task without inputs needs no document.
func (t *Tasks) inputs(ctx context.Context, action *store.DueAction, template *core.TaskTemplate) (*task.Inputs, error) {
	inputs := &task.Inputs{}
	body, err := t.blobs.ReadAll(ctx, layout.InputsPath(action.InputURI), maxInputs)
	switch {
	case errors.Is(err, blobstore.ErrNotExist) && len(template.GetInterface().GetInputs().GetVariables()) == 0:
		return inputs, nil
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, bad("the inputs do not exist: %s", layout.InputsPath(action.InputURI))
	case errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, bad("the inputs cannot be read: %s", err)
	case err != nil:
		return nil, fmt.Errorf("read inputs: %w", err)
	}
	if err := proto.Unmarshal(body, inputs); err != nil {
		return nil, bad("the inputs cannot be read: %s is damaged", layout.InputsPath(action.InputURI))
	}
	return inputs, nil
}

// templates reads the tasks of actions, from memory where they are. One that cannot be decoded is left out.
func (t *Tasks) templates(ctx context.Context, due []store.DueAction) (map[string]*core.TaskTemplate, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]*core.TaskTemplate{}
	var missing [][]byte
	for i := range due {
		digest := string(due[i].SpecDigest)
		if _, ok := found[digest]; ok {
			continue
		}
		if found[digest] = t.known[digest]; found[digest] == nil {
			missing = append(missing, due[i].SpecDigest)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	bodies, err := t.specs.Specs(ctx, missing)
	if err != nil {
		return nil, err
	}
	if len(t.known) > maxSpecs {
		t.known = map[string]*core.TaskTemplate{}
	}
	for digest, body := range bodies {
		spec := &task.TaskSpec{}
		if err := proto.Unmarshal(body, spec); err != nil || spec.GetTaskTemplate() == nil {
			continue
		}
		found[digest], t.known[digest] = spec.GetTaskTemplate(), spec.GetTaskTemplate()
	}
	return found, nil
}
