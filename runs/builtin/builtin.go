// Package builtin runs tasks of the types core-sleep and echo inside the runs service, without a pod or any other
// object in the cluster. It reads their inputs and writes their outputs; their rows say when they start and end, and
// the package timers acts on that.
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
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Runs reports whether the runs service runs tasks of a type itself.
func Runs(taskType string) bool { return taskType == tasktype.Sleep || taskType == tasktype.Echo }

const (
	// maxInputs is the largest inputs document that is read, in bytes.
	maxInputs = 10 << 20
	// parallel is how many actions are prepared at once.
	parallel = 32
	// workTimeout bounds the work on one action.
	workTimeout = 10 * time.Second
	// pause is about how long an action waits after the object store did not respond.
	pause = 2 * time.Second
	// maxSpecs is about how many task specs are cached.
	maxSpecs = 1024
)

// Blobs is the object store, as this package uses it.
type Blobs interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	WriteAll(ctx context.Context, uri string, body []byte) error
}

// Specs reads encoded task specs by digest.
type Specs interface {
	Specs(ctx context.Context, digests [][]byte) (map[string][]byte, error)
}

// Tasks prepares the starts of actions.
type Tasks struct {
	blobs  Blobs
	specs  Specs
	logger zerolog.Logger

	mu    sync.Mutex
	known map[string]*core.TaskTemplate // GUARDED_BY(mu)
}

// New returns the tasks.
func New(blobs Blobs, specs Specs, logger zerolog.Logger) *Tasks {
	return &Tasks{blobs: blobs, specs: specs, logger: logger, known: map[string]*core.TaskTemplate{}}
}

// Prepare returns how each action starts, in order. It postpones actions that it cannot prepare yet.
func (t *Tasks) Prepare(ctx context.Context, due []worklists.DueAction) []*store.Start {
	starts := make([]*store.Start, len(due))
	templates, err := t.templates(ctx, due)
	if err != nil {
		t.logger.Warn().Err(err).Int("actions", len(due)).Msg("reading the tasks of actions failed; retrying")
		for i := range starts {
			starts[i] = postponed()
		}
		return starts
	}
	slots := make(chan struct{}, parallel)
	var group sync.WaitGroup
	for i := range due {
		// waits while as many actions are prepared as may be at once
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, workTimeout)
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

// badError is a permanent error.
type badError struct{ words string }

func (e *badError) Error() string { return e.words }

func bad(format string, args ...any) error { return &badError{words: fmt.Sprintf(format, args...)} }

func (t *Tasks) prepare(ctx context.Context, action *worklists.DueAction, template *core.TaskTemplate) *store.Start {
	start, err := t.begin(ctx, action, template)
	var wrong *badError
	switch {
	case err == nil:
		// 0 without a timeout
		start.Limit = template.GetMetadata().GetTimeout().AsDuration()
		return start
	case errors.As(err, &wrong):
		return &store.Start{Failure: &core.ExecutionError{
			Code: "BadTaskInputs", Message: wrong.words, Kind: core.ExecutionError_USER, Recoverability: core.ContainerError_NON_RECOVERABLE,
		}}
	default:
		t.logger.Warn().Err(err).Str("run", action.RunName).Str("action", action.Name).Msg("starting a built-in action failed; retrying")
		return postponed()
	}
}

func (t *Tasks) begin(ctx context.Context, action *worklists.DueAction, template *core.TaskTemplate) (*store.Start, error) {
	if template == nil {
		return nil, bad("the task of the action cannot be read")
	}
	inputs, err := t.inputs(ctx, action, template)
	if err != nil {
		return nil, err
	}
	if template.GetType() == tasktype.Sleep {
		return sleep(inputs, template)
	}
	return t.echo(ctx, action, inputs, template)
}

// inputs reads the inputs of the action. A task without inputs needs no document.
func (t *Tasks) inputs(ctx context.Context, action *worklists.DueAction, template *core.TaskTemplate) (*task.Inputs, error) {
	inputs := &task.Inputs{}
	body, err := t.blobs.ReadAll(ctx, blobpath.InputsPath(action.InputURI), maxInputs)
	switch {
	case errors.Is(err, blobstore.ErrNotExist) && len(template.GetInterface().GetInputs().GetVariables()) == 0:
		return inputs, nil
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, bad("the inputs do not exist: %s", blobpath.InputsPath(action.InputURI))
	case errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, bad("the inputs cannot be read: %s", err)
	case err != nil:
		return nil, fmt.Errorf("read inputs: %w", err)
	}
	if err := proto.Unmarshal(body, inputs); err != nil {
		return nil, bad("the inputs cannot be read: %s is damaged", blobpath.InputsPath(action.InputURI))
	}
	return inputs, nil
}

// templates reads the tasks of actions, from the cache where possible. It leaves out tasks that cannot be decoded.
func (t *Tasks) templates(ctx context.Context, due []worklists.DueAction) (map[string]*core.TaskTemplate, error) {
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
	// Emptied as a whole: a task that is used often comes back with the next action.
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
