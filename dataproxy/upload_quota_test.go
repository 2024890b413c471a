package dataproxy_test

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	config "github.com/flyte-binary/flyte-binary/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// uploading requests URLs of a project that uploads at most 1000 bytes a day, and puts files there.
type uploading struct {
	*fixture
	files int
}

func newUploading(t *testing.T) *uploading {
	return &uploading{fixture: newFixture(t, func(c *config.Config) { c.ProjectUploadBytesPerDay = 1000 })}
}

// request asks for the URL of another file of a size, and says the size if declared.
func (u *uploading) request(size int, declared bool) (put func(), err error) {
	u.t.Helper()
	u.files++
	body := make([]byte, size)
	body[0] = byte(u.files)
	request := upload(body)
	if declared {
		request.ContentLength = int64(size)
	}
	location, err := u.data.CreateUploadLocation(u.t.Context(), request)
	return func() {
		u.t.Helper()
		headers := location.GetHeaders()
		headers["Content-MD5"] = base64.StdEncoding.EncodeToString(request.GetContentMd5())
		status, text := u.send(http.MethodPut, location.GetSignedUrl(), body, headers)
		require.Equal(u.t, http.StatusOK, status, text)
	}, err
}

func (u *uploading) allowed(size int, declared bool) (put func()) {
	u.t.Helper()
	put, err := u.request(size, declared)
	require.NoError(u.t, err)
	return put
}

func (u *uploading) refused(size int, declared bool, words string) {
	u.t.Helper()
	_, err := u.request(size, declared)
	require.Equal(u.t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(u.t, err, words)
}

// TestUploadsCountByWhatTheStoreHas: the released SDK does not say how large a file is when it asks for a URL.
func TestUploadsCountByWhatTheStoreHas(t *testing.T) {
	u := newUploading(t)
	u.allowed(600, false)()
	late := u.allowed(500, false)
	u.allowed(1, false)
	late()
	u.refused(1, false, "project flytesnacks has uploaded 1100 bytes within a day, and may upload 1000 (dataproxy.projectUploadBytesPerDay); try again in 2h24m0s")
	u.clock.Step(2*time.Hour + 30*time.Minute)
	u.allowed(1, false)
	u.refused(900, true, "has uploaded 996 bytes")
}

func TestDeclaredUploadsCountAtOnce(t *testing.T) {
	u := newUploading(t)
	u.refused(1001, true, "the file has 1001 bytes, and project flytesnacks uploads at most 1000 a day")
	put := u.allowed(900, true)
	u.refused(200, true, "project flytesnacks has uploaded 900 bytes within a day")
	u.clock.Step(time.Second)
	put()
	u.refused(200, true, "project flytesnacks has uploaded 900 bytes within a day")

	never := newUploading(t)
	never.allowed(900, true)
	never.refused(200, true, "900 bytes")
	never.clock.Step(time.Hour)
	never.allowed(200, true)
}

func TestInputsCountAsUploads(t *testing.T) {
	u := newUploading(t)
	send := func(text string) error {
		_, err := u.data.UploadInputs(t.Context(), &dataproxy.UploadInputsRequest{
			Id:     &dataproxy.UploadInputsRequest_RunId{RunId: run.Proto()},
			Task:   &dataproxy.UploadInputsRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{}}},
			Inputs: &task.Inputs{Context: []*core.KeyValuePair{{Key: "text", Value: text}}},
		})
		return err
	}
	require.NoError(t, send(string(make([]byte, 700))))
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(send(string(make([]byte, 701)))))
	u.refused(400, true, "bytes within a day")
}

func TestWithoutALimitNothingIsLookedFor(t *testing.T) {
	u := &uploading{fixture: newFixture(t)}
	for range 20 {
		u.allowed(1000, true)()
	}
}
