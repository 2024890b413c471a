package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Task is a deployed version of a task: a row of the tasks table.
type Task struct {
	Project           string    `db:"project"`
	Domain            string    `db:"domain"`
	Name              string    `db:"name"`
	Version           string    `db:"version"`
	EnvironmentName   string    `db:"environment_name"`
	FunctionName      string    `db:"function_name"`
	ShortName         string    `db:"short_name"`
	TaskType          string    `db:"task_type"`
	IsEntrypoint      bool      `db:"is_entrypoint"`
	ShortDescription  string    `db:"short_description"`
	EnvDescription    string    `db:"env_description"`
	DeployedBy        []byte    `db:"deployed_by"`
	DeployedBySubject string    `db:"deployed_by_subject"`
	CreatedAt         time.Time `db:"created_at"`
}

// TaskWriter stores deployed tasks.
type TaskWriter struct{ db pgdb.Beginner }

// NewTaskWriter returns a writer on a pool that the caller owns.
func NewTaskWriter(db pgdb.Beginner) *TaskWriter { return &TaskWriter{db: db} }

// Deploy stores a version and makes it the latest of its task. A version is immutable: deploying the same spec again
// changes nothing, another spec returns AlreadyExists.
func (w *TaskWriter) Deploy(ctx context.Context, task *Task, digest, spec []byte) error {
	err := pgdb.Change(ctx, w.db, func(tx pgx.Tx) error {
		// Serializes deployments of a task, so that it has one latest version.
		key := task.Project + "\x00" + task.Domain + "\x00" + task.Name
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, lockText(key)); err != nil {
			return err
		}
		var stored []byte
		err := tx.QueryRow(ctx, `SELECT spec_digest FROM tasks WHERE project = $1 AND domain = $2 AND name = $3 AND version = $4`,
			task.Project, task.Domain, task.Name, task.Version).Scan(&stored)
		switch {
		case err == nil && bytes.Equal(stored, digest):
			return nil
		case err == nil:
			return rpc.AlreadyExists("version %s of task %s already exists with a different spec", task.Version, task.Name)
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		return insertTask(ctx, tx, task, digest, spec)
	})
	if err != nil {
		return fmt.Errorf("deploy task %s: %w", task.Name, err)
	}
	return nil
}

// Promote makes an existing version the latest of its task, as if it had been deployed now. The latest one is not changed.
func (w *TaskWriter) Promote(ctx context.Context, project, domain, name, version string, now time.Time) error {
	err := pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		key := project + "\x00" + domain + "\x00" + name
		batch := &pgx.Batch{}
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, lockText(key))
		batch.Queue(`UPDATE tasks SET is_latest = false, updated_at = $5
			WHERE project = $1 AND domain = $2 AND name = $3 AND version <> $4 AND is_latest`, project, domain, name, version, now)
		batch.Queue(`UPDATE tasks SET is_latest = true, created_at = $5, updated_at = $5
			WHERE project = $1 AND domain = $2 AND name = $3 AND version = $4 AND NOT is_latest`, project, domain, name, version, now)
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return fmt.Errorf("promote version %s of task %s: %w", version, name, err)
	}
	return nil
}

// lockText is the key without NUL, which Postgres text cannot contain.
func lockText(key string) string { return fmt.Sprintf("%q", key) }

func insertTask(ctx context.Context, tx pgx.Tx, task *Task, digest, spec []byte) error {
	batch := &pgx.Batch{}
	batch.Queue(sqltext.KeepSpecs)
	batch.Queue(`INSERT INTO specs (digest, kind, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, digest, schema.SpecTask, spec)
	batch.Queue(`UPDATE tasks SET is_latest = false, updated_at = $4 WHERE project = $1 AND domain = $2 AND name = $3 AND is_latest`,
		task.Project, task.Domain, task.Name, task.CreatedAt)
	batch.Queue(`
		INSERT INTO tasks (project, domain, name, version, is_latest, environment_name, function_name, short_name, task_type,
			is_entrypoint, short_description, env_description, spec_digest, deployed_by, deployed_by_subject, created_at, updated_at)
		VALUES ($1, $2, $3, $4, true, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)`,
		task.Project, task.Domain, task.Name, task.Version, task.EnvironmentName, task.FunctionName, task.ShortName, task.TaskType,
		task.IsEntrypoint, task.ShortDescription, task.EnvDescription, digest, task.DeployedBy, task.DeployedBySubject, task.CreatedAt)
	return tx.SendBatch(ctx, batch).Close()
}
