package node

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// callTimeout bounds one try of a write to the API server.
	callTimeout = 10 * time.Second
	// The bounds of concurrent writes: fewer while the API server is late.
	leastWrites, mostWrites = 2, 64
)

// write makes a write to the API server when it is its turn. All writers of the node share the gate, so that they back off
// together when the API server is late. The wait ends with ctx, with the node, and when the pod is gone.
func (n *Node) write(ctx context.Context, gone <-chan struct{}, call func(context.Context) error) (failure error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := n.writers.Do(ctx, func() (unanswered bool) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		failure = call(ctx)
		return isUnanswered(failure)
	})
	return errors.Join(err, failure)
}

// isUnanswered reports whether a call had no answer, or one that asks to come back later.
func isUnanswered(err error) bool {
	var status apierrors.APIStatus
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	return !errors.As(err, &status) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// complain logs the failure of a write that is tried again. An overload makes many: most are only counted.
func (w *worker) complain(err error, text string) {
	if suppressed, ok := w.n.complaints.Allow(text); ok {
		w.log.Warn().Err(err).Int("suppressed", suppressed).Int("writers", w.n.writers.Bound()).Msg(text)
	}
}
