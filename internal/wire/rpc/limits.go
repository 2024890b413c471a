package rpc

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Limits bound what requests from the network cost before a handler sees them. Zero fields have their defaults.
type Limits struct {
	// MessageBytes is the size of the largest message that a procedure takes, unpacked, if the table of procedures marks
	// it as large. Others take 1 MiB at most. Defaults to 64 MiB.
	MessageBytes int
	// DecodingBytes bounds all requests that are being received, unpacked and decoded at once. A quarter of it is for
	// what arrives, a quarter for what is unpacked, and half for the decoded messages. Defaults to 512 MiB.
	DecodingBytes int
	// Wait is how long a request waits for its share of them before it is refused. Defaults to 10s.
	Wait time.Duration
}

const (
	// smallMessage is the limit of procedures that carry no values, specs or batches.
	smallMessage = 1 << 20
	// lightMessage is the size up to which a message is not weighed: it cannot take more than about a megabyte.
	lightMessage = 4 << 10
	// freeBytes of each call do not count as arriving, so that large requests never keep small ones waiting.
	freeBytes = 32 << 10
	// smallWeight is what the decoded messages of every procedure may take in memory.
	smallWeight = 16 << 20
	// weightOfLarge is how many times its size a large message may take in memory.
	weightOfLarge = 4
	// maxRatio is what a byte of gzip can become.
	maxRatio = 1032
)

func (l Limits) withDefaults() Limits {
	if l.MessageBytes == 0 {
		l.MessageBytes = 64 << 20
	}
	if l.DecodingBytes == 0 {
		l.DecodingBytes = 512 << 20
	}
	if l.Wait == 0 {
		l.Wait = 10 * time.Second
	}
	return l
}

// message is the size of the largest message of a procedure.
func (l Limits) message(procedure string) int {
	if row, _ := authz.RowOf(procedure); !row.Large() {
		return min(smallMessage, l.MessageBytes)
	}
	return l.MessageBytes
}

// weight is what a message of at most n bytes may take in memory.
func (l Limits) weight(n int) int { return min(max(smallWeight, weightOfLarge*n), l.DecodingBytes/2) }

// limiter asks about the calls of the network. Calls within the process, and those of other processes of the installation,
// are parts of calls that were counted.
type limiter struct{ authz.Limiter }

var _ connect.Interceptor = (*limiter)(nil)

// request counts a request that has passed the door. Refusals are not recorded: a record of each would give the caller what the
// limit takes.
func (l *limiter) request(ctx context.Context, rule authz.Rule) error {
	if rule.By.Open() || isInternal(ctx) {
		return nil
	}
	return l.Request(ctx, authz.IdentityFrom(ctx))
}

// call counts a call that is allowed.
func (l *limiter) call(ctx context.Context, rule authz.Rule, resources []authz.Resource, message any) error {
	if isInternal(ctx) {
		return nil
	}
	return l.Call(ctx, authz.IdentityFrom(ctx), authz.Call{Rule: rule, Resources: resources, Size: func() int {
		encoded, _ := message.(proto.Message)
		return proto.Size(encoded)
	}})
}

// names counts a stream that is allowed and names a project.
func (l *limiter) names(ctx context.Context, project string) (release func(), err error) {
	if isInternal(ctx) {
		return func() {}, nil
	}
	return l.Names(ctx, authz.IdentityFrom(ctx), project)
}

// WrapUnary implements connect.Interceptor.
func (*limiter) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingHandler implements connect.Interceptor: a stream has a place while its handler runs.
func (l *limiter) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if isInternal(ctx) {
			return next(ctx, conn)
		}
		release, err := l.Stream(ctx, authz.IdentityFrom(ctx))
		if err != nil {
			return answer(ctx, err)
		}
		defer release()
		return next(ctx, conn)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (*limiter) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
