package stack

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/tests/faults/connector"
	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

func (s *Stack) startConnector() (err error) {
	if s.Connector, err = connector.New(s.Ledger); err != nil {
		return err
	}
	s.ToConnector, err = proxy.NewTCP(s.Connector.Addr())
	return err
}

// errNotAsked means that the server has not learned yet what the connector serves.
var errNotAsked = errors.New("the server has not asked the connector what it serves")

// knowsConnector reports whether the server knows the type of the connector. Until then it refuses such tasks.
func (s *Stack) knowsConnector(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it only read
	var known bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM connector_types WHERE task_type = $1)`, script.JobType).Scan(&known); err != nil {
		return err
	}
	if !known {
		return errNotAsked
	}
	return nil
}
