package cloudevents

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Config says where events are published.
type Config struct {
	// Sinks are the receivers. Default none: nothing is published. events.md describes the fields.
	Sinks []Sink `config:"sinks"`
	// Source is the source of all events, a URI reference that tells installations apart. Default /flyte-binary.
	Source string `config:"source"`
	// Batch is how many changes of runs, or audit events, are sent at once. Default 200.
	Batch int `config:"batch"`
	// Timeout bounds one try to send a batch. Default 30 s.
	Timeout time.Duration `config:"timeout"`
	// Backoff is the pause before a batch is sent again. It varies by a quarter. Defaults 500 ms, at most 1 m.
	Backoff backoff.Config `config:"backoff"`
	// Poll is how often the list of events is read. Default 500 ms.
	Poll time.Duration `config:"poll"`
	// Keep is how long changes of runs wait for a sink that takes none; then they are dropped, which is logged and counted. Default
	// 7 days.
	Keep time.Duration `config:"keep"`
	// Lease is how long the replica that publishes may be silent before another takes over. Default 6 s.
	Lease time.Duration `config:"lease"`
}

// Sink is a receiver.
type Sink struct {
	// Name names the sink in its list, in logs and metrics. With another name it is another sink, which starts again.
	Name string `config:"name"`
	// Type is http, nats, kafka or pubsub.
	Type string `config:"type"`
	// Events are the kinds of events that the sink gets: runs are the changes of runs and actions, audit is the record of what was done,
	// which shows the names of people and projects. Default runs alone.
	Events []string `config:"events"`
	// URL is where events are posted (http), a server (nats), or a topic or queue (pubsub): awssns:///ARN?region=REGION,
	// awssqs://HOST/ACCOUNT/QUEUE?region=REGION or gcppubsub://projects/PROJECT/topics/TOPIC. It may hold secrets and is not
	// shown.
	URL string `config:"url" sensitive:"whole"`
	// Headers are those of each request (http). They may hold secrets and are not shown.
	Headers map[string]string `config:"headers" sensitive:"whole"`
	// Subject begins the subject of each message (nats): SUBJECT.project.domain.run, or SUBJECT.audit. A JetStream stream must have it. Default
	// flyte.
	Subject string `config:"subject"`
	// Brokers are host:port of some brokers (kafka).
	Brokers []string `config:"brokers"`
	// Topic is the topic (kafka). The key of a record is the run, or audit.
	Topic string `config:"topic"`
	// TLS encrypts the connection to the brokers (kafka). NATS decides by the scheme tls.
	TLS bool `config:"tls"`
	// CAFile is a PEM file of the authorities that may sign the server's certificate (not pubsub). Default those of the system.
	CAFile string `config:"caFile"`
	// Username and Password sign in: to NATS, or to Kafka by SASL PLAIN, which requires tls.
	Username string `config:"username"`
	Password string `config:"password" sensitive:"whole"`
}

// The types of sinks.
const (
	typeHTTP   = "http"
	typeNATS   = "nats"
	typeKafka  = "kafka"
	typePubsub = "pubsub"
)

// DefaultConfig publishes nothing.
func DefaultConfig() Config {
	return Config{
		Source: "/flyte-binary", Batch: 200, Timeout: 30 * time.Second,
		Backoff: backoff.Config{First: 500 * time.Millisecond, Max: time.Minute},
		Poll:    500 * time.Millisecond, Keep: 7 * 24 * time.Hour, Lease: 6 * time.Second,
	}
}

// The kinds of events.
const (
	runEvents   = "runs"
	auditEvents = "audit"
)

// Names are the names of the sinks that get the changes of runs.
func (c Config) Names() []string { return c.getting(runEvents) }

// AuditNames are the names of the sinks that get the audit events.
func (c Config) AuditNames() []string { return c.getting(auditEvents) }

func (c Config) getting(events string) []string {
	names := []string{}
	for _, sink := range c.Sinks {
		if slices.Contains(sink.Events, events) || len(sink.Events) == 0 && events == runEvents {
			names = append(names, sink.Name)
		}
	}
	return names
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	seen := map[string]bool{}
	for i, sink := range c.Sinks {
		found.Section(fmt.Sprintf("sinks[%d]", i), sink.validate())
		found.If(seen[sink.Name], "sinks[%d].name: there are two sinks %s", i, sink.Name)
		seen[sink.Name] = true
	}
	found.Section("backoff", c.Backoff.Validate())
	if _, err := url.Parse(c.Source); err != nil || c.Source == "" {
		found.Add("source: must be a URI reference, got %q", c.Source)
	}
	for _, field := range []struct {
		name  string
		value time.Duration
	}{{"timeout", c.Timeout}, {"poll", c.Poll}, {"keep", c.Keep}} {
		found.If(field.value <= 0, "%s: must be positive, got %s", field.name, field.value)
	}
	found.If(c.Batch < 1 || c.Batch > 10_000, "batch: must be from 1 to 10000, got %d", c.Batch)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}

var (
	sinkName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	subject  = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

func (s Sink) validate() error {
	var found invalid.Fields
	found.If(!sinkName.MatchString(s.Name), "name: must be 1 to 63 lower-case letters, digits and dashes, got %q", s.Name)
	for i, events := range s.Events {
		found.If(events != runEvents && events != auditEvents, "events[%d]: must be %s or %s, got %q", i, runEvents, auditEvents, events)
	}
	switch s.Type {
	case typeHTTP:
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") {
			found.Add("url: must be an http or https URL")
		}
	case typeNATS:
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			found.Add("url: must be nats://host:port or tls://host:port")
		}
		found.If(s.Subject != "" && !subject.MatchString(s.Subject), "subject: must be words separated by dots, got %q", s.Subject)
	case typeKafka:
		found.If(len(s.Brokers) == 0, "brokers: at least one is required")
		found.If(s.Topic == "", "topic: required")
		found.If(s.Password != "" && !s.TLS, "tls: a password is not sent without TLS")
	case typePubsub:
		if _, err := parsePubsubURL(s.URL); err != nil {
			found.Add("url: %w", err)
		}
		found.If(s.CAFile != "", "caFile: a pubsub sink trusts the authorities of the system")
		found.If(s.Username != "" || s.Password != "", "username: a pubsub sink takes the credentials of the server's environment")
	default:
		found.Add("type: must be http, nats, kafka or pubsub, got %q", s.Type)
	}
	return found.Err()
}
