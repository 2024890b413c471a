package recent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/recent"
)

func TestCacheIsBounded(t *testing.T) {
	cache := recent.New[string](100, func(body []byte) int { return len(body) })
	for i := range 100 {
		cache.Put(string(rune('a'+i)), make([]byte, 10))
		cache.Get("a") // is in use
	}
	require.Equal(t, 100, cache.Size())
	require.Equal(t, 10, cache.Len())
	_, used := cache.Get("a")
	require.True(t, used, "what is used stays")
	_, unused := cache.Get("b")
	require.False(t, unused)

	cache.Put("a", make([]byte, 10))
	require.Equal(t, 100, cache.Size(), "the same key again takes no more room")
	cache.Put("huge", make([]byte, 101))
	_, huge := cache.Get("huge")
	require.False(t, huge)
	require.Equal(t, 10, cache.Len(), "and it evicts nothing")
}
