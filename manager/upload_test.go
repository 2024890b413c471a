package manager_test

import (
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
)

// TestUploadThroughThePort uploads code as clients do: request a location, then PUT with the digest.
func TestUploadThroughThePort(t *testing.T) {
	url := startServer(t, testConfig(t), nowhere(t))
	code := "the code of a flow"
	digest := md5.Sum([]byte(code))
	place, err := dataproxyconnect.NewDataProxyServiceClient(http.DefaultClient, url).CreateUploadLocation(t.Context(),
		&dataproxy.CreateUploadLocationRequest{
			Project: "flytesnacks", Domain: "development", Filename: "fast.tar.gz", ContentMd5: digest[:],
			ExpiresIn: durationpb.New(60e9), AddContentMd5Metadata: true,
		})
	require.NoError(t, err)
	require.Contains(t, place.GetSignedUrl(), "http://localhost:")

	header := map[string]string{"Content-MD5": base64.StdEncoding.EncodeToString(digest[:])}
	for name, value := range place.GetHeaders() {
		header[name] = value
	}
	status, _, body := do(t, http.MethodPut, place.GetSignedUrl(), strings.NewReader("another content"), header)
	require.Equal(t, http.StatusBadRequest, status, body)
	require.NoFileExists(t, place.GetNativeUrl())
	status, _, body = do(t, http.MethodPut, place.GetSignedUrl()+"0", strings.NewReader(code), header)
	require.Equal(t, http.StatusForbidden, status, body)
	status, _, body = do(t, http.MethodPut, place.GetSignedUrl(), strings.NewReader(code), header)
	require.Equal(t, http.StatusOK, status, body)
	stored, err := os.ReadFile(place.GetNativeUrl())
	require.NoError(t, err)
	require.Equal(t, code, string(stored))
}

// TestUploadsOfAProjectAreLimited runs a whole server and uploads more than a project may, as the released SDK does: without a
// size in the request.
func TestUploadsOfAProjectAreLimited(t *testing.T) {
	config := testConfig(t)
	config.DataProxy.ProjectUploadBytesPerDay = 1000
	config.Access.Limits.ProjectUploadsPerMinute = 3
	data := dataproxyconnect.NewDataProxyServiceClient(http.DefaultClient, startServer(t, config, nowhere(t)))
	request := func(code string) (*dataproxy.CreateUploadLocationResponse, map[string]string, error) {
		digest := md5.Sum([]byte(code))
		place, err := data.CreateUploadLocation(t.Context(), &dataproxy.CreateUploadLocationRequest{
			Project: "flytesnacks", Domain: "development", Filename: "fast.tar.gz", ContentMd5: digest[:],
			ExpiresIn: durationpb.New(60e9), AddContentMd5Metadata: true,
		})
		header := map[string]string{"Content-MD5": base64.StdEncoding.EncodeToString(digest[:])}
		for name, value := range place.GetHeaders() {
			header[name] = value
		}
		return place, header, err
	}
	refused := func(err error, words string) {
		t.Helper()
		require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, words)
		var wire *connect.Error
		require.ErrorAs(t, err, &wire)
		require.NotEmpty(t, wire.Meta().Get("Retry-After"))
	}
	code := strings.Repeat("x", 1500)
	place, header, err := request(code)
	require.NoError(t, err)
	status, _, body := do(t, http.MethodPut, place.GetSignedUrl(), strings.NewReader(code), header)
	require.Equal(t, http.StatusOK, status, body)
	_, _, err = request("more")
	refused(err, "project flytesnacks has uploaded 1500 bytes within a day, and may upload 1000")
	_, _, err = request("more")
	refused(err, "project flytesnacks has uploaded")
	_, _, err = request("more")
	refused(err, "more than 3 uploads a minute are requested in project flytesnacks")
}
