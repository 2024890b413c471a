package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Type is a type of task.
type Type struct {
	Name    string
	Version int32
}

// Connector is a configured connector.
type Connector struct {
	Name string
	// Types are those that it serves; nil leaves what is stored.
	Types []Type
	// Problem is why it did not say what it serves; empty if it did.
	Problem string
}

// Register stores what is known of all connectors, in the order of their precedence; others are forgotten. Jobs that have not begun
// go to the connectors that serve their types now.
func (s *Store) Register(ctx context.Context, all []Connector) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		names := make([]string, len(all))
		for rank := range all {
			names[rank] = all[rank].Name
			if err := register(ctx, tx, rank, &all[rank]); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `DELETE FROM connectors WHERE name <> ALL($1)`, names); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE connector_jobs j SET connector = f.connector, due_at = clock_timestamp()
			FROM (
				SELECT d.task_type, d.type_version, `+finds("d.task_type", "d.type_version")+` AS connector
				FROM (SELECT DISTINCT task_type, type_version FROM connector_jobs WHERE stage = `+sqlWaiting+`) d
			) f
			WHERE j.stage = `+sqlWaiting+` AND (j.task_type, j.type_version) = (f.task_type, f.type_version) AND j.connector <> f.connector
			RETURNING f.connector`)
		if err != nil {
			return err
		}
		moved, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		return notify(ctx, tx, distinct(moved)...)
	})
	if err != nil {
		return fmt.Errorf("register connectors: %w", err)
	}
	return nil
}

func register(ctx context.Context, tx pgx.Tx, rank int, c *Connector) error {
	if _, err := tx.Exec(ctx, `
		INSERT INTO connectors AS c (name, rank, answered_at, problem) VALUES ($1, $2, CASE WHEN $3 = '' THEN clock_timestamp() END, $3)
		ON CONFLICT (name) DO UPDATE SET rank = excluded.rank, answered_at = coalesce(excluded.answered_at, c.answered_at), problem = excluded.problem`,
		c.Name, rank, c.Problem); err != nil {
		return err
	}
	if c.Types == nil {
		return nil
	}
	names, versions := make([]string, len(c.Types)), make([]int32, len(c.Types))
	for i, t := range c.Types {
		names[i], versions[i] = t.Name, t.Version
	}
	if _, err := tx.Exec(ctx, `
		DELETE FROM connector_types t WHERE connector = $1
			AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::integer[]) AS n (name, version) WHERE (n.name, n.version) = (t.task_type, t.version))`,
		c.Name, names, versions); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO connector_types (connector, task_type, version) SELECT $1, n.name, n.version FROM unnest($2::text[], $3::integer[]) AS n (name, version)
		ON CONFLICT DO NOTHING`, c.Name, names, versions)
	return err
}

// finds is an expression for the connector that serves a type: first the version itself, then 0, by precedence.
func finds(taskType, version string) string {
	return `coalesce((
		SELECT t.connector FROM connector_types t JOIN connectors c ON c.name = t.connector
		WHERE t.task_type = ` + taskType + ` AND t.version IN (` + version + `, 0)
		ORDER BY t.version = ` + version + ` DESC, c.rank LIMIT 1), '')`
}

// Find returns the connector that serves a type; empty for none.
func (s *Store) Find(ctx context.Context, t Type) (string, error) {
	var name string
	if err := s.db.QueryRow(ctx, `SELECT `+finds("$1::text", "$2::integer"), t.Name, t.Version).Scan(&name); err != nil {
		return "", fmt.Errorf("find a connector: %w", err)
	}
	return name, nil
}

// State is a connector with what is known of it.
type State struct {
	Name       string
	AnsweredAt *time.Time
	Problem    string
	// Types are the names of the types that it serves, in order.
	Types []string
	// Jobs is how many jobs it has, Deleting how many of them should end; Waiting is how many actions wait for it.
	Jobs, Deleting, Waiting int64
	// Late is for how long the job has been due that was not looked at for the longest time.
	Late time.Duration
}

// States reads all connectors, by precedence.
func (s *Store) States(ctx context.Context) ([]State, error) { return s.states(ctx, nil) }

// states reads a connector, or all of them.
func (s *Store) states(ctx context.Context, name *string) ([]State, error) {
	rows, err := s.db.Query(ctx, `
		SELECT c.name, c.answered_at, c.problem,
			ARRAY(SELECT DISTINCT task_type FROM connector_types t WHERE t.connector = c.name ORDER BY 1),
			(SELECT count(*) FROM connector_jobs j WHERE j.connector = c.name AND j.stage > 0),
			(SELECT count(*) FROM connector_jobs j WHERE j.connector = c.name AND j.stop <> `+sqlNoStop+`),
			(SELECT count(*) FROM connector_jobs j WHERE j.connector = c.name AND j.stage = `+sqlWaiting+`),
			(SELECT greatest(interval '0', coalesce(clock_timestamp() - min(j.due_at), interval '0')) FROM connector_jobs j
				WHERE j.connector = c.name AND j.stage = `+sqlCreated+` AND j.stop = `+sqlNoStop+`)
		FROM connectors c WHERE $1::text IS NULL OR c.name = $1 ORDER BY c.rank`, name)
	if err != nil {
		return nil, fmt.Errorf("read connectors: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[State])
	if err != nil {
		return nil, fmt.Errorf("read connectors: %w", err)
	}
	return all, nil
}

// JobOf reads the job of an attempt; nil if there is none.
func (s *Store) JobOf(ctx context.Context, action ident.Action, attempt uint32) (*Job, error) {
	rows, err := s.db.Query(ctx, `SELECT `+jobColumns+` FROM connector_jobs j
		WHERE project = $1 AND domain = $2 AND run = $3 AND name = $4 AND attempt = $5`,
		action.Run.Project, action.Run.Domain, action.Run.Name, action.Name, int64(attempt))
	if err != nil {
		return nil, fmt.Errorf("read the job of an attempt: %w", err)
	}
	job, err := pgx.CollectExactlyOneRow(rows, scanJob)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, fmt.Errorf("read the job of an attempt: %w", err)
	}
	return &job, nil
}

// Standing is a job with what is known of its connector.
type Standing struct {
	Job Job
	// Connector is empty for one that is no longer configured.
	Connector State
}

// Standing reads a job; nil if there is none.
func (s *Store) Standing(ctx context.Context, uid int64) (*Standing, error) {
	rows, err := s.db.Query(ctx, `SELECT `+jobColumns+` FROM connector_jobs j WHERE uid = $1`, uid)
	if err != nil {
		return nil, fmt.Errorf("read a job: %w", err)
	}
	job, err := pgx.CollectExactlyOneRow(rows, scanJob)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, fmt.Errorf("read a job: %w", err)
	}
	all, err := s.states(ctx, &job.Connector)
	if err != nil {
		return nil, err
	}
	standing := &Standing{Job: job}
	if len(all) > 0 {
		standing.Connector = all[0]
	}
	return standing, nil
}

func distinct(names []string) []string {
	seen := map[string]bool{}
	var once []string
	for _, name := range names {
		if name != "" && !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once
}
