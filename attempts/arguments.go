package attempts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/rendering"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/values/literaltext"
)

const (
	// maxInputs is the largest inputs document that is read to fill arguments, in bytes. What fits into arguments is small.
	maxInputs = 16 << 20
	// startTimeFormat is ISO 8601 with exactly six fractional digits, which every Python version parses.
	startTimeFormat = "2006-01-02T15:04:05.000000+00:00"

	lastCheckpoint = "prevcheckpointprefix"
)

// Store reads what arguments refer to, with the errors of blobstore.
type Store interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}

// Arguments returns the values for the templates in these texts, the command and arguments of the process. It reads only what they
// mention. A text that mentions an input that the action was not given is a *failure.Failure in the error's chain: a process that
// got the template itself as its argument would do something that its author did not ask for.
func (a *Attempt) Arguments(ctx context.Context, store Store, texts ...string) (rendering.Values, error) {
	var mentioned rendering.Mentions
	for _, text := range texts {
		mentioned.Add(text)
	}
	values := rendering.Values{Named: a.named()}
	var err error
	if values.Inputs, err = a.texts(ctx, store, mentioned.Inputs); err != nil {
		return values, err
	}
	if mentioned.Values[lastCheckpoint] {
		values.Named[lastCheckpoint], err = rendering.LastCheckpoint(ctx, store, a.RunOutputBase, a.Action.Name, uint32(a.Number)) //nolint:gosec // from 1
	}
	return values, err
}

// named are the values of the templates that represent the attempt, by name in lower case.
func (a *Attempt) named() map[string]string {
	dir := a.Dir()
	values := map[string]string{
		"outputprefix":           dir,
		"rawoutputdataprefix":    a.RawData(),
		"checkpointoutputprefix": blobpath.Checkpoints(dir),
		"runname":                a.Action.Run.Name,
		"actionname":             a.Action.Name,
		"perretryuniquekey":      rendering.UniqueKey(a.Object),
		"namespace":              a.Namespace,
		"input":                  "",
		"inputprefix":            "",
	}
	if a.InputURI != "" {
		inputs := blobpath.InputsPath(a.InputURI)
		values["input"] = inputs
		values["inputprefix"] = strings.TrimSuffix(inputs, "/"+blobpath.InputsFile)
	}
	if !a.RunStartTime.IsZero() {
		values["runstarttime"] = a.RunStartTime.UTC().Format(startTimeFormat)
	}
	return values
}

// texts returns the inputs of these names as text.
func (a *Attempt) texts(ctx context.Context, store Store, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	given, err := a.readInputs(ctx, store)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(names))
	for _, name := range names {
		literal, found := given[name]
		if !found {
			return nil, failure.New(failure.BadTaskSpecification, "the arguments mention the input %q, which the task was not given", name)
		}
		if values[name], err = literaltext.Text(literal); err != nil {
			return nil, failure.New(failure.BadTaskSpecification, "the arguments mention the input %q, but %v", name, err)
		}
	}
	return values, nil
}

func (a *Attempt) readInputs(ctx context.Context, store Store) (map[string]*core.Literal, error) {
	inputs, err := a.Inputs(ctx, store)
	if lost := failure.Of(err); lost != nil {
		return nil, lost.With("the arguments mention inputs")
	}
	if err != nil {
		return nil, err
	}
	result := make(map[string]*core.Literal, len(inputs.GetLiterals()))
	for _, literal := range inputs.GetLiterals() {
		result[literal.GetName()] = literal.GetValue()
	}
	return result, nil
}

// Inputs reads the inputs of the attempt; those of an action without any are empty. A *failure.Failure in the error's chain means
// that they cannot be read, however often that is tried.
func (a *Attempt) Inputs(ctx context.Context, store Store) (*task.Inputs, error) {
	inputs := &task.Inputs{}
	if a.InputURI == "" {
		return inputs, nil
	}
	path := blobpath.InputsPath(a.InputURI)
	body, err := store.ReadAll(ctx, path, maxInputs)
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, failure.New(failure.BadTaskSpecification, "the inputs cannot be read: %v", err)
	case err != nil:
		return nil, fmt.Errorf("read inputs %s: %w", path, err)
	}
	if err := proto.Unmarshal(body, inputs); err != nil {
		return nil, failure.New(failure.BadTaskSpecification, "the inputs cannot be read: %v", err)
	}
	return inputs, nil
}
