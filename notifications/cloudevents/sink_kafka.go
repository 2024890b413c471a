package cloudevents

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// kafkaSink produces records. Those of a run have one key, so they are in one partition, in order.
type kafkaSink struct{ client *kgo.Client }

func newKafkaSink(config Sink, settings *tls.Config) (*kafkaSink, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(config.Brokers...), kgo.DefaultProduceTopic(config.Topic), kgo.ClientID("flyte-binary"),
		kgo.RequiredAcks(kgo.AllISRAcks()),
	}
	if config.TLS {
		options = append(options, kgo.DialTLSConfig(settings))
	}
	if config.Username != "" {
		options = append(options, kgo.SASL(plain.Auth{User: config.Username, Pass: config.Password}.AsMechanism()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("make a client of Kafka: %w", err)
	}
	return &kafkaSink{client: client}, nil
}

func (s *kafkaSink) publish(ctx context.Context, batch []*message) error {
	records := make([]*kgo.Record, len(batch))
	for i, one := range batch {
		records[i] = &kgo.Record{
			Key: []byte(one.key), Value: one.body,
			Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte(contentType)}, {Key: "ce_id", Value: []byte(one.id)}},
		}
	}
	byRecord := make(map[*kgo.Record]*message, len(batch))
	for i, record := range records {
		byRecord[record] = batch[i]
	}
	results := s.client.ProduceSync(ctx, records...)
	for _, result := range results { // in the order in which they ended
		byRecord[result.Record].sent = result.Err == nil
	}
	if err := results.FirstErr(); err != nil {
		return fmt.Errorf("produce to Kafka: %w", err)
	}
	return nil
}

func (s *kafkaSink) close() { s.client.Close() }
