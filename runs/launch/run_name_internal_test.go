package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunNamesDoNotCollide(t *testing.T) {
	const n = 200_000
	seen := make(map[string]struct{}, n)
	for range n {
		name, err := newRunName()
		require.NoError(t, err)
		require.Len(t, name, 20)
		require.Regexp(t, runName, name)
		seen[name] = struct{}{}
	}
	require.Len(t, seen, n)
}
