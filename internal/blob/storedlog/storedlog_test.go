package storedlog_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/storedlog"
)

const stamp = "2026-01-02T03:04:05.000000006Z"

func all(t require.TestingT, log io.Reader) []*dataplane.LogLine {
	var lines []*dataplane.LogLine
	require.NoError(t, storedlog.Read(log, 2, func(batch []*dataplane.LogLine) error {
		lines = append(lines, batch...)
		return nil
	}))
	return lines
}

func messages(lines []*dataplane.LogLine) []string {
	var texts []string
	for _, line := range lines {
		texts = append(texts, line.GetMessage())
	}
	return texts
}

func TestLines(t *testing.T) {
	lines := all(t, strings.NewReader(stamp+" one\n"+stamp+" \r\n"+stamp+" two words\r\nno time\n"+stamp+" \xff\n"+stamp+" the end"))
	require.Equal(t, []string{"one", "", "two words", "no time", "\uFFFD", "the end"}, messages(lines))
	require.Equal(t, 6, lines[0].GetTimestamp().AsTime().Nanosecond())
	require.Nil(t, lines[3].GetTimestamp())
}

// TestLongLinesKeepTheirLetters: a line is cut between characters, and a part that looks like a line of its own is none.
func TestLongLinesKeepTheirLetters(t *testing.T) {
	text := strings.Repeat("é", 500_000)
	lines := all(t, strings.NewReader(stamp+" "+text+"\n"+stamp+" next\n"))
	require.Len(t, lines, 5)
	require.Equal(t, text, strings.Join(messages(lines[:4]), ""))
	require.NotNil(t, lines[0].GetTimestamp())
	require.Nil(t, lines[1].GetTimestamp())
	require.Equal(t, "next", lines[4].GetMessage())

	within := strings.Repeat("x", 256<<10-len(stamp)-1) + stamp + " y"
	lines = all(t, strings.NewReader(stamp+" "+within+"\n"))
	require.Equal(t, within, strings.Join(messages(lines), ""))
}

func TestNoCutDamagesALog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "é", "€", "😀"}), 1, 5).Draw(t, "letters")
		text := strings.Repeat("a", rapid.IntRange(0, 3).Draw(t, "shift")) + strings.Repeat(strings.Join(letters, ""), 60_000)
		whole := all(t, strings.NewReader(stamp+" "+text+"\n"))
		require.Equal(t, text, strings.Join(messages(whole), ""))
		slow := all(t, iotest.HalfReader(strings.NewReader(stamp+" "+text+"\n")))
		require.Equal(t, messages(whole), messages(slow), "positions agree, however the bytes come")
	})
}

func TestALogThatBreaksOff(t *testing.T) {
	broken := errors.New("connection lost")
	reader := storedlog.NewReader(io.MultiReader(strings.NewReader(stamp+" one\n"+stamp+" tw"), iotest.ErrReader(broken)))
	for _, want := range []string{"one", "tw"} {
		line, err := reader.Next()
		require.NoError(t, err)
		require.Equal(t, want, line.GetMessage())
	}
	for range 2 {
		_, err := reader.Next()
		require.ErrorIs(t, err, broken)
	}
}
