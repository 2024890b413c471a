package cloudevents

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Range is a part of the event log of one run.
type Range struct {
	ID, RunID, First, Last int64
}

// Backlog lists what sinks have not been sent yet.
type Backlog interface {
	// Ranges reads the oldest ranges of a sink.
	Ranges(ctx context.Context, sink string, limit int) ([]Range, error)
	// Events reads the events of ranges, in their order. Those of runs that were deleted are missing.
	Events(ctx context.Context, ranges []Range) ([]Event, error)
	// Remove deletes ranges that a sink has.
	Remove(ctx context.Context, sink string, ids []int64) error
	// Expire deletes up to limit ranges, of any sink, from before a time, and returns how many.
	Expire(ctx context.Context, before time.Time, limit int) (int, error)
	// Oldest is when the oldest range of a sink was written; the zero time when there is none.
	Oldest(ctx context.Context, sink string) (time.Time, error)
}

// Deps are the dependencies of the service. Backlog and Leases are required, Audit for sinks that get audit events.
type Deps struct {
	Backlog Backlog
	Audit   AuditLog
	Leases  leased.Leases
	Clock   clock.Clock
	Logger  zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// publisher sends a batch to a sink, in order for each run, and marks what the sink has confirmed. After an error the rest
// is sent again.
type publisher interface {
	publish(ctx context.Context, batch []*message) error
	close()
}

// Service has a loop for each sink.
type Service struct {
	lifecycle.Background
	config     Config
	deps       Deps
	publishers map[string]publisher
	sent, lost metric.Int64Counter
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("eventStream.%w", err)
	}
	if deps.Backlog == nil || deps.Leases == nil {
		return nil, errors.New("eventStream: the backlog and the leases are required")
	}
	if deps.Audit == nil && len(config.AuditNames()) > 0 {
		return nil, errors.New("eventStream: the audit log is required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	deps.Logger = deps.Logger.With().Str("service", "eventstream").Logger()
	s := &Service{config: config, deps: deps, publishers: map[string]publisher{}}
	for i, sink := range config.Sinks {
		made, err := newPublisher(sink)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("eventStream.sinks[%d].%w", i, err)
		}
		s.publishers[sink.Name] = made
	}
	if err := s.measure(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func newPublisher(sink Sink) (publisher, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if sink.CAFile != "" {
		body, err := os.ReadFile(sink.CAFile)
		if err != nil {
			return nil, fmt.Errorf("caFile: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(body) {
			return nil, errors.New("caFile: has no certificate")
		}
	}
	switch sink.Type {
	case typeNATS:
		return newNATSSink(sink, settings), nil
	case typeKafka:
		return newKafkaSink(sink, settings)
	case typePubsub:
		return newPubsubSink(sink)
	default:
		return newHTTPSink(sink, settings), nil
	}
}

// scrapeTimeout bounds the queries of one scrape: a database that does not answer must not hide the metrics of other parts.
const scrapeTimeout = time.Second

func (s *Service) measure() (err error) {
	meter := s.deps.Meter.Meter("github.com/flyte-binary/flyte-binary/notifications/cloudevents")
	if s.sent, err = meter.Int64Counter("flyte.events.published", metric.WithDescription("events that sinks took, by sink")); err != nil {
		return fmt.Errorf("make metrics: %w", err)
	}
	if s.lost, err = meter.Int64Counter("flyte.events.lost",
		metric.WithDescription("changes of runs and audit events that were not published, because they were deleted or became too old")); err != nil {
		return fmt.Errorf("make metrics: %w", err)
	}
	oldest, err := meter.Float64ObservableGauge("flyte.events.backlog", metric.WithUnit("s"),
		metric.WithDescription("age of the oldest change of a run or audit event that a sink has not taken, by sink"))
	if err != nil {
		return fmt.Errorf("make metrics: %w", err)
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
		defer cancel()
		for _, sink := range s.config.Sinks {
			age, err := s.age(ctx, sink.Name)
			if err != nil {
				return err
			}
			o.ObserveFloat64(oldest, age.Seconds(), metric.WithAttributes(attribute.String("sink", sink.Name)))
		}
		return nil
	}, oldest)
	return err
}

// age is how long the oldest event has waited for a sink.
func (s *Service) age(ctx context.Context, sink string) (age time.Duration, err error) {
	lists := []func(context.Context, string) (time.Time, error){s.deps.Backlog.Oldest}
	if slices.Contains(s.config.AuditNames(), sink) {
		lists = append(lists, s.deps.Audit.Oldest)
	}
	for _, oldest := range lists {
		at, err := oldest(ctx, sink)
		if err != nil {
			return 0, err
		}
		if !at.IsZero() {
			age = max(age, s.deps.Clock.Now().Sub(at))
		}
	}
	return age, nil
}

// Start starts a loop for each sink and kind of events, and one that drops what is too old.
func (s *Service) Start(ctx context.Context) error {
	loops := []func(context.Context){leased.While(s.deps.Leases, "events-expire", s.config.Lease, s.expire)}
	publish := func(lease string, sinks []string, send func(ctx context.Context, sink string) (int, error)) {
		for _, sink := range sinks {
			work := func(ctx context.Context) error { return s.work(ctx, sink, send) }
			loops = append(loops, leased.While(s.deps.Leases, lease+sink, s.config.Lease, work))
		}
	}
	publish("events-", s.config.Names(), s.send)
	publish("audit-events-", s.config.AuditNames(), s.sendAudit)
	return s.Run(s.deps.Logger.WithContext(ctx), loops...)
}

// Stop ends the loops and closes the connections. A batch that was not confirmed is sent again by the next process.
func (s *Service) Stop(ctx context.Context) error {
	err := s.Background.Stop(ctx)
	s.close()
	return err
}

func (s *Service) close() {
	for _, p := range s.publishers {
		p.close()
	}
}

// work sends a sink its events until the lease or the process ends. It logs errors and retries: the list is in the
// database. One replica works for a sink, so that the order is kept.
func (s *Service) work(ctx context.Context, sink string, send func(ctx context.Context, sink string) (int, error)) error {
	retries := backoff.New(s.config.Backoff.First, s.config.Backoff.Max)
	for {
		n, err := send(ctx, sink)
		pause := s.config.Poll
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the context has ended, as it was asked to
		case err != nil:
			pause = retries.Next()
			s.deps.Logger.Warn().Err(err).Str("sink", sink).Dur("retry_in", pause).Msg("publishing events failed; retrying")
		default:
			retries.Reset()
			if n == s.config.Batch {
				continue
			}
		}
		if clock.Sleep(ctx, s.deps.Clock, pause) != nil {
			return nil //nolint:nilerr // the context has ended, as it was asked to
		}
	}
}

// send sends the oldest batch of a sink and then removes what the sink has confirmed from the list. If the process dies
// between the two, it is sent again.
func (s *Service) send(ctx context.Context, sink string) (int, error) {
	ranges, err := s.deps.Backlog.Ranges(ctx, sink, s.config.Batch)
	if err != nil || len(ranges) == 0 {
		return 0, err
	}
	events, err := s.deps.Backlog.Events(ctx, ranges)
	if err != nil {
		return 0, err
	}
	batch := s.encode(events)
	failure := s.publish(ctx, sink, batch)
	done := confirmed(ranges, batch)
	if err := s.deps.Backlog.Remove(ctx, sink, done.ids); err != nil {
		return 0, errors.Join(failure, err)
	}
	s.count(ctx, sink, done.sent, done.lost)
	return len(ranges), failure
}

// publish sends a batch, and marks what the sink has confirmed.
func (s *Service) publish(ctx context.Context, sink string, batch []*message) (failure error) {
	if len(batch) > 0 {
		trying, cancel := context.WithTimeout(ctx, s.config.Timeout)
		failure = s.publishers[sink].publish(trying, batch)
		cancel()
	}
	failpoint.Here("events.after-publish")
	return failure
}

// count counts what a sink has, and what it will never have.
func (s *Service) count(ctx context.Context, sink string, sent, lost int64) {
	label := metric.WithAttributes(attribute.String("sink", sink))
	s.sent.Add(ctx, sent, label)
	if lost > 0 {
		s.lost.Add(ctx, lost, label)
		s.deps.Logger.Warn().Str("sink", sink).Int64("events", lost).Msg("events lost: they were deleted before they were published")
	}
}

func (s *Service) encode(events []Event) []*message {
	batch := make([]*message, 0, len(events))
	for i := range events {
		one, err := messageOf(s.config.Source, &events[i])
		if err != nil { // it would fail again
			s.deps.Logger.Error().Err(err).Msg("event dropped: it cannot be published")
			continue
		}
		batch = append(batch, one)
	}
	return batch
}

const (
	expireEvery = time.Minute
	expireBatch = 1000
)

// expire drops what sinks have not taken for too long, also that of sinks that are no longer configured.
func (s *Service) expire(ctx context.Context) error {
	for {
		n, err := s.deps.Backlog.Expire(ctx, s.deps.Clock.Now().Add(-s.config.Keep), expireBatch)
		if err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn().Err(err).Msg("dropping old events failed; retrying")
		}
		if n > 0 {
			s.lost.Add(ctx, int64(n))
			s.deps.Logger.Error().Int("changes", n).Msg("events dropped: no sink accepted them within eventStream.keep")
		}
		if err == nil && n == expireBatch {
			continue
		}
		if clock.Sleep(ctx, s.deps.Clock, expireEvery) != nil {
			return nil //nolint:nilerr // the context has ended, as it was asked to
		}
	}
}
