package apps_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// storedLogs are the names of the stored logs of an app.
func (f *fixture) storedLogs(uid string) []string {
	f.t.Helper()
	names := []string{}
	prefix := f.blobs.Root() + "/flytesnacks/development/_apps/" + uid + "/logs/"
	require.NoError(f.t, f.blobs.List(f.t.Context(), prefix, func(o blobstore.Object) error {
		names = append(names, strings.TrimSuffix(o.Name, ".log"))
		return nil
	}))
	return names
}

// storeLog stores the log of a replica, and returns its URI.
func (f *fixture) storeLog(uid, replica string) string {
	f.t.Helper()
	uri := f.blobs.Root() + "/flytesnacks/development/_apps/" + uid + "/logs/" + replica + ".log"
	require.NoError(f.t, f.blobs.WriteAll(f.t.Context(), uri, []byte("a line\n")))
	return uri
}

func (f *fixture) deleteApp(name string) {
	f.t.Helper()
	_, err := f.api.Delete(f.t.Context(), &app.DeleteRequest{AppId: id(name)})
	require.NoError(f.t, err)
}

func TestTheLogsOfADeletedAppAreDeleted(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	uids := map[string]string{}
	for _, name := range []string{"web", "other"} {
		f.create(command(name))
		d.eventually(name, "1:1 →0")
		uids[name] = d.of(name).GetUid()
		f.storeLog(uids[name], "first")
	}
	data := f.blobs.Root() + "/flytesnacks/development/_apps/" + uids["web"] + "/data/model"
	require.NoError(t, f.blobs.WriteAll(t.Context(), data, []byte("weights")))

	require.NoError(t, f.service.DeleteLogs(t.Context()))
	require.Len(t, f.storedLogs(uids["web"]), 1, "the app exists")
	f.deleteApp("web")
	require.NoError(t, f.service.DeleteLogs(t.Context()))
	require.Empty(t, f.storedLogs(uids["web"]))

	// A deployer stores the log of a replica that was ending when the app was deleted.
	f.storeLog(uids["web"], "last")
	f.clock.Step(16 * time.Minute)
	require.NoError(t, f.service.DeleteLogs(t.Context()))
	require.Empty(t, f.storedLogs(uids["web"]))
	require.Equal(t, []string{"first"}, f.storedLogs(uids["other"]))
	_, err := f.blobs.Stat(t.Context(), data)
	require.NoError(t, err, "what the app wrote itself may be in use elsewhere")
	require.Zero(t, f.pending())
}

// pending is how many deletions of logs are left to do.
func (f *fixture) pending() (n int) {
	f.t.Helper()
	require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `SELECT count(*) FROM app_log_deletions`).Scan(&n))
	return n
}

func TestTheLogsOfForgottenReplicasAreDeleted(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	uid := d.of("web").GetUid()
	const ended = 53
	for i := range ended {
		gone := replicas(1, 1, false)
		gone.Replicas[0].Name, gone.Replicas[0].Phase = fmt.Sprintf("r-%02d", i), "Ended"
		gone.Replicas[0].LogUri = f.storeLog(uid, gone.GetReplicas()[0].GetName())
		d.report("web", gone)
		f.clock.Step(time.Millisecond)
	}
	require.NoError(t, f.service.DeleteLogs(t.Context()))
	stored := f.storedLogs(uid)
	require.Len(t, stored, 50)
	require.Equal(t, "r-03", stored[0], "the oldest are deleted")
	require.Zero(t, f.pending())
}

// TestADeletionThatFailsIsRetried makes the deletion of one app's logs impossible for a while.
func TestADeletionThatFailsIsRetried(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	uids := map[string]string{}
	for _, name := range []string{"web", "other"} {
		f.create(command(name))
		d.eventually(name, "1:1 →0")
		uids[name] = d.of(name).GetUid()
		f.storeLog(uids[name], "first")
	}
	// A file in place of the directory.
	dir := strings.TrimPrefix(f.blobs.Root(), "file://") + "/flytesnacks/development/_apps/" + uids["web"] + "/logs"
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Symlink(t.TempDir(), dir))
	f.deleteApp("web")
	f.deleteApp("other")
	require.ErrorContains(t, f.service.DeleteLogs(t.Context()), uids["web"])
	require.Empty(t, f.storedLogs(uids["other"]), "one failure does not hold up the rest")
	require.NoError(t, f.service.DeleteLogs(t.Context()), "it is retried after a pause")

	require.NoError(t, os.Remove(dir))
	f.storeLog(uids["web"], "first")
	f.clock.Step(2 * time.Minute)
	require.NoError(t, f.service.DeleteLogs(t.Context()))
	require.Empty(t, f.storedLogs(uids["web"]))
}
