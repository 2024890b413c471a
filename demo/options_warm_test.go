package demo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWarmIsOnUnlessItIsTurnedOff(t *testing.T) {
	for given, want := range map[string]string{"": warmOn, "on": warmOn, "true": warmOn, "off": warmOff, "false": warmOff} {
		o, err := Options{Warm: given, Ephemeral: true, Python: t.TempDir()}.complete()
		require.NoError(t, err)
		require.Equal(t, want, o.Warm, given)
	}
	_, err := Options{Warm: "maybe", Ephemeral: true}.complete()
	require.ErrorContains(t, err, "warm: want on or off")
}
