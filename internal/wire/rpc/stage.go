package rpc

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/semaphore"
)

// stage is a budget of the bytes of all calls that are at the same point. Calls pass the stages in one order, and what they
// hold of the last two depends on no client, so calls cannot block each other there. Those that arrive hold as much as has
// come; they end the wait for each other by giving up.
type stage struct {
	name  string
	size  int64
	wait  time.Duration
	free  *semaphore.Weighted
	bytes metric.Int64UpDownCounter
	label metric.MeasurementOption
}

// newStages makes the three stages of a call: arriving, unpacking, decoding.
func newStages(limits Limits, meter metric.Meter) (arriving, unpacking, decoding *stage, err error) {
	const name = "flyte.rpc.decoding"
	bytes, err := meter.Int64UpDownCounter(name, metric.WithUnit("By"),
		metric.WithDescription("bytes of requests that are being received, unpacked and decoded"))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	stageOf := func(name string, size int) *stage {
		return &stage{
			name: name, size: int64(size), wait: limits.Wait, free: semaphore.NewWeighted(int64(size)), bytes: bytes,
			label: metric.WithAttributeSet(attribute.NewSet(attribute.String("stage", name))),
		}
	}
	quarter := limits.DecodingBytes / 4
	return stageOf("arriving", quarter), stageOf("unpacking", quarter), stageOf("decoding", limits.DecodingBytes-2*quarter), nil
}

// take waits until the stage has n bytes left. No more than its size is ever taken.
func (s *stage) take(ctx context.Context, n int64) (taken int64, err error) {
	n = min(n, s.size)
	if n == 0 {
		return 0, nil
	}
	if !s.free.TryAcquire(n) {
		waiting, cancel := context.WithTimeout(ctx, s.wait)
		defer cancel()
		if err := s.free.Acquire(waiting, n); err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return 0, ResourceExhausted("the server is busy with other large requests: those that are %s take the %d bytes that "+
				"server.maxDecodingBytes has for them; try again", s.name, s.size)
		}
	}
	s.bytes.Add(ctx, n, s.label)
	return n, nil
}

// give returns what was taken.
func (s *stage) give(n int64) {
	if n > 0 {
		s.free.Release(n)
		s.bytes.Add(context.Background(), -n, s.label)
	}
}
