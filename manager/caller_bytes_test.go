package manager_test

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/access"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/test/s3test"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// callers is a server whose callers are known by name, on the object store of a real S3 server.
type callers struct {
	*testing.T
	url string
	s3  *s3test.Server
	db  *pgx.Conn
}

func startCallers(t *testing.T, change func(*configuration.Config)) *callers {
	t.Helper()
	c := &callers{T: t, s3: s3test.Start(t, "bucket")}
	config := testConfig(t)
	config.Storage = c.s3.Config("s3://bucket/data")
	config.Access.Bindings = []access.BindingConfig{{User: "ada", Role: "operator"}, {User: "bob", Role: "operator"}}
	change(&config)
	var err error
	c.db, err = pgx.Connect(t.Context(), config.Database.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.db.Close(t.Context()) })
	server, err := manager.Complete(t.Context(), config, manager.Options{
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel), REST: nowhere(t), Authenticator: byName{},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	c.url = "http://" + server.Addr()
	return c
}

func (c *callers) createRun(name, run string) error {
	return createRun(c.T, workflowconnect.NewRunServiceClient(as(name), c.url), runOf("flytesnacks", run))
}

// upload asks for the URL of a text, and puts it there. The released SDK says no size.
func (c *callers) upload(name, text string) error {
	c.Helper()
	digest := md5.Sum([]byte(text))
	place, err := dataproxyconnect.NewDataProxyServiceClient(as(name), c.url).CreateUploadLocation(c.Context(), &dataproxy.CreateUploadLocationRequest{
		Project: "flytesnacks", Domain: "development", Filename: "fast.tar.gz", ContentMd5: digest[:], ExpiresIn: durationpb.New(time.Hour),
	})
	if err != nil {
		return err
	}
	header := map[string]string{"Content-MD5": base64.StdEncoding.EncodeToString(digest[:])}
	for key, value := range place.GetHeaders() {
		header[key] = value
	}
	status, _, body := do(c.T, http.MethodPut, place.GetSignedUrl(), strings.NewReader(text), header)
	require.Equal(c, http.StatusOK, status, body)
	return nil
}

// limit is what GetLimits tells a caller about one setting.
func (c *callers) limit(name, setting string) *accessv1.Limit {
	c.Helper()
	answer, err := accessv1connect.NewAccessServiceClient(as(name), c.url).GetLimits(c.Context(), &accessv1.GetLimitsRequest{Project: "flytesnacks"})
	require.NoError(c, err)
	for _, limit := range answer.GetLimits() {
		if limit.GetSetting() == setting {
			return limit
		}
	}
	require.Fail(c, "no limit "+setting)
	return nil
}

