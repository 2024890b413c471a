package storetest

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Shown says how a run is made that looks like one of a busy day: groups, nesting, attempts, errors of several causes,
// hits of the cache, traces, conditions, and actions in all phases.
type Shown struct {
	Project, Domain, Name string
	// Actions is how many there are, with the root; at least 1.
	Actions int
	// Unfinished is the share of actions, from 0 to 1, that are not terminal; they are the latest. No loop acts on them. If
	// it is 0, the run has ended.
	Unfinished float64
	// Failed is the share that failed or timed out, from 0 to 1.
	Failed float64
	// Now is the time at which the run is seen.
	Now time.Time
	// Seed makes other runs of the same size.
	Seed uint64
}

// DefaultShown has 100,000 actions, of which one in fifty is live and one in twenty-five failed.
func DefaultShown() Shown {
	return Shown{
		Project: "flytesnacks", Domain: "development", Name: "big", Actions: 100_000, Unfinished: 0.02, Failed: 0.04, Seed: 1,
	}
}

// Validate names the field that makes no sense.
func (c Shown) Validate() error {
	switch {
	case c.Name == "" || c.Project == "" || c.Domain == "":
		return fmt.Errorf("project, domain and name must be set")
	case c.Actions < 1:
		return fmt.Errorf("actions must be at least 1, got %d", c.Actions)
	case c.Unfinished < 0 || c.Unfinished > 1:
		return fmt.Errorf("unfinished must be from 0 to 1, got %g", c.Unfinished)
	case c.Failed < 0 || c.Failed > 1:
		return fmt.Errorf("failed must be from 0 to 1, got %g", c.Failed)
	case c.Now.IsZero():
		return fmt.Errorf("now must be set")
	}
	return nil
}

// Show stores the run with all its events in one transaction. It fails if a run of that name exists.
func Show(ctx context.Context, pool *pgxpool.Pool, c Shown) error {
	if err := c.Validate(); err != nil {
		return err
	}
	specs, err := shownSpecs(ctx, pool)
	if err != nil {
		return fmt.Errorf("seed specs: %w", err)
	}
	actions, events := newScene(c, specs).make()
	err = inOneGo(ctx, pool, int64(len(actions)), func(tx pgx.Tx, first int64) error {
		for i := range actions {
			actions[i].ID += first
			actions[i].RunID = first
		}
		for i := range events {
			events[i].ActionID += first
			events[i].RunID = first
		}
		if err := copyRows(ctx, tx, "actions", actions); err != nil {
			return err
		}
		return copyRows(ctx, tx, "action_events", events)
	})
	if err != nil {
		return fmt.Errorf("seed run %s: %w", c.Name, err)
	}
	if _, err := pool.Exec(ctx, `VACUUM ANALYZE actions, action_events`); err != nil {
		return fmt.Errorf("analyze: %w", err)
	}
	return nil
}

// copyRows writes structs whose fields name their columns.
func copyRows[T any](ctx context.Context, tx pgx.Tx, table string, rows []T) error {
	var names []string
	var places [][]int
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name := field.Tag.Get("db"); name != "" && name != "-" {
			names, places = append(names, name), append(places, field.Index)
		}
	}
	source := pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		row := reflect.ValueOf(&rows[i]).Elem()
		values := make([]any, len(places))
		for n, place := range places {
			values[n] = row.FieldByIndex(place).Interface()
		}
		return values, nil
	})
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{table}, names, source); err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

// digests are those of the specs of a shown run.
type digests struct {
	tasks                 map[string][]byte // by stage
	trace, condition, run []byte
}

func shownSpecs(ctx context.Context, pool *pgxpool.Pool) (digests, error) {
	d := digests{tasks: map[string][]byte{}}
	for _, name := range append([]string{rootTask, shardTask}, stages...) {
		spec := &task.TaskSpec{
			ShortName: name, Environment: &task.Environment{Name: "pipeline"},
			TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{Name: "pipeline." + name, Version: "v1"}, Type: "python",
				Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "example/image", Args: []string{"run", name}}},
			},
		}
		digest, err := InsertSpec(ctx, pool, schema.SpecTask, spec)
		if err != nil {
			return d, err
		}
		d.tasks[name] = digest
	}
	for _, spec := range []struct {
		kind    schema.SpecKind
		message proto.Message
		digest  *[]byte
	}{
		{schema.SpecTrace, &task.TraceSpec{}, &d.trace},
		{schema.SpecRun, &task.RunSpec{}, &d.run},
		{schema.SpecCondition, &workflow.ConditionAction{
			Name: "approve", Prompt: "Is this good enough to continue?",
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
		}, &d.condition},
	} {
		var err error
		if *spec.digest, err = InsertSpec(ctx, pool, spec.kind, spec.message); err != nil {
			return d, err
		}
	}
	return d, nil
}
