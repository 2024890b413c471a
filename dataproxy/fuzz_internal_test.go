package dataproxy

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// FuzzUploadPath checks that every accepted upload location is inside the uploads of the project, and that no two names
// share a location.
func FuzzUploadPath(f *testing.F) {
	for _, names := range [][2]string{{"root", "file"}, {"..", "x"}, {"a/../..", "x"}, {"/etc", "passwd"}, {"a", "b\x00"}, {"a//b", "c"}, {"a", "."}, {"é", "ü"}, {"a\\..", "b"}} {
		f.Add(names[0], names[1], []byte(nil))
	}
	f.Add("", "", []byte("0123456789abcdef"))
	f.Fuzz(func(t *testing.T, root, name string, digest []byte) {
		got, err := uploadPath(&dataproxy.CreateUploadLocationRequest{FilenameRoot: root, Filename: name, ContentMd5: digest})
		if err != nil {
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
			return
		}
		require.Equal(t, path.Clean("/"+got), "/"+got, "the path is clean")
		require.False(t, strings.HasPrefix(got, "/"))
		if root != "" && name != "" {
			require.Equal(t, root+"/"+name, got)
		}
	})
}

// FuzzSegment tries names of projects and domains.
func FuzzSegment(f *testing.F) {
	for _, name := range []string{"flytesnacks", "..", ".", "a/b", "", "a..b", "-a", "a\n"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkSegment("project", name) != nil {
			return
		}
		require.Equal(t, path.Join("/x", name), "/x/"+name)
	})
}
