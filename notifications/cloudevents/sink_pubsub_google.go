package cloudevents

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	google "cloud.google.com/go/pubsub/v2"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/gcppubsubv2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// googleTimeout bounds how long the library repeats a request on its own. The end of the process waits for that.
const googleTimeout = 5 * time.Second

// googleTopic is a topic of Google Cloud Pub/Sub.
type googleTopic struct {
	*pubsub.Topic
	client    *google.Client
	publisher *google.Publisher
}

// openGoogle connects with the application default credentials. An endpoint that begins with http:// is one without TLS
// and credentials, such as the emulator.
func openGoogle(_ context.Context, u *url.URL) (topic, error) {
	var options []option.ClientOption
	if endpoint := u.Query().Get("endpoint"); endpoint != "" {
		host, plain := strings.CutPrefix(endpoint, "http://")
		options = append(options, option.WithEndpoint(host))
		if plain {
			options = append(options, option.WithoutAuthentication(),
				option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
		}
	}
	path := strings.Split(u.Path, "/")
	// The client outlives the batch that it is opened for.
	client, err := google.NewClient(context.Background(), path[1], options...)
	if err != nil {
		return nil, err
	}
	opened := gcppubsubv2.OpenTopic(client, path[3], nil)
	t := &googleTopic{Topic: opened, client: client}
	if !opened.As(&t.publisher) {
		_ = client.Close()
		return nil, errors.New("no publisher of Google Cloud")
	}
	t.publisher.EnableMessageOrdering = true
	t.publisher.PublishSettings.DelayThreshold = time.Millisecond // each wave waits for it
	t.publisher.PublishSettings.Timeout = googleTimeout
	return t, nil
}

func (t *googleTopic) prepare(one *message, as func(any) bool) error {
	var m *google.Message
	if !as(&m) {
		return errors.New("not a message of Google Cloud")
	}
	m.OrderingKey = one.key
	m.Attributes = map[string]string{"content-type": contentType, "ce_id": one.id}
	return nil
}

// failed resumes the run's ordering key, which the library stops after an error.
func (t *googleTopic) failed(one *message) { t.publisher.ResumePublish(one.key) }

func (t *googleTopic) send(ctx context.Context, m *pubsub.Message) error { return t.Send(ctx, m) }

func (t *googleTopic) close() {
	shutDown(t.Topic)
	t.publisher.Stop()
	_ = t.client.Close()
}
