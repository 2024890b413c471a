package pgembed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

func TestAllWrongFieldsAreReportedAtOnce(t *testing.T) {
	require.EqualError(t, pgembed.Config{DataDir: "data", MaxConnections: -1, Port: 70000}.Validate(), `dataDir: must be absolute, got "data"
maxConnections: must not be negative, got -1
port: must be between 0 and 65535, got 70000`)
	require.EqualError(t, pgembed.Config{}.Validate(), "dataDir: required")
	require.NoError(t, pgembed.Config{DataDir: "/data"}.Validate())
}
