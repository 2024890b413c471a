package insight

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs/limits"
)

// TestEveryLimitIsExplained: each limit that admission may decide on has a cause and a sentence of its own.
func TestEveryLimitIsExplained(t *testing.T) {
	causes := map[insightv1.WaitCause]bool{}
	for limit := limits.Run; limit <= limits.Installation; limit++ {
		w := &insightv1.Wait{Queue: "gpu"}
		limitWait(w, limits.Decision{Limit: limit, Max: 4, Used: 5}, 4)
		require.NotZero(t, w.GetCause(), limit)
		require.False(t, causes[w.GetCause()], "%s explains two limits", w.GetCause())
		causes[w.GetCause()] = true
		require.Contains(t, w.GetMessage(), "5 of 4")
		require.EqualValues(t, 4, w.GetLimit())
		require.EqualValues(t, 5, w.GetUsed())
	}
}
