package bundle_test

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/dataproxy/bundle"
)

// For any bytes: no panic, nothing beyond the limits, no path that leads out, no binary shown as text.
func FuzzRead(f *testing.F) {
	f.Add(tgz(f, entry{name: "a/b.py", body: code}), "", "a.b", "main")
	f.Add(tgz(f, entry{name: "../b.py", body: code}, entry{name: "l", kind: tar.TypeSymlink, body: "/etc"}), "l", "b", "f")
	f.Add([]byte{0x1f, 0x8b, 8}, "x", "", "")
	f.Add([]byte("ustar"), "x", "..", ".")
	f.Fuzz(func(t *testing.T, archive []byte, path, module, function string) {
		got, err := bundle.Read(t.Context(), bytes.NewReader(archive), bundle.Wanted{Path: path, Entry: bundle.Entry{Module: module, Function: function}}, limits)
		if err != nil {
			require.ErrorIs(t, err, bundle.ErrUnreadable)
			return
		}
		require.LessOrEqual(t, len(got.Files), limits.Files)
		require.LessOrEqual(t, int64(len(got.Text)), limits.Text)
		require.True(t, utf8.ValidString(got.Text))
		require.LessOrEqual(t, got.Line, strings.Count(got.Text, "\n")+1)
		known := got.Path == ""
		for _, file := range got.Files {
			require.True(t, utf8.ValidString(file.Path))
			require.False(t, strings.HasPrefix(file.Path, "/"))
			require.NotContains(t, strings.Split(file.Path, "/"), "..")
			known = known || file.Path == got.Path
		}
		require.True(t, known, "what is shown is listed")
	})
}
