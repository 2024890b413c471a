package manager

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestDoctorOfAControllerSaysWhatIsWrongWithTheAddress: each way in which an address does not lead to an API has words of its own.
func TestDoctorOfAControllerSaysWhatIsWrongWithTheAddress(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	encrypted := httptest.NewUnstartedServer(http.NotFoundHandler())
	encrypted.EnableHTTP2 = true
	encrypted.StartTLS()
	t.Cleanup(encrypted.Close)
	page := httptest.NewUnstartedServer(http.NotFoundHandler())
	page.Config.Protocols = new(http.Protocols)
	page.Config.Protocols.SetUnencryptedHTTP2(true)
	page.Start()
	t.Cleanup(page.Close)
	for _, one := range []struct{ url, says string }{
		{"http://" + closed.Addr().String(), "nothing listens at " + closed.Addr().String()},
		{"http://flyte.invalid:8090", "no name server of this cluster knows flyte.invalid"},
		{encrypted.URL, "add the authority of the certificate"},
		{page.URL, "something else than the API answers"},
		{"http://" + silent.Addr().String(), "allow connections from this cluster"},
	} {
		config := configuration.DefaultConfig()
		config.Target, config.Auth.InternalToken = configuration.TargetController, "internal"
		config.ControlPlane.URL = one.url
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		findings := examineControlPlane(ctx, config)
		cancel()
		require.Len(t, findings, 1, one.url)
		require.Error(t, findings[0].Err, one.url)
		require.Contains(t, findings[0].Fix, one.says, "%s: %v", one.url, findings[0].Err)
	}
}

// TestDoctorComparesClocks, to within the second in which an answer says what time it is.
func TestDoctorComparesClocks(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, one := range []struct {
		theirs time.Time
		says   string
	}{
		{now, ""},
		{now.Add(25 * time.Second), ""},
		{now.Add(-25 * time.Second), ""},
		{now.Add(2 * time.Minute), "is 2m0s behind that of the API"},
		{now.Add(-time.Hour), "ahead of that of the API"},
	} {
		findings := examineClock(http.Header{"Date": {one.theirs.Format(http.TimeFormat)}}, now, now.Add(time.Second))
		require.Len(t, findings, 1)
		if one.says == "" {
			require.NoError(t, findings[0].Err)
			continue
		}
		require.ErrorContains(t, findings[0].Err, one.says)
	}
	require.Empty(t, examineClock(http.Header{}, now, now), "a proxy left the date out")
}
