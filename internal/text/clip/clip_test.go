package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "a", clip.Head("aé", 2))
	require.Equal(t, "aé", clip.Head("aé", 3))
	require.Equal(t, "b", clip.Tail("éb", 2))
	require.Equal(t, "😀", clip.Head("😀😀", 7))
	require.Equal(t, "😀", clip.Tail("😀😀", 7))
	require.Equal(t, "a…", clip.Ellipsis("aé", 2))
	require.Equal(t, "é", clip.Ellipsis("é", 2))
	require.Equal(t, "é"+clip.Gap+"é", clip.Middle(strings.Repeat("é", 20), len(clip.Gap)+6))
	require.Equal(t, "?a?", clip.Head("\xffa\xff\xfe", 10), "a program may print anything")
	require.Equal(t, "a?b", clip.Head("a\x00b", 10))
	require.Equal(t, "éé", clip.Characters("ééé", 2))
	require.Equal(t, "éé", clip.Characters("éé", 2))
	require.Equal(t, "a?", clip.Characters("a\xff\x00", 2))
	require.Empty(t, clip.Characters("é", 0))
	require.Empty(t, clip.Head("é", 0))
	require.Empty(t, clip.Tail("é", 0))
}

func TestNoCutDamagesAText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", "")
		size := rapid.IntRange(0, len(text)+2).Draw(t, "size")
		head, tail := clip.Head(text, size), clip.Tail(text, size)
		require.True(t, strings.HasPrefix(text, head))
		require.True(t, strings.HasSuffix(text, tail))
		if size < len(text) {
			require.Greater(t, len(head), size-utf8.UTFMax)
			require.Greater(t, len(tail), size-utf8.UTFMax)
		}
	})
}

func TestWhatIsCutIsAlwaysUTF8(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		size := rapid.IntRange(0, len(text)+2).Draw(t, "size")
		for _, cut := range []string{clip.Head(text, size), clip.Tail(text, size), clip.Ellipsis(text, size), clip.Middle(text, size+20), clip.Characters(text, size)} {
			require.True(t, utf8.ValidString(cut))
			require.NotContains(t, cut, "\x00")
		}
		require.LessOrEqual(t, len(clip.Head(text, size)), size)
		require.LessOrEqual(t, len(clip.Tail(text, size)), size)
	})
}
