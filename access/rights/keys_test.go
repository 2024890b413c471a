package rights_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/rights"
)

// TestAKeyForTheSDKIsForPort443: clients that get a key by the variable call that port, which is another server's if the installation has
// a different one.
func TestAKeyForTheSDKIsForPort443(t *testing.T) {
	want := base64.StdEncoding.EncodeToString([]byte("flyte.example.com:key-1:fbk_2:"))
	for url, want := range map[string]string{
		"https://flyte.example.com": want, "https://flyte.example.com/": want, "https://flyte.example.com:443": want, "http://flyte.example.com:443": want,
		"https://flyte.example.com:8443": "", "http://flyte.example.com": "", "http://flyte.example.com:8088": "", "": "", "::": "",
	} {
		require.Equal(t, want, rights.FlyteAPIKey(url, "key-1", "fbk_2"), url)
	}
}
