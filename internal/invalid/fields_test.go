package invalid_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

func TestFieldsAreListedWithTheirPaths(t *testing.T) {
	var inner, outer invalid.Fields
	require.NoError(t, inner.Err())
	outer.Section("writer", inner.Err())
	require.NoError(t, outer.Err())

	cause := errors.New("no such file")
	inner.If(false, "fine: %d", 1)
	inner.If(true, "maxBatch: must be positive, got %d", 0)
	inner.Add("maxBatch: must be even")
	inner.Add("caFile: %w", cause)
	outer.Section("writer", inner.Err())
	outer.Section("backoff", errors.New("first: must be positive"))
	outer.Section("queues", errors.New("[1].name: required"))
	require.EqualError(t, outer.Err(), `writer.maxBatch: must be positive, got 0
writer.caFile: no such file
backoff.first: must be positive
queues[1].name: required`)
	require.ErrorIs(t, outer.Err(), cause)
}
