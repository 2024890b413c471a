package limits

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// limit is one field of the configuration: how much each key may have, which is a caller or a project.
type limit struct {
	label string // in the metric
	field string // of the configuration
	most  int    // 0 means no limit
	says  string // what is wrong, as a format of the key and most

	rate   *rate   // of limits of how often
	places *places // of limits of how many at a time
}

// pair is a limit for each caller, and the same for each project.
type pair struct{ caller, project limit }

// perSecond is a limit of an average. A key that was idle may have ten seconds' worth at once.
func perSecond(label, field string, most int, says string) limit {
	return limit{label: label, field: field, most: most, says: says, rate: newRate(most, time.Second, burst*most)}
}

func perMinute(label, field string, most int, says string) limit {
	return limit{label: label, field: field, most: most, says: says, rate: newRate(most, time.Minute, most)}
}

func atOnce(label, field string, most int, says string) limit {
	return limit{label: label, field: field, most: most, says: says, places: newPlaces(most)}
}

func atMost(label, field string, most int, says string) limit {
	return limit{label: label, field: field, most: most, says: says}
}

// take counts one more of a key.
func (l *Limiter) take(ctx context.Context, of limit, key string) error {
	if wait := of.rate.take(key, l.clock.Now()); wait > 0 {
		return l.refuse(ctx, of, key, wait, "")
	}
	return nil
}

// enter takes a place of a key until release is called.
func (l *Limiter) enter(ctx context.Context, of limit, key string) (release func(), err error) {
	release, ok := of.places.enter(key)
	if !ok {
		return nil, l.refuse(ctx, of, key, streamWait, "end some, or ")
	}
	return release, nil
}

// measure compares a size with that which a key may have. To try again does not help.
func (l *Limiter) measure(ctx context.Context, of limit, key string, size func() int) error {
	if of.most == 0 || size() <= of.most {
		return nil
	}
	l.count(ctx, of)
	return rpc.ResourceExhausted(of.says+", which is the limit (access.limits.%[3]s)", key, of.most, of.field)
}

// refuse counts a refusal and returns its error, with what else the caller can do.
func (l *Limiter) refuse(ctx context.Context, of limit, key string, wait time.Duration, or string) error {
	l.count(ctx, of)
	return rpc.TryLater(wait, of.says+", which is the limit (access.limits.%[3]s); %[4]stry again in %[5]s", key, of.most, of.field, or, inWords(wait))
}

func (l *Limiter) count(ctx context.Context, of limit) {
	l.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("limit", of.label)))
}

// inWords is a wait for people: in milliseconds below a second, else in seconds.
func inWords(wait time.Duration) time.Duration {
	unit := time.Second
	if wait < unit {
		unit = time.Millisecond
	}
	return (wait + unit - 1).Truncate(unit)
}
