package store

import "github.com/jackc/pgx/v5/pgxpool"

// WriteReader has the reads of the write use cases.
type WriteReader struct{ pool *pgxpool.Pool }

// NewWriteReader makes a reader on a pool that it does not own.
func NewWriteReader(pool *pgxpool.Pool) *WriteReader { return &WriteReader{pool: pool} }
