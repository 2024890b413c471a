package rpc

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/protoweight"
)

// intake stands between the network and the handlers of procedures. It receives each message, unpacks and weighs it, and
// only then lets the handler decode it. Nothing is received before the handler asks, which is after the gate has let the
// caller in. Calls within the process do not pass it.
type intake struct {
	limits                        Limits
	log                           zerolog.Logger
	refusals                      *refusals
	types                         protoweight.Types
	unpackers                     unpackers
	buffers                       sync.Pool // of *bytes.Buffer
	arriving, unpacking, decoding *stage
}

func newIntake(limits Limits, meter metric.Meter, log zerolog.Logger, refusals *refusals) (*intake, error) {
	i := &intake{limits: limits.withDefaults(), log: log, refusals: refusals}
	var err error
	i.arriving, i.unpacking, i.decoding, err = newStages(i.limits, meter)
	return i, err
}

// options are those of the handler of a procedure. Within the process the limit is the same, but no one weighs messages.
func (i *intake) options(spec connect.Spec) []connect.HandlerOption {
	return []connect.HandlerOption{connect.WithReadMaxBytes(i.limits.message(spec.Procedure))}
}

// before is the handler of a service behind the intake.
func (i *intake) before(service string, next http.Handler) http.Handler {
	inlets := i.limits.inletsOf(service)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inlet, known := inlets[r.URL.Path]
		if known && r.Method == http.MethodGet && !slices.Contains([]string{"", "identity"}, r.URL.Query().Get("compression")) {
			// What an address can have is light, unless it is unpacked.
			Refuse(w, r, Unimplemented("messages in addresses must not be compressed; send large ones by POST"))
			return
		}
		if !known || r.Body == nil || r.Body == http.NoBody || isInProcess(r.Context()) {
			next.ServeHTTP(w, r)
			return
		}
		form, known := formOf(r)
		if !known {
			next.ServeHTTP(w, r) // It has no handler that reads such a body.
			return
		}
		m := &messages{intake: i, inlet: inlet, form: form, source: r.Body, declared: r.ContentLength, header: r.Header, ctx: r.Context()}
		defer m.decoded()
		if paused, ok := r.Body.(pauser); ok && inlet.streaming {
			m.pauser = paused
		}
		r = r.WithContext(context.WithValue(m.ctx, messagesKey{}, m))
		r.Body, r.ContentLength = m, -1
		next.ServeHTTP(w, r)
	})
}

// pauser is a body that is measured, such as slowbody.Body. Streams may be silent between messages.
type pauser interface {
	Pause()
	Resume()
}

type messagesKey struct{}

// decodedInterceptor gives back what the message of a unary call took while it was received and decoded. The messages of
// other calls do so when the handler asks for the next one.
type decodedInterceptor struct{}

var _ connect.Interceptor = decodedInterceptor{}

// WrapUnary implements connect.Interceptor.
func (decodedInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if m, ok := ctx.Value(messagesKey{}).(*messages); ok {
			m.decoded()
		}
		return next(ctx, request)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (decodedInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// WrapStreamingClient implements connect.Interceptor.
func (decodedInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// keptBuffer is the size of the largest buffer that is kept between messages, in bytes.
const keptBuffer = 64 << 10

func (i *intake) buffer() *bytes.Buffer {
	if b, ok := i.buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

func (i *intake) keep(b *bytes.Buffer) {
	if b != nil && b.Cap() <= keptBuffer {
		b.Reset()
		i.buffers.Put(b)
	}
}
