package notices_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/runs/store/notices"
)

func TestParseNoticeReadsWriterPayloads(t *testing.T) {
	for payload, want := range map[string]notices.Notice{
		"me 1,2,3": {Replica: "me", Runs: []int64{1, 2, 3}},
		" 7":       {Runs: []int64{7}},
		"7,8":      {Runs: []int64{7, 8}},
	} {
		got, err := notices.ParseNotice(payload)
		require.NoError(t, err, payload)
		require.Equal(t, want, got)
	}
	for _, payload := range []string{"", "resync", "me ", "me 1,", "me 1 2", "me 99999999999999999999"} {
		_, err := notices.ParseNotice(payload)
		require.Error(t, err, payload)
	}
}

func TestNoticeNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		notice, err := notices.ParseNotice(rapid.String().Draw(t, "payload"))
		require.True(t, err != nil || len(notice.Runs) > 0, "a notice without an error names runs")
	})
}
