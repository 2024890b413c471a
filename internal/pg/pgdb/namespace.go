package pgdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// OpenNamespace returns a pool with the options of another one, whose statements see the tables of one Postgres schema
// alone. It connects when it is first used, and keeps no idle connections. The caller closes it.
func OpenNamespace(ctx context.Context, pool *pgxpool.Pool, namespace string, maxConns int32) (*pgxpool.Pool, error) {
	config := pool.Config()
	config.ConnConfig.RuntimeParams["search_path"] = namespace
	config.MaxConns, config.MinConns, config.MinIdleConns = maxConns, 0, 0
	opened, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open namespace %s: %w", namespace, err)
	}
	return opened, nil
}

// Namespace is the Postgres schema in which the pool's statements find their tables, quoted for statements.
func Namespace(ctx context.Context, pool *pgxpool.Pool) (name string, err error) {
	if err := pool.QueryRow(ctx, `SELECT quote_ident(current_schema())`).Scan(&name); err != nil {
		return "", fmt.Errorf("read the Postgres schema of the connection: %w", err)
	}
	return name, nil
}

// namespaceTimeout bounds the creation of a namespace.
const namespaceTimeout = time.Minute

// createNamespace creates a Postgres schema unless it exists. An existing one needs no permission: an operator may have
// created it for a user who may not. Processes that start together wait for each other.
func createNamespace(config *pgx.ConnConfig, name string) (failure error) {
	ctx, cancel := context.WithTimeout(context.Background(), namespaceTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to create schema %s: %w", name, err)
	}
	defer func() { failure = errors.Join(failure, conn.Close(ctx)) }()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// The other processes that wait here disturb no one.
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(hashtext('flyte-binary namespace'))`); err != nil {
			return err
		}
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, name).Scan(&exists); err != nil || exists {
			return err
		}
		_, err := tx.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{name}.Sanitize())
		return err
	})
	if err != nil {
		return fmt.Errorf("create the Postgres schema %s, or have it created by its owner: %w", name, err)
	}
	return nil
}
