package rpc

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/status"
)

// ErrShuttingDown is the cause with which a server ends the contexts of its requests when it stops. The error
// interceptor then answers unavailable instead of canceled: clients repeat the one and take the other as their own wish.
var ErrShuttingDown = errors.New("server is shutting down")

// KindOf classifies any error: ours, a *connect.Error that another service answered, those of contexts, and those of
// Postgres, which it knows by their SQLSTATE so that this package needs no driver. Everything else, and nil, is internal.
func KindOf(err error) Kind {
	var ours *Error
	if errors.As(err, &ours) {
		return ours.Kind
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
	case "25006": // read_only_sql_transaction: we talk to a standby while a failover goes on
		return KindUnavailable
	}
	for _, class := range []string{
		"08",  // connection exceptions
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

// IsNotFound tells whether err means that something does not exist.
func IsNotFound(err error) bool { return err != nil && KindOf(err) == KindNotFound }

// IsAlreadyExists tells whether err means that a name is taken.
func IsAlreadyExists(err error) bool { return err != nil && KindOf(err) == KindAlreadyExists }

// IsUnavailable tells whether err is an outage of something we need; the operation may be repeated later.
func IsUnavailable(err error) bool { return err != nil && KindOf(err) == KindUnavailable }

// IsRetryable tells whether the same call may succeed later with nothing else changed.
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
	return &status.Status{Code: int32(KindOf(err).Code()), Message: publicText(err)}
}

// publicText is what a client may read of err: the whole text of errors that were made for clients, only the kind of
// everything else.
func publicText(err error) string {
	var ours *Error
	if errors.As(err, &ours) {
		return ours.Public()
	}
	var theirs *connect.Error
	if errors.As(err, &theirs) {
		return theirs.Message()
	}
	if errors.Is(err, ErrShuttingDown) {
		return ErrShuttingDown.Error()
	}
	return KindOf(err).String()
}
