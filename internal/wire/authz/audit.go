package authz

import "context"

// Outcome is how a call ended.
type Outcome uint8

// The outcomes.
const (
	// Succeeded is a call that its handler answered. For requests to apps it means that the request was let through.
	Succeeded Outcome = iota + 1
	// Failed is a call that was allowed and failed.
	Failed
	// Refused is a call of a caller who is not allowed to make it, or has no valid credential.
	Refused
)

// String is the outcome in one word.
func (o Outcome) String() string {
	return [...]string{"unknown", "succeeded", "failed", "refused"}[min(o, Refused)]
}

// Entry is what was done by a call.
type Entry struct {
	Request Request
	Rule    Rule
	// Resources are what the authoriser was asked about; none for a call that was refused before its body was read, for parts
	// of the installation, and for what is open.
	Resources []Resource
	Outcome   Outcome
	// Err is the error that the client gets; nil if the call succeeded.
	Err error
}

// Beginning is an auditor that records some calls before they are handled.
type Beginning interface {
	Auditor
	// Begin is called once a call is allowed, before it is handled. If it returns a function, the call is recorded, and the
	// function is called at the end in place of Record; it must not wait. Otherwise Record is called as for other calls. The call
	// is handled with the context that is returned. A call that cannot be recorded is not handled: its client gets the error.
	Begin(ctx context.Context, entry Entry) (handled context.Context, end func(Outcome, error), err error)
}

type recordKey struct{}

// WithRecord gives the context of a call the record that the transaction of its change stores. It crosses in-process calls, so that
// the service which makes the change has it.
func WithRecord(ctx context.Context, record any) context.Context {
	return context.WithValue(ctx, recordKey{}, record)
}

// RecordIn is the record that ctx was given; nil if there is none.
func RecordIn(ctx context.Context) any { return ctx.Value(recordKey{}) }

// Auditor records what callers do.
type Auditor interface {
	// Record is called at the end of each call from the network and of each request to a plain route, those that are refused too.
	// ctx has the caller, see IdentityFrom. It must not wait.
	Record(ctx context.Context, entry Entry)
}
