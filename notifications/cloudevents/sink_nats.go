package cloudevents

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsSink publishes to JetStream, which acknowledges what it has stored. It drops repetitions by the id of the message
// within the stream's window.
type natsSink struct {
	config   Sink
	settings *tls.Config

	mu     sync.Mutex
	conn   *nats.Conn // GUARDED_BY(mu): nil before the first batch
	stream jetstream.JetStream
}

func newNATSSink(config Sink, settings *tls.Config) *natsSink {
	return &natsSink{config: config, settings: settings}
}

func (s *natsSink) connect() (jetstream.JetStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return s.stream, nil
	}
	options := []nats.Option{nats.Name("flyte-binary " + s.config.Name), nats.MaxReconnects(-1)}
	if s.config.Username != "" {
		options = append(options, nats.UserInfo(s.config.Username, s.config.Password))
	}
	if strings.HasPrefix(s.config.URL, "tls:") {
		options = append(options, nats.Secure(s.settings))
	}
	conn, err := nats.Connect(s.config.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	stream, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	s.conn, s.stream = conn, stream
	return stream, nil
}

// publish sends an event of each run, waits until the stream has stored them, and then sends the next of each. If it sent
// a run's events without waiting, one that was lost would come after later ones when the batch is repeated, since the
// stream drops those that it has.
func (s *natsSink) publish(ctx context.Context, batch []*message) error {
	stream, err := s.connect()
	if err != nil {
		return err
	}
	for _, wave := range waves(batch) {
		if err := s.send(ctx, stream, wave); err != nil {
			return fmt.Errorf("publish to NATS: %w", err)
		}
	}
	return nil
}

func (s *natsSink) send(ctx context.Context, stream jetstream.JetStream, wave []*message) error {
	futures := make([]jetstream.PubAckFuture, 0, len(wave))
	for _, one := range wave {
		subject := cmp.Or(s.config.Subject, "flyte")
		for _, word := range one.words {
			subject += "." + token(word)
		}
		m := nats.NewMsg(subject)
		m.Header.Set("Content-Type", contentType)
		m.Data = one.body
		future, err := stream.PublishMsgAsync(m, jetstream.WithMsgID(one.dedup))
		if err != nil {
			return err
		}
		futures = append(futures, future)
	}
	for i, future := range futures {
		select {
		case <-future.Ok():
			wave[i].sent = true
		case err := <-future.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// waves has the first events of all runs, then the second ones, and so on.
func waves(batch []*message) [][]*message {
	var found [][]*message
	place := map[string]int{}
	for _, one := range batch {
		n := place[one.key]
		place[one.key]++
		if n == len(found) {
			found = append(found, nil)
		}
		found[n] = append(found[n], one)
	}
	return found
}

// token is a name as one word of a subject.
func token(name string) string {
	return strings.NewReplacer(".", "_", "*", "_", ">", "_", " ", "_").Replace(name)
}

func (s *natsSink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
	}
}
