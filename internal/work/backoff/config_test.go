package backoff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

func TestConfig(t *testing.T) {
	require.NoError(t, backoff.Config{First: time.Second, Max: time.Second}.Validate())
	for _, c := range []struct {
		config backoff.Config
		want   string
	}{
		{backoff.Config{Max: time.Second}, "first: must be positive, got 0s"},
		{backoff.Config{First: -1, Max: time.Second}, "first: must be positive, got -1ns"},
		{backoff.Config{First: time.Second}, "max: must not be less than first, 1s, got 0s"},
	} {
		require.EqualError(t, c.config.Validate(), c.want)
	}
}
