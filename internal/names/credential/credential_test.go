package credential_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/credential"
)

func TestFormOfSecrets(t *testing.T) {
	secret := credential.New("fbx_")
	require.Len(t, secret, 4+36+6)
	require.True(t, credential.WellFormed("fbx_", secret))
	require.False(t, credential.WellFormed("fby_", secret), "another prefix")
	require.False(t, credential.WellFormed("fbx_", secret[:len(secret)-1]), "cut")
	require.False(t, credential.WellFormed("fbx_", secret+"0"))
	require.NotEqual(t, secret, credential.New("fbx_"))
	require.Equal(t, secret[len(secret)-4:], credential.Hint(secret))
	require.NotContains(t, string(credential.Hash(secret)), secret)

	changed := []byte(secret)
	for i := 4; i < len(changed); i++ {
		before := changed[i]
		changed[i] = map[bool]byte{true: 'b', false: 'a'}[before == 'a']
		require.False(t, credential.WellFormed("fbx_", string(changed)), "mistyped at %d", i)
		changed[i] = before
	}
}
