package stack

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Reader is a connection to the database past the proxy. It is kept, since a new one costs as much as many reads, and made again after
// an error. It is for one goroutine.
type Reader struct {
	dsn  string
	conn *pgx.Conn
}

// Reader returns a connection for looks at the database.
func (s *Stack) Reader() *Reader { return &Reader{dsn: s.DSN()} }

// Do calls a function with the connection.
func (d *Reader) Do(ctx context.Context, read func(context.Context, *pgx.Conn) error) error {
	if d.conn == nil {
		conn, err := pgx.Connect(ctx, d.dsn)
		if err != nil {
			return err
		}
		d.conn = conn
	}
	err := read(ctx, d.conn)
	if err != nil {
		d.Close()
	}
	return err
}

// Close ends the connection.
func (d *Reader) Close() {
	if d.conn != nil {
		_ = d.conn.Close(context.Background()) // it only read
		d.conn = nil
	}
}
