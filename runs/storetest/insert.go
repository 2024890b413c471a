package storetest

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Insert stores actions exactly as given, apart from what the schema demands: attempts count from 1, updated_at is at
// least created_at and labels are not null. Only roots may have the fields of a root.
func Insert(ctx context.Context, pool *pgxpool.Pool, actions ...schema.Root) error {
	for _, row := range actions {
		row.Attempt = max(row.Attempt, 1)
		if row.UpdatedAt.Before(row.CreatedAt) {
			row.UpdatedAt = row.CreatedAt
		}
		if row.Labels == nil {
			row.Labels = map[string]string{}
		}
		if err := insert(ctx, pool, "actions", row); err != nil {
			return err
		}
	}
	return nil
}

// InsertEvents stores events as given.
func InsertEvents(ctx context.Context, pool *pgxpool.Pool, events ...schema.Event) error {
	for _, row := range events {
		if err := insert(ctx, pool, "action_events", row); err != nil {
			return err
		}
	}
	return nil
}

// InsertSpec stores a message and returns its digest.
func InsertSpec(ctx context.Context, pool *pgxpool.Pool, kind schema.SpecKind, message proto.Message) ([]byte, error) {
	digest, body, err := schema.EncodeSpec(kind, message)
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, `INSERT INTO specs (digest, kind, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, digest, kind, body)
	return digest, err
}

// insert writes the fields of a struct that name a column.
func insert(ctx context.Context, pool *pgxpool.Pool, table string, row any) error {
	args := pgx.NamedArgs{}
	columns(reflect.ValueOf(row), args)
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	sql := fmt.Sprintf("INSERT INTO %s (%s) VALUES (@%s)", table, strings.Join(names, ", "), strings.Join(names, ", @"))
	if _, err := pool.Exec(ctx, sql, args); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	return nil
}

func columns(value reflect.Value, args pgx.NamedArgs) {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if field.Anonymous {
			columns(value.Field(i), args)
			continue
		}
		if name := field.Tag.Get("db"); name != "-" {
			args[name] = value.Field(i).Interface()
		}
	}
}
