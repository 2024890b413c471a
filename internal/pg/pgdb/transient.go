package pgdb

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// IsTransient reports whether the same work may succeed later with nothing changed: the server could not be reached, is
// starting, stopping or full, or another transaction won. The work must be safe to repeat, since a commit whose answer
// was lost looks the same. The end of the caller's own context is not transient.
func IsTransient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var answered *pgconn.PgError
	if errors.As(err, &answered) {
		return transientState(answered.Code)
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) || pgconn.SafeToRetry(err) {
		return true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "conn closed")
}

func transientState(code string) bool {
	switch code {
	case "40001", "40P01", // serialization_failure, deadlock_detected
		"55P03", // lock_not_available
		"55000", // object_not_in_prerequisite_state: the database accepts no connections at the moment
		"25006", // read_only_sql_transaction, during a failover
		"25P03": // idle_in_transaction_session_timeout: the process was frozen, and the transaction is rolled back
		return true
	}
	for _, class := range []string{"08", "53", "57P", "58"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}
