package apps_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

func TestAnAppIsCreatedAndServes(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	created := f.create(command("web"))
	require.EqualValues(t, 1, created.GetMetadata().GetRevision())
	require.Equal(t, "PENDING", statusOf(created))
	require.Equal(t, "anonymous", created.GetSpec().GetCreator().GetUser().GetId().GetSubject())
	require.Equal(t, "http://localhost:8090/apps/flytesnacks/development/web", created.GetStatus().GetIngress().GetPublicUrl())

	d.eventually("web", "1:1 →0")
	desired := d.of("web").GetRevisions()[0]
	require.EqualValues(t, 8080, desired.GetPort())
	require.False(t, desired.GetTakesPort())
	require.True(t, proto.Equal(created.GetSpec(), desired.GetSpec()))

	d.report("web", replicas(1, 1, false))
	require.Equal(t, "DEPLOYING/INITIALIZING", f.status("web"))
	d.report("web", replicas(1, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))
	d.eventually("web", "1:1 →1")
	require.EqualValues(t, 1, f.get("web").GetStatus().GetCurrentReplicas())

	_, err := f.api.Create(t.Context(), &app.CreateRequest{App: command("web")})
	refused(t, err, connect.CodeAlreadyExists, "web exists")
}

// TestAWatcherSeesTheAppStart does what the SDK does after it has deployed an app: it reads updates alone.
func TestAWatcherSeesTheAppStart(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	stream, err := f.api.Watch(t.Context(), &app.WatchRequest{Target: &app.WatchRequest_AppId{AppId: id("web")}})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	next := func() string {
		for stream.Receive() {
			if update := stream.Msg().GetUpdateEvent(); update != nil {
				return statusOf(update.GetUpdatedApp())
			}
			if stream.Msg().GetDeleteEvent() != nil {
				return "deleted"
			}
		}
		require.NoError(t, stream.Err())
		return "the end"
	}
	require.Equal(t, "PENDING", next())
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", next())
	_, err = f.api.Delete(t.Context(), &app.DeleteRequest{AppId: id("web")})
	require.NoError(t, err)
	require.Equal(t, "deleted", next())
	require.Equal(t, "the end", next())
	d.eventually("web", "nothing")
}
