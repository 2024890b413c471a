package rpc

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/status"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// ErrShuttingDown is the cause with which a server ends the contexts of its requests when it stops. The error
// interceptor then answers unavailable instead of canceled: clients retry the former and take the latter for their own
// cancellation.
var ErrShuttingDown = errors.New("server is shutting down")

// KindOf classifies any error: those of this package, a *connect.Error of another service, those of contexts, and those
// of Postgres, which it knows by their SQLSTATE so that this package needs no driver. Everything else, and nil, is internal.
func KindOf(err error) Kind {
	var ours *Error
	if errors.As(err, &ours) {
		return ours.Kind
	}
	var denial *authz.DenialError
	if errors.As(err, &denial) {
		if denial.Hidden {
			return KindNotFound
		}
		return KindPermissionDenied
	}
	var theirs *connect.Error
	if errors.As(err, &theirs) {
		return kindOfCode(theirs.Code())
	}
	if errors.Is(err, ErrShuttingDown) {
		return KindUnavailable
	}
	if errors.Is(err, sql.ErrNoRows) {
		return KindNotFound
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return kindOfSQLState(state.SQLState())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return KindDeadlineExceeded
	}
	if errors.Is(err, context.Canceled) {
		return KindCanceled
	}
	var network net.Error
	if errors.As(err, &network) {
		return KindUnavailable
	}
	return KindInternal
}

// kindOfSQLState maps the classes of Postgres errors that are not our fault.
func kindOfSQLState(state string) Kind {
	switch state {
	case "23505": // unique_violation
		return KindAlreadyExists
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return KindAborted
	case "57014": // query_canceled: a statement timeout, as our own cancels surface as context errors
		return KindDeadlineExceeded
	case "25006", // read_only_sql_transaction: we talk to a standby while a failover continues
		"55000": // object_not_in_prerequisite_state: the database accepts no connections at the moment
		return KindUnavailable
	}
	if strings.HasPrefix(state, "22") { // data exceptions: a value of the request cannot be stored
		return KindInvalidArgument
	}
	for _, class := range []string{
		"08",  // connection exceptions
		"28",  // the database refused our own credentials, not those of the caller
		"3D",  // the database does not exist yet, or no longer
		"53",  // out of connections, memory or disk
		"57P", // shutting down or starting up
		"58",  // the server's own input and output
	} {
		if strings.HasPrefix(state, class) {
			return KindUnavailable
		}
	}
	return KindInternal
}

// IsNotFound reports whether err means that something does not exist.
func IsNotFound(err error) bool { return err != nil && KindOf(err) == KindNotFound }

// IsAlreadyExists reports whether err means that a name is taken.
func IsAlreadyExists(err error) bool { return err != nil && KindOf(err) == KindAlreadyExists }

// IsUnavailable reports whether err is an outage of a dependency; the operation may be retried later.
func IsUnavailable(err error) bool { return err != nil && KindOf(err) == KindUnavailable }

// IsRetryable reports whether the same call may succeed later with nothing else changed.
func IsRetryable(err error) bool {
	if err == nil {
		return false
	}
	switch KindOf(err) {
	case KindUnavailable, KindAborted, KindResourceExhausted, KindDeadlineExceeded:
		return true
	default:
		return false
	}
}

// StatusOf is err as a google.rpc.Status, for responses that carry one in their body. nil gives code 0.
func StatusOf(err error) *status.Status {
	if err == nil {
		return &status.Status{}
	}
	return &status.Status{Code: int32(KindOf(err).Code()), Message: publicText(err)} //nolint:gosec // one of sixteen codes
}

// publicText is the part of err that a client may see: the whole text of errors of this package, only the kind of all
// others.
func publicText(err error) string {
	var ours *Error
	if errors.As(err, &ours) {
		return ours.Public()
	}
	var theirs *connect.Error
	if errors.As(err, &theirs) {
		return theirs.Message()
	}
	var denial *authz.DenialError
	if errors.As(err, &denial) {
		return denial.Error()
	}
	if errors.Is(err, ErrShuttingDown) {
		return ErrShuttingDown.Error()
	}
	return KindOf(err).String()
}
