package worker

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/storedlog"
)

// kept is a store with one object.
type kept struct{ bytes.Buffer }

func (k *kept) NewWriter(context.Context, string) (io.WriteCloser, error) {
	k.Reset()
	return k, nil
}

func (*kept) Close() error { return nil }

// TestLongLinesOfAnAttemptKeepTheirLetters: a worker cuts a long line into lines of its own, between characters.
func TestLongLinesOfAnAttemptKeepTheirLetters(t *testing.T) {
	store := &kept{}
	log, err := openLog(store, "uri", t.TempDir())
	require.NoError(t, err)
	text := "a" + strings.Repeat("é", 300_000)
	_, err = io.WriteString(log.pipe, text+"\n€")
	require.NoError(t, err)
	log.handedOver()
	require.NoError(t, log.finish(t.Context()))
	var messages []string
	require.NoError(t, storedlog.Read(&store.Buffer, 100, func(lines []*dataplane.LogLine) error {
		for _, line := range lines {
			require.NotNil(t, line.GetTimestamp())
			messages = append(messages, line.GetMessage())
		}
		return nil
	}))
	require.Len(t, messages, 6)
	require.Equal(t, text, strings.Join(messages[:5], ""))
	require.Equal(t, "€", messages[5])
}
