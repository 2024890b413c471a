package podlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/podlog"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func stamp(second int) string {
	return time.Date(2030, 1, 1, 0, 0, second, 0, time.UTC).Format("2006-01-02T15:04:05.000000000Z07:00")
}

var lines = strings.Join([]string{
	stamp(1) + " stdout F one",
	stamp(2) + " stderr F two",
	stamp(3) + " stdout P thr",
	stamp(4) + " stdout F ee",
	stamp(5) + " stdout F ",
	stamp(6) + " stdout P end",
}, "\n") + "\n"

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestCopy(t *testing.T) {
	done := make(chan struct{})
	close(done)
	for name, tc := range map[string]struct {
		options podlog.Options
		want    string
	}{
		"all":        {podlog.Options{Tail: -1}, "one\ntwo\nthree\n\nend"},
		"tail":       {podlog.Options{Tail: 3}, "three\n\nend"},
		"long tail":  {podlog.Options{Tail: 30}, "one\ntwo\nthree\n\nend"},
		"no tail":    {podlog.Options{Tail: 0}, ""},
		"since":      {podlog.Options{Tail: -1, Since: time.Date(2030, 1, 1, 0, 0, 5, 0, time.UTC)}, "\nend"},
		"limit":      {podlog.Options{Tail: -1, Limit: 5}, "one\nt"},
		"stderr":     {podlog.Options{Tail: -1, Stream: "stderr"}, "two\n"},
		"timestamps": {podlog.Options{Tail: 2, Timestamps: true}, stamp(5) + " \n" + stamp(6) + " end"},
		"split line": {podlog.Options{Tail: 3, Timestamps: true}, stamp(3) + " three\n" + stamp(5) + " \n" + stamp(6) + " end"},
		"follow":     {podlog.Options{Tail: -1, Follow: true}, "one\ntwo\nthree\n\nend"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, podlog.Copy(t.Context(), &out, write(t, "log", lines), tc.options, done, clock.System{}, nil))
			require.Equal(t, tc.want, out.String())
		})
	}
}

func TestCopyOfARotatedLog(t *testing.T) {
	path := write(t, "log", stamp(2)+" stdout F new\n")
	require.NoError(t, os.WriteFile(path+".1", []byte(stamp(1)+" stdout F a\n"+stamp(1)+" stdout F b\n"), 0o600))
	for tail, want := range map[int64]string{-1: "a\nb\nnew\n", 2: "b\nnew\n", 1: "new\n"} {
		var out bytes.Buffer
		require.NoError(t, podlog.Copy(t.Context(), &out, path, podlog.Options{Tail: tail}, nil, clock.System{}, nil))
		require.Equal(t, want, out.String())
	}
}

// Following sees what is written later, across a rotation, and ends with the container.
func TestFollow(t *testing.T) {
	path := write(t, "log", stamp(1)+" stdout F 0\n"+stamp(1)+" std")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	read, writer := io.Pipe()
	done := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		err := podlog.Copy(context.Background(), writer, path, podlog.Options{Tail: -1, Follow: true}, done, clock.System{}, nil)
		result <- errors.Join(err, writer.Close())
	}()
	expect := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(read, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	expect("0\n")
	_, err = file.WriteString("out F 1\n")
	require.NoError(t, err)
	expect("1\n")
	_, err = file.WriteString(stamp(2) + " stdout F 2\n")
	require.NoError(t, err)
	require.NoError(t, os.Rename(path, path+".1"))
	require.NoError(t, os.WriteFile(path, []byte(stamp(3)+" stdout F 3\n"), 0o600))
	expect("2\n3\n")
	select {
	case err := <-result:
		require.FailNow(t, "ended before the container", "%v", err)
	default:
	}
	later, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = later.WriteString(stamp(4) + " stdout F last\n")
	require.NoError(t, err)
	close(done)
	expect("last\n")
	_, err = read.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, <-result)
}

func TestFollowEndsWithItsReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := podlog.Copy(ctx, io.Discard, write(t, "log", lines), podlog.Options{Follow: true}, make(chan struct{}), clock.System{}, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestEnd(t *testing.T) {
	var log strings.Builder
	for i := range 100 {
		fmt.Fprintf(&log, "%s stderr F line %d\n", stamp(1), i)
	}
	path := write(t, "log", log.String())
	require.Equal(t, "line 98\nline 99", podlog.End(path, 2048, 2))
	require.Equal(t, "e 99", podlog.End(path, 4, 80))
	require.Equal(t, "line 99", podlog.End(path, 12, 80), "it begins at a line")
	require.Len(t, strings.Split(podlog.End(path, 1<<20, 80), "\n"), 80)
	require.Empty(t, podlog.End(path+".none", 10, 10))
}

// TestLogsEndWithWholeLetters: neither a limit in bytes nor the end of a log cuts a character in two.
func TestLogsEndWithWholeLetters(t *testing.T) {
	path := write(t, "log", stamp(1)+" stdout F éé\n"+stamp(1)+" stdout F é\n")
	for limit, want := range map[int64]string{1: "", 2: "é", 3: "é", 4: "éé", 5: "éé\n", 6: "éé\n", 7: "éé\né", 100: "éé\né\n"} {
		var out bytes.Buffer
		require.NoError(t, podlog.Copy(t.Context(), &out, path, podlog.Options{Tail: -1, Limit: limit}, nil, clock.System{}, nil))
		require.Equal(t, want, out.String(), "%d bytes", limit)
	}
	require.Equal(t, "éé\né", podlog.End(path, 7, 80))
	require.Equal(t, "é", podlog.End(path, 6, 80), "it begins at a line")
	require.Equal(t, "é", podlog.End(write(t, "line", stamp(1)+" stdout F éé\n"), 3, 80))
}
