package cloudevents_test

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	google "cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/flyte-binary/flyte-binary/internal/test/mototest"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
)

// cloud is AWS as moto plays it, with a queue and a reader of it.
type cloud struct {
	t        *testing.T
	endpoint string
	config   aws.Config
	sqs      *sqs.Client
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	endpoint := mototest.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hidden")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	idle := &http.Transport{}
	t.Cleanup(idle.CloseIdleConnections)
	config := aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient: &http.Client{Transport: idle},
	}
	return &cloud{t: t, endpoint: endpoint, config: config, sqs: sqs.NewFromConfig(config)}
}

func (c *cloud) queue(name string, attributes map[string]string) string {
	c.t.Helper()
	made, err := c.sqs.CreateQueue(c.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(name), Attributes: attributes})
	require.NoError(c.t, err)
	return aws.ToString(made.QueueUrl)
}

// address is a URL for the configuration.
func (c *cloud) address(base string) string {
	return base + "?region=eu-west-1&endpoint=" + url.QueryEscape(c.endpoint)
}

// take receives count messages and checks what each carries.
func (c *cloud) take(queue string, count int, fifo bool) *received {
	c.t.Helper()
	got := &received{}
	for len(got.events) < count {
		answer, err := c.sqs.ReceiveMessage(c.t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{"All"},
		})
		require.NoError(c.t, err)
		for _, one := range answer.Messages {
			got.add(c.t, []byte(aws.ToString(one.Body)))
			last := got.events[len(got.events)-1]
			require.Equal(c.t, "application/cloudevents+json", aws.ToString(one.MessageAttributes["content-type"].StringValue))
			require.Equal(c.t, last.ID, aws.ToString(one.MessageAttributes["ce_id"].StringValue))
			if fifo {
				require.Equal(c.t, "p/d/"+last.Data.Run, one.Attributes["MessageGroupId"])
				require.Equal(c.t, "/flyte-binary/"+last.ID, one.Attributes["MessageDeduplicationId"])
			}
			_, err := c.sqs.DeleteMessage(c.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &queue, ReceiptHandle: one.ReceiptHandle})
			require.NoError(c.t, err)
		}
	}
	return got
}

// TestSQS: a FIFO queue gets the events of each run in order, and drops repetitions. A queue that does not exist yet delays
// them.
func TestSQS(t *testing.T) {
	c := newCloud(t)
	host, _ := strings.CutPrefix(c.endpoint, "http://")
	f := newFixture(t, cloudevents.Sink{Type: "pubsub", URL: c.address("awssqs://" + host + "/123456789012/flyte.fifo")})
	s := f.begin()
	f.run("early")
	queue := c.queue("flyte.fifo", map[string]string{"FifoQueue": "true"})
	f.run("late")
	f.await(&received{})
	f.stop(s)
	_, err := f.pool.Exec(t.Context(), `
		INSERT INTO event_backlog (sink, run_id, first_seq, last_seq, at) SELECT 'sink', run_id, min(seq), max(seq), now() FROM action_events GROUP BY run_id`)
	require.NoError(t, err)
	f.begin() // as if the process had died before it noted that the queue has them
	f.await(&received{})
	f.run("last")
	f.await(&received{})
	got := c.take(queue, 12, true)
	for _, run := range []string{"early", "late", "last"} {
		require.True(t, got.whole(run), got.of(run))
		require.Len(t, got.of(run), 4, "repetitions are dropped by their id")
	}
}

// TestStandardQueue: a queue that is not FIFO is sent no group, which it would refuse.
func TestStandardQueue(t *testing.T) {
	c := newCloud(t)
	queue := c.queue("flyte", nil)
	host, _ := strings.CutPrefix(c.endpoint, "http://")
	f := newFixture(t, cloudevents.Sink{Type: "pubsub", URL: c.address("awssqs://" + host + "/123456789012/flyte")})
	f.begin()
	f.run("a")
	got := c.take(queue, 4, false)
	require.Len(t, got.of("a"), 4)
}

