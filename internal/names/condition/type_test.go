package condition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/condition"
)

func TestFourSimpleTypesAreAllowed(t *testing.T) {
	allowed := 0
	for number := range core.SimpleType_name {
		simple := core.SimpleType(number)
		if condition.TypeAllowed(&core.LiteralType{Type: &core.LiteralType_Simple{Simple: simple}}) {
			require.Contains(t, []string{"BOOLEAN", "INTEGER", "FLOAT", "STRING"}, simple.String())
			allowed++
		}
	}
	require.Equal(t, 4, allowed)
	require.False(t, condition.TypeAllowed(nil))
	require.False(t, condition.TypeAllowed(&core.LiteralType{Type: &core.LiteralType_CollectionType{}}))
}
