package v1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

func TestEmbeddedDefinition(t *testing.T) {
	crd, err := v1.CRD()
	require.NoError(t, err)
	require.Equal(t, "taskactions.flyte.org", crd.Name)
	require.NotNil(t, crd.Spec.Versions[0].Subresources.Status)
}
