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
	// Project and Domain are those whose tasks it runs; empty for all.
	Project, Domain string
	// Revision is that of the app that said which types it serves; 0 leaves what is stored.
	Revision uint64
}

// Revisions are those of the apps that have said which types they serve, by the names of connectors.
func (s *Store) Revisions(ctx context.Context) (map[string]uint64, error) {
	rows, err := s.db.Query(ctx, `SELECT name, revision FROM connectors WHERE revision > 0`)
	if err != nil {
		return nil, fmt.Errorf("read connectors: %w", err)
	}
	found := map[string]uint64{}
	var name string
	var revision int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &revision}, func() error {
		found[name] = uint64(revision) //nolint:gosec // it is positive
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read connectors: %w", err)
	}
	return found, nil
}

// Register stores what is known of all connectors, in the order of their precedence; others are forgotten,
// but for those whose names begin with keep, if it is not empty. Jobs that have not begun
// go to the connectors that serve their types now.
func (s *Store) Register(ctx context.Context, all []Connector, keep string) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		names := make([]string, len(all))
		for rank := range all {
			names[rank] = all[rank].Name
			if err := register(ctx, tx, rank, &all[rank]); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `DELETE FROM connectors WHERE name <> ALL($1) AND ($2 = '' OR NOT starts_with(name, $2))`, names, keep); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE connector_jobs j SET connector = f.connector, due_at = clock_timestamp()
			FROM (
				SELECT d.task_type, d.type_version, d.project, d.domain,
					`+finds("d.task_type", "d.type_version", "d.project", "d.domain")+` AS connector
				FROM (SELECT DISTINCT task_type, type_version, project, domain FROM connector_jobs WHERE stage = `+sqlWaiting+`) d
			) f
			WHERE j.stage = `+sqlWaiting+` AND (j.task_type, j.type_version, j.project, j.domain) = (f.task_type, f.type_version, f.project, f.domain)
				AND j.connector <> f.connector
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
		INSERT INTO connectors AS c (name, rank, answered_at, problem, project, domain, revision)
		VALUES ($1, $2, CASE WHEN $4 THEN clock_timestamp() END, $3, $5, $6, $7)
		ON CONFLICT (name) DO UPDATE SET rank = excluded.rank, answered_at = coalesce(excluded.answered_at, c.answered_at), problem = excluded.problem,
			project = excluded.project, domain = excluded.domain, revision = CASE WHEN $7 = 0 THEN c.revision ELSE $7 END`,
		c.Name, rank, c.Problem, c.Problem == "" && c.Types != nil, c.Project, c.Domain, int64(c.Revision)); err != nil { //nolint:gosec // counts from 1
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

// finds is an expression for the connector that serves a type in a project and domain: first the version itself, then 0, by precedence.
func finds(taskType, version, project, domain string) string {
	return `coalesce((
		SELECT t.connector FROM connector_types t JOIN connectors c ON c.name = t.connector
		WHERE t.task_type = ` + taskType + ` AND t.version IN (` + version + `, 0)
			AND (c.project = '' OR c.project = ` + project + ` AND c.domain = ` + domain + `)
		ORDER BY t.version = ` + version + ` DESC, c.rank LIMIT 1), '')`
}

// Find returns the connector that serves a type in a project and domain; empty for none.
func (s *Store) Find(ctx context.Context, t Type, project, domain string) (string, error) {
	var name string
	if err := s.db.QueryRow(ctx, `SELECT `+finds("$1::text", "$2::integer", "$3::text", "$4::text"), t.Name, t.Version, project, domain).Scan(&name); err != nil {
		return "", fmt.Errorf("find a connector: %w", err)
	}
	return name, nil
}

// State is a connector with what is known of it.
type State struct {
	Name       string
	AnsweredAt *time.Time
	Problem    string
	// Project and Domain are those whose tasks it runs; empty for all.
	Project, Domain string
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
		SELECT c.name, c.answered_at, c.problem, c.project, c.domain,
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
	found, err := atMostOne(rows, err, scanJob)
	if err != nil {
		return nil, fmt.Errorf("read the job of an attempt: %w", err)
	}
	return found, nil
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
