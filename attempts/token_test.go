package attempts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts"
)

func TestTheEndpointOfATaskHasItsToken(t *testing.T) {
	const token = "fbt_x"
	for name, c := range map[string]struct {
		endpoint, apps string
		insecure       bool
		want, wantApps string
	}{
		"plain":        {"flyte.flyte:8090", "http://flyte.flyte:8090/apps/p/d/{app_fqdn}", true, "http://flyte.flyte:8090/t/fbt_x", "http://flyte.flyte:8090/t/fbt_x/apps/p/d/{app_fqdn}"},
		"TLS":          {"flyte.example.com", "https://flyte.example.com/apps/p/d/{app_fqdn}", false, "https://flyte.example.com/t/fbt_x", "https://flyte.example.com/t/fbt_x/apps/p/d/{app_fqdn}"},
		"a target":     {"dns:///flyte:1", "", true, "http://flyte:1/t/fbt_x", ""},
		"a URL":        {"https://flyte/base/", "", true, "https://flyte/base/t/fbt_x", ""},
		"localhost":    {"localhost:8090", "", false, "http://localhost:8090/t/fbt_x", ""}, // as the SDK takes it
		"apps of else": {"flyte:1", "https://apps.example.com/p/d/{app_fqdn}", true, "http://flyte:1/t/fbt_x", "https://apps.example.com/p/d/{app_fqdn}"},
		"a neighbour":  {"flyte:80", "http://flyte:8090/apps/x", true, "http://flyte:80/t/fbt_x", "http://flyte:8090/apps/x"},
	} {
		endpoint, apps := attempts.WithToken(c.endpoint, c.apps, c.insecure, token)
		require.Equal(t, c.want, endpoint, name)
		require.Equal(t, c.wantApps, apps, name)
	}
}
