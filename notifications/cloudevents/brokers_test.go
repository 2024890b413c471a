package cloudevents_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
)

// startNATS starts a NATS server with JetStream on a port, or a free one.
func startNATS(t testing.TB, port int, folder string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: folder, NoLog: true, NoSigs: true, Username: "flyte", Password: "secret",
	})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(20*time.Second))
	return s
}

// TestNATS: a real server that stops and comes back gets everything once, on the subject of the run.
func TestNATS(t *testing.T) {
	folder := t.TempDir()
	broker := startNATS(t, -1, folder)
	address := broker.ClientURL()
	port := broker.Addr().String()
	conn, err := nats.Connect(address, nats.UserInfo("flyte", "secret"))
	require.NoError(t, err)
	stream, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = stream.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FLYTE", Subjects: []string{"flyte.>"}})
	require.NoError(t, err)
	conn.Close()
	f := newFixture(t, cloudevents.Sink{Type: "nats", URL: address, Username: "flyte", Password: "secret"})
	f.begin()
	f.run("up")
	f.await(&received{})
	broker.Shutdown()
	broker.WaitForShutdown()
	f.run("down")
	var number int
	_, err = fmt.Sscanf(port, "127.0.0.1:%d", &number)
	require.NoError(t, err)
	broker = startNATS(t, number, folder)
	t.Cleanup(func() {
		broker.Shutdown()
		broker.WaitForShutdown()
	})
	f.await(&received{})

	conn, err = nats.Connect(address, nats.UserInfo("flyte", "secret"))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	stream, err = jetstream.New(conn)
	require.NoError(t, err)
	consumer, err := stream.OrderedConsumer(t.Context(), "FLYTE", jetstream.OrderedConsumerConfig{})
	require.NoError(t, err)
	batch, err := consumer.Fetch(8, jetstream.FetchMaxWait(20*time.Second))
	require.NoError(t, err)
	got := &received{}
	for one := range batch.Messages() {
		got.add(t, one.Data())
		require.Contains(t, []string{"flyte.p.d.up", "flyte.p.d.down"}, one.Subject())
		require.Equal(t, "application/cloudevents+json", one.Headers().Get("Content-Type"))
	}
	require.NoError(t, batch.Error())
	require.True(t, got.whole("up"), got.of("up"))
	require.True(t, got.whole("down"), got.of("down"))
	require.Len(t, got.of("up"), 4, "repetitions are dropped by their id")
}

// TestKafka: a server of Kafka's protocol gets the events of a run in one partition.
func TestKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "flyte"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	f := newFixture(t, cloudevents.Sink{Type: "kafka", Brokers: cluster.ListenAddrs(), Topic: "flyte"})
	f.begin()
	for _, name := range []string{"a", "b", "c"} {
		f.run(name)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("flyte"))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	got, partitions := &received{}, map[string]int32{}
	for !got.whole("a") || !got.whole("b") || !got.whole("c") {
		fetches := client.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			got.add(t, r.Value)
			if known, seen := partitions[string(r.Key)]; seen {
				require.Equal(t, known, r.Partition)
			}
			partitions[string(r.Key)] = r.Partition
		})
	}
	require.Len(t, partitions, 3)
	f.await(got, "a", "b", "c")
}
