package cloudevents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/pubsub"
	"golang.org/x/sync/errgroup"
)

// pubsubSink publishes to a topic or a queue of a cloud. The URL's scheme says which.
type pubsubSink struct {
	url  *url.URL
	open func(context.Context, *url.URL) (topic, error)

	mu    sync.Mutex
	topic topic // GUARDED_BY(mu): nil before the first batch
}

// topic is what differs between the clouds.
type topic interface {
	// prepare sets on the cloud's own message what keeps order and drops repetitions. as is that of a pubsub.Message.
	prepare(one *message, as func(any) bool) error
	// failed makes it possible to send a message again.
	failed(one *message)
	send(ctx context.Context, m *pubsub.Message) error
	close()
}

// The schemes of the URLs of pubsub sinks.
const (
	schemeSNS    = "awssns"
	schemeSQS    = "awssqs"
	schemeGoogle = "gcppubsub"
)

func newPubsubSink(config Sink) (*pubsubSink, error) {
	address, err := parsePubsubURL(config.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	s := &pubsubSink{url: address, open: openAWS}
	if address.Scheme == schemeGoogle {
		s.open = openGoogle
	}
	return s, nil
}

// connect opens the topic with the first batch, so that a cloud that cannot be asked for credentials delays events and
// not the start of the server.
func (s *pubsubSink) connect(ctx context.Context) (topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topic != nil {
		return s.topic, nil
	}
	opened, err := s.open(ctx, s.url)
	if err != nil {
		return nil, fmt.Errorf("open the topic: %w", err)
	}
	s.topic = opened
	return opened, nil
}

// publish sends in waves, as the NATS sink does and for the same reason.
func (s *pubsubSink) publish(ctx context.Context, batch []*message) error {
	topic, err := s.connect(ctx)
	if err != nil {
		return err
	}
	for _, wave := range waves(batch) {
		group, sending := errgroup.WithContext(ctx)
		for _, one := range wave {
			group.Go(func() error {
				err := topic.send(sending, &pubsub.Message{
					Body: one.body, BeforeSend: func(as func(any) bool) error { return topic.prepare(one, as) },
				})
				if err != nil {
					topic.failed(one)
					return err
				}
				one.sent = true
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return fmt.Errorf("publish to %s: %w", s.url.Scheme, err)
		}
	}
	return nil
}

func (s *pubsubSink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topic != nil {
		s.topic.close()
	}
}

// closeTime is how long requests in progress may take when the process stops.
const closeTime = time.Second

// shutDown gives up requests that a cloud does not answer. What they carry is sent again by the next process.
func shutDown(t *pubsub.Topic) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = t.Shutdown(ctx)
}

// parsePubsubURL names what is wrong with a URL. It does not repeat the URL.
func parsePubsubURL(text string) (*url.URL, error) {
	const forms = "must be awssns:///ARN?region=REGION, awssqs://HOST/ACCOUNT/QUEUE?region=REGION or gcppubsub://projects/PROJECT/topics/TOPIC"
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New(forms)
	}
	known := []string{"region", "endpoint", "profile", "role"}
	complete := false
	switch u.Scheme {
	case schemeSNS:
		arn := strings.Split(strings.TrimPrefix(u.Path, "/"), ":")
		complete = u.Host == "" && len(arn) == 6 && arn[0] == "arn" && arn[2] == "sns" && arn[5] != ""
	case schemeSQS:
		complete = u.Host != "" && strings.Count(strings.Trim(u.Path, "/"), "/") == 1
	case schemeGoogle:
		known = []string{"endpoint"}
		parts := strings.Split(u.Path, "/")
		complete = u.Host == "projects" && len(parts) == 4 && parts[1] != "" && parts[2] == "topics" && parts[3] != ""
	}
	switch query := u.Query(); {
	case !complete:
		return nil, errors.New(forms)
	case u.User != nil:
		return nil, errors.New("must have no user or password: credentials are those of the server's environment")
	case u.Scheme != schemeGoogle && query.Get("region") == "":
		return nil, errors.New("must have a region: ?region=eu-west-1")
	default:
		for key := range query {
			if !slices.Contains(known, key) {
				return nil, fmt.Errorf("has the unknown parameter %q; %s has %s", key, u.Scheme, strings.Join(known, ", "))
			}
		}
	}
	return u, nil
}

// maxID is the longest group or id of a message that AWS takes.
const maxID = 128

// bounded is text, or its digest when that is shorter.
func bounded(text string) string {
	if len(text) <= maxID {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
