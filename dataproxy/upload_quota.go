package dataproxy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const day = 24 * time.Hour

// uploadQuota bounds the bytes that a project, and a caller, uploads by signed URLs in a day. A client need not say how large a file
// is when it asks for a URL, and the released SDK does not. So what counts is what the store has afterwards: each request looks for the
// uploads that were requested before. What is under way is not counted yet, except for the sizes that clients declare.
//
// Each process counts by itself, in memory. It is safe for concurrent use.
type uploadQuota struct {
	store            Store
	clock            clock.Clock
	refused          metric.Int64Counter
	callers, project uploadLimit
}

// uploadLimit is one field of the configuration.
type uploadLimit struct {
	label   string // in the metric
	setting string
	most    int64  // bytes a day; 0 means no limit
	whose   string // as a format of the key

	mu   sync.Mutex
	keys map[string]*uploaded // GUARDED_BY(mu)
}

// uploaded is what a project or a caller has uploaded. Bytes are forgotten evenly over a day.
type uploaded struct {
	limit *uploadLimit
	key   string

	mu      sync.Mutex
	bytes   float64   // GUARDED_BY(mu): as of at
	at      time.Time // GUARDED_BY(mu)
	pending arrivals  // GUARDED_BY(mu)
}

func newUploadQuota(config Config, store Store, clk clock.Clock, meters metric.MeterProvider) (*uploadQuota, error) {
	const name = "flyte.uploads.refused"
	refused, err := meters.Meter("github.com/flyte-binary/flyte-binary/dataproxy").Int64Counter(name,
		metric.WithDescription("uploads that were refused because their project or their caller has uploaded as much as it may, by limit"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return &uploadQuota{
		store: store, clock: clk, refused: refused,
		callers: uploadLimit{
			label: "caller bytes", setting: "dataproxy.callerUploadBytesPerDay", most: config.CallerUploadBytesPerDay, whose: "%s",
			keys: map[string]*uploaded{},
		},
		project: uploadLimit{
			label: "bytes", setting: "dataproxy.projectUploadBytesPerDay", most: config.ProjectUploadBytesPerDay, whose: "project %s",
			keys: map[string]*uploaded{},
		},
	}, nil
}

// askedBy is the subject of a caller who has limits of its own; empty for others: tasks count for their project alone.
func askedBy(ctx context.Context) string {
	if identity := authz.IdentityFrom(ctx); identity.Kind == authz.User || identity.Kind == authz.Key {
		return identity.Subject
	}
	return ""
}

// enter counts an upload to a URI that is about to be signed, or returns an error when the project or the caller is at its limit. declared
// is 0 for a size that the client did not say.
func (q *uploadQuota) enter(ctx context.Context, project, uri string, declared int64, expires time.Duration) error {
	now := q.clock.Now()
	var both []*uploaded
	for _, u := range []*uploaded{q.callers.of(askedBy(ctx), now), q.project.of(project, now)} { // always in this order
		if u == nil {
			continue
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		both = append(both, u)
		if err := u.room(ctx, q, declared, now); err != nil {
			return err
		}
	}
	for _, u := range both {
		u.bytes += float64(declared)
		u.pending.add(pending{uri: uri, counted: declared, refund: declared, until: now.Add(expires)})
	}
	return nil
}

// room returns an error when there is none for a size. GUARDED_BY(u.mu).
func (u *uploaded) room(ctx context.Context, q *uploadQuota, declared int64, now time.Time) error {
	if err := u.settle(ctx, q.store, now); err != nil {
		return err
	}
	limit, whose := u.limit, fmt.Sprintf(u.limit.whose, u.key)
	if declared > limit.most {
		q.refuse(ctx, limit)
		return rpc.ResourceExhausted("the file has %d bytes, and %s uploads at most %d a day (%s)", declared, whose, limit.most, limit.setting)
	}
	if over := u.bytes + float64(declared) - float64(limit.most); over > 0 || u.bytes >= float64(limit.most) {
		q.refuse(ctx, limit)
		wait := max(time.Second, time.Duration(over/float64(limit.most)*float64(day))).Round(time.Second)
		return rpc.TryLater(wait, "%s has uploaded %.0f bytes within a day, and may upload %d (%s); try again in %s",
			whose, u.bytes, limit.most, limit.setting, wait)
	}
	return nil
}

func (q *uploadQuota) refuse(ctx context.Context, limit *uploadLimit) {
	q.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("limit", limit.label)))
}

// used is what a key has uploaded within a day; 0 without a limit.
func (l *uploadLimit) used(ctx context.Context, store Store, key string, now time.Time) (int64, error) {
	u := l.of(key, now)
	if u == nil {
		return 0, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.settle(ctx, store, now)
	return int64(u.bytes), err
}

// of is what a key has uploaded; nil without a limit, or for a caller who has none of its own.
func (l *uploadLimit) of(key string, now time.Time) *uploaded {
	if l.most == 0 || key == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.keys[key]
	if u == nil {
		u = &uploaded{limit: l, key: key, at: now}
		l.keys[key] = u
	}
	return u
}

// settle takes off what was uploaded a day ago. Then it looks for pending uploads and counts those that have arrived. Those whose URL
// has expired without one are not counted. GUARDED_BY(u.mu).
func (u *uploaded) settle(ctx context.Context, store Store, now time.Time) error {
	u.bytes = max(0, u.bytes-float64(now.Sub(u.at))/float64(day)*float64(u.limit.most))
	u.at = now
	more, left, err := u.pending.take().settle(ctx, store, now)
	u.pending = append(u.pending, left...)
	for _, bytes := range more {
		u.bytes = max(0, u.bytes+float64(bytes))
	}
	return err
}
