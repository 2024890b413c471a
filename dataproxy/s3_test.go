package dataproxy_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/test/s3test"
)

// openS3 opens a bucket of a real S3 server that checks signatures. The test is skipped where it is not installed.
func (f *fixture) openS3() {
	f.t.Helper()
	var err error
	f.store, err = blobstore.Open(f.t.Context(), s3test.Start(f.t, "bucket").Config("s3://bucket/data"))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = f.store.Close(); http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	require.Eventually(f.t, func() bool { return f.store.Ping(f.t.Context()) == nil }, 20*time.Second, 50*time.Millisecond)
}

func TestOverS3(t *testing.T) {
	fixed := newFixture(t)
	f := &fixture{t: t, state: fixed.state, pods: fixed.pods, clock: fixed.clock}
	f.openS3()
	f.serve()

	body := []byte("a code bundle")
	request := upload(body)
	location, err := f.data.CreateUploadLocation(t.Context(), request)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(location.GetNativeUrl(), "s3://bucket/data/uploads/flytesnacks/development/"))
	headers := location.GetHeaders()
	headers["Content-MD5"] = base64.StdEncoding.EncodeToString(request.GetContentMd5())
	status, text := f.send(http.MethodPut, location.GetSignedUrl(), []byte("another bundl"), headers)
	require.GreaterOrEqual(t, status, 400, text)
	_, err = f.store.Stat(t.Context(), location.GetNativeUrl())
	require.ErrorIs(t, err, blobstore.ErrNotExist)
	status, text = f.send(http.MethodPut, location.GetSignedUrl(), body, headers)
	require.Equal(t, http.StatusOK, status, text)
	status, _ = f.send(http.MethodPut, strings.Replace(location.GetSignedUrl(), "fast.tar.gz", "slow.tar.gz", 1), body, headers)
	require.Equal(t, http.StatusForbidden, status)

	inputs := &task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1")}}
	uploaded, err := f.data.UploadInputs(t.Context(), inputsRequest(inputs))
	require.NoError(t, err)
	f.state.uris["a0"] = &workflow.GetActionDataURIsResponse{InputsUri: uploaded.GetOffloadedInputData().GetUri()}
	data, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("a0")})
	require.NoError(t, err)
	require.Equal(t, "x", data.GetInputs().GetLiterals()[0].GetName())

	base := f.store.Root() + "/p/d/r/"
	f.state.storage["a0"] = &enginev1.GetActionStorageResponse{RunOutputBase: base, Attempts: 1}
	require.NoError(t, f.store.WriteAll(t.Context(), base+"a0/1/report.html", []byte("<p>")))
	link, err := f.data.CreateDownloadLink(t.Context(), reportRequest("a0", 1))
	require.NoError(t, err)
	status, text = f.send(http.MethodGet, link.GetPreSignedUrls().GetSignedUrl()[0], nil, nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "<p>", text)

	f.readsParts()

	f.seal(f.logged("a0"), "one", "two")
	log, _, err := f.tail(logsOf("a0"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", log)
}
