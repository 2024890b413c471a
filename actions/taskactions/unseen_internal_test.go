package taskactions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An action that is taken back while its object is being created may get pods: the fence waits for them.
func TestAnObjectMayExistUntilItIsSeen(t *testing.T) {
	var u unseen
	now := time.Now()
	require.False(t, u.mayExist(1, now))
	u.sending(1)
	require.True(t, u.mayExist(1, now.Add(time.Hour)), "the call is under way")
	u.returned(1, now)
	require.True(t, u.mayExist(1, now.Add(unseenFor-1)))
	require.False(t, u.mayExist(1, now.Add(unseenFor)), "the API server has none")

	u.sending(1)
	u.settle(1)
	u.returned(1, now)
	require.False(t, u.mayExist(1, now), "it was seen before the call returned")
	require.False(t, u.mayExist(2, now))
}
