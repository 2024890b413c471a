package manager_test

import (
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"os"
	"strings"
	"testing"

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