// TestSNS: a FIFO topic passes on the events of each run in order.
func TestSNS(t *testing.T) {
	c := newCloud(t)
	queue := c.queue("flyte.fifo", map[string]string{"FifoQueue": "true"})
	topics := sns.NewFromConfig(c.config)
	topic, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("flyte.fifo"), Attributes: map[string]string{"FifoTopic": "true"}})
	require.NoError(t, err)
	_, err = topics.Subscribe(t.Context(), &sns.SubscribeInput{
		TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String("arn:aws:sqs:eu-west-1:123456789012:flyte.fifo"),
		Attributes: map[string]string{"RawMessageDelivery": "true"},
	})
	require.NoError(t, err)
	f := newFixture(t, cloudevents.Sink{Type: "pubsub", URL: c.address("awssns:///" + aws.ToString(topic.TopicArn))})
	f.begin()
	f.run("a")
	f.run("b")
	got := c.take(queue, 8, true)
	require.True(t, got.whole("a"), got.of("a"))
	require.True(t, got.whole("b"), got.of("b"))
}

// refusing answers each third call with an error that the client library does not retry.
type refusing struct{ calls atomic.Int64 }

func (r *refusing) React(any) (bool, any, error) {
	if r.calls.Add(1)%3 == 2 {
		return true, nil, status.Error(codes.PermissionDenied, "no")
	}
	return false, nil, nil
}

// TestGoogle: the events of a run have one ordering key, and arrive in order also when the server refuses some.
func TestGoogle(t *testing.T) {
	reactor := &refusing{}
	broker := pstest.NewServer(pstest.ServerReactorOption{FuncName: "Publish", Reactor: reactor})
	t.Cleanup(func() { require.NoError(t, broker.Close()) })
	client, err := google.NewClient(t.Context(), "shop", option.WithEndpoint(broker.Addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	const topic = "projects/shop/topics/flyte"
	_, err = client.TopicAdminClient.CreateTopic(t.Context(), &pubsubpb.Topic{Name: topic})
	require.NoError(t, err)

	f := newFixture(t, cloudevents.Sink{Type: "pubsub", URL: "gcppubsub://" + topic + "?endpoint=" + url.QueryEscape("http://"+broker.Addr)})
	f.begin()
	f.run("a")
	f.run("b")
	f.await(&received{})
	got := &received{}
	for _, one := range broker.Messages() {
		got.add(t, one.Data)
		last := got.events[len(got.events)-1]
		require.Equal(t, "p/d/"+last.Data.Run, one.OrderingKey)
		require.Equal(t, map[string]string{"content-type": "application/cloudevents+json", "ce_id": last.ID}, one.Attributes)
	}
	require.True(t, got.whole("a"), got.of("a"))
	require.True(t, got.whole("b"), got.of("b"))
	require.Greater(t, reactor.calls.Load(), int64(2), "some were refused")
}

// newSilent is a server that takes connections and answers nothing. The channel gets each connection that it took.
func newSilent(t *testing.T) (string, <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	connected, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close() // when the listener is closed
			select {
			case connected <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-done
	})
	return listener.Addr().String(), connected
}

// TestCloudsThatDoNotAnswer: a cloud that takes connections and answers nothing delays events, and neither holds up the
// end of the process nor leaves anything behind in it.
func TestCloudsThatDoNotAnswer(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hidden")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	for _, address := range []string{
		"awssns:///arn:aws:sns:eu-west-1:123456789012:flyte.fifo?region=eu-west-1&endpoint=",
		"awssqs://sqs.eu-west-1.amazonaws.com/123456789012/flyte.fifo?region=eu-west-1&endpoint=",
		"gcppubsub://projects/shop/topics/flyte?endpoint=",
	} {
		silent, connected := newSilent(t)
		f := newFixture(t, cloudevents.Sink{Type: "pubsub", URL: address + url.QueryEscape("http://"+silent)})
		f.config.Timeout = 100 * time.Millisecond
		log := &strings.Builder{}
		f.log = zerolog.New(zerolog.SyncWriter(log))
		s := f.begin()
		f.run("a")
		<-connected
		f.stop(s)
		require.NotContains(t, log.String(), "hidden")
		var left int
		require.NoError(t, f.pool.QueryRow(t.Context(), `SELECT count(*) FROM event_backlog`).Scan(&left))
		require.Positive(t, left, address)
	}
}
