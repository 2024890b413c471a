package dataproxy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const day = 24 * time.Hour

// uploadQuota bounds the bytes that a project uploads by signed URLs in a day. A client need not say how large a file is when
// it asks for a URL, and the released SDK does not. So what counts is what the store has afterwards: each request looks for the
// uploads that were requested before. What is under way is not counted yet, except for the sizes that clients declare.
//
// Each process counts by itself, in memory. It is safe for concurrent use.
type uploadQuota struct {
	most    int64 // bytes a day; 0 means no limit
	store   Store
	clock   clock.Clock
	refused metric.Int64Counter

	mu       sync.Mutex
	projects map[string]*uploaded // GUARDED_BY(mu)
}

// uploaded is what a project has uploaded. Bytes are forgotten evenly over a day.
type uploaded struct {
	mu      sync.Mutex
	bytes   float64   // GUARDED_BY(mu): as of at
	at      time.Time // GUARDED_BY(mu)
	pending arrivals  // GUARDED_BY(mu)
}

func newUploadQuota(most int64, store Store, clk clock.Clock, meters metric.MeterProvider) (*uploadQuota, error) {
	const name = "flyte.uploads.refused"
	refused, err := meters.Meter("github.com/flyte-binary/flyte-binary/dataproxy").Int64Counter(name,
		metric.WithDescription("uploads that were refused because their project has uploaded as much as it may, by limit"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return &uploadQuota{most: most, store: store, clock: clk, refused: refused, projects: map[string]*uploaded{}}, nil
}

// enter counts an upload to a URI that is about to be signed, or returns an error when the project is at its limit. declared
// is 0 for a size that the client did not say.
func (q *uploadQuota) enter(ctx context.Context, project, uri string, declared int64, expires time.Duration) error {
	if q.most == 0 {
		return nil
	}
	u := q.of(project)
	u.mu.Lock()
	defer u.mu.Unlock()
	now := q.clock.Now()
	u.forget(now, q.most)
	if err := u.settle(ctx, q.store, now); err != nil {
		return err
	}
	if declared > q.most {
		q.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("limit", "bytes")))
		return rpc.ResourceExhausted("the file has %d bytes, and project %s uploads at most %d a day (dataproxy.projectUploadBytesPerDay)", declared, project, q.most)
	}
	if over := u.bytes + float64(declared) - float64(q.most); over > 0 || u.bytes >= float64(q.most) {
		q.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("limit", "bytes")))
		wait := max(time.Second, time.Duration(over/float64(q.most)*float64(day))).Round(time.Second)
		return rpc.TryLater(wait, "project %s has uploaded %.0f bytes within a day, and may upload %d (dataproxy.projectUploadBytesPerDay); try again in %s",
			project, u.bytes, q.most, wait)
	}
	u.bytes += float64(declared)
	u.pending.add(pending{uri: uri, counted: declared, refund: declared, until: now.Add(expires)})
	return nil
}

func (q *uploadQuota) of(project string) *uploaded {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.projects[project]
	if u == nil {
		u = &uploaded{at: q.clock.Now()}
		q.projects[project] = u
	}
	return u
}

// forget takes off what was uploaded a day ago. GUARDED_BY(u.mu).
func (u *uploaded) forget(now time.Time, most int64) {
	u.bytes = max(0, u.bytes-float64(now.Sub(u.at))/float64(day)*float64(most))
	u.at = now
}

// settle looks for pending uploads and counts those that have arrived. Those whose URL has expired without one are not counted.
// GUARDED_BY(u.mu).
func (u *uploaded) settle(ctx context.Context, store Store, now time.Time) error {
	more, left, err := u.pending.take().settle(ctx, store, now)
	u.pending = append(u.pending, left...)
	u.bytes = max(0, u.bytes+float64(more))
	return err
}