// TestStoredBytesOfCallersAreLimited: what a caller has in a bucket counts for the caller, by the runs that it created and what it uploaded. Another
// caller of the same project is not refused. All callers together have what the project has.
func TestStoredBytesOfCallersAreLimited(t *testing.T) {
	c := startCallers(t, func(config *configuration.Config) {
		config.Runs.Stored.CallerBytes, config.Runs.Stored.ProjectBytes = 1000, 1_000_000
		config.Runs.Stored.Interval, config.Runs.Stored.NearInterval, config.Runs.Stored.RequestsPerSecond = time.Minute, time.Second, 1000
	})
	require.NoError(t, c.createRun("ada", "one"))
	require.NoError(t, c.createRun("bob", "two"))
	require.NoError(t, c.upload("bob", strings.Repeat("x", 70)))
	base := func(run string) string {
		var uri string
		require.NoError(t, c.db.QueryRow(t.Context(), `SELECT run_output_base FROM actions WHERE run_name = $1 AND parent_name IS NULL`, run).Scan(&uri))
		return strings.TrimSuffix(strings.TrimPrefix(uri, "s3://bucket/"), "/")
	}
	c.s3.Put(t, "bucket", base("one")+"/a0/1", 600) // of two bytes each
	c.s3.Put(t, "bucket", base("two")+"/a0/1", 30)

	_, err := c.db.Exec(t.Context(), `UPDATE stored SET measured_at = measured_at - interval '1 hour'`) // it is due
	require.NoError(t, err)

	var refusal error
	tries := 0
	again := func() error { // a repeated request would get the run that exists
		tries++
		return c.createRun("ada", fmt.Sprint("again", tries))
	}
	require.Eventually(t, func() bool { refusal = again(); return refusal != nil }, 2*time.Minute, 50*time.Millisecond)
	refusedForNow(t, refusal, "the runs and uploads of ada have 1")
	require.ErrorContains(t, refusal, "and may have 1000 (runs.stored.callerBytes)")
	require.ErrorContains(t, refusal, "of them are in project flytesnacks; delete some of them")
	refusedForNow(t, c.upload("ada", "more"), "the runs and uploads of ada have 1")
	require.NoError(t, c.createRun("ada", "one"), "a repeated request is not refused")
	require.NoError(t, c.createRun("bob", "three"))

	require.Eventually(t, func() bool { return c.limit("bob", "runs.stored.callerBytes").GetUsed() >= 130 }, 2*time.Minute, 50*time.Millisecond)
	mine, project := c.limit("ada", "runs.stored.callerBytes"), c.limit("ada", "runs.stored.projectBytes")
	require.Equal(t, []int64{1000, 0}, []int64{mine.GetMost(), mine.GetLeft()})
	require.GreaterOrEqual(t, mine.GetUsed(), int64(1200))
	require.Empty(t, mine.GetProject())
	require.NotNil(t, mine.GetMeasuredAt())
	require.GreaterOrEqual(t, project.GetUsed(), mine.GetUsed()+130)
	var ofProject, ofCallers int64
	require.NoError(t, c.db.QueryRow(t.Context(), `SELECT sum(bytes + added)::bigint, (SELECT sum(bytes + added)::bigint FROM stored_callers) FROM stored`).
		Scan(&ofProject, &ofCallers))
	require.Equal(t, ofProject, ofCallers)

	require.NoError(t, os.RemoveAll(filepath.Join(c.s3.Dir, "bucket", base("one"), "a0/1")))
	require.Eventually(t, func() bool { return again() == nil }, 2*time.Minute, 50*time.Millisecond)
}

// TestUploadedBytesOfCallersAreLimited: a caller uploads no more than it may in a day, another one of the same project still does, and what
// callers have uploaded adds up to what their project has.
func TestUploadedBytesOfCallersAreLimited(t *testing.T) {
	c := startCallers(t, func(config *configuration.Config) {
		config.DataProxy.CallerUploadBytesPerDay, config.DataProxy.ProjectUploadBytesPerDay = 1000, 2000
	})
	require.NoError(t, c.upload("ada", strings.Repeat("x", 1500)))
	require.NoError(t, c.upload("bob", strings.Repeat("y", 300)))
	err := c.upload("ada", "more")
	refusedForNow(t, err, "ada has uploaded 1")
	require.ErrorContains(t, err, "bytes within a day, and may upload 1000 (dataproxy.callerUploadBytesPerDay); try again in")
	require.NoError(t, c.upload("bob", "more"))

	used := func(name, setting string) int64 { return c.limit(name, setting).GetUsed() }
	const callerSetting, projectSetting = "dataproxy.callerUploadBytesPerDay", "dataproxy.projectUploadBytesPerDay"
	// Some bytes of the day are forgotten meanwhile: of the project at twice the pace of a caller.
	require.InDelta(t, 1500, used("ada", callerSetting), 100)
	require.InDelta(t, 304, used("bob", callerSetting), 100)
	require.InDelta(t, used("ada", callerSetting)+used("bob", callerSetting), used("bob", projectSetting), 200)
	mine := c.limit("ada", callerSetting)
	require.Equal(t, []int64{1000, 0}, []int64{mine.GetMost(), mine.GetLeft()})
	require.Equal(t, 24*time.Hour, mine.GetPer().AsDuration())
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(c.upload("ada", "even more")))
}
