package blobpath_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

func TestWriterOf(t *testing.T) {
	dir := blobpath.RunDir("r1", []byte("request"))
	for name, test := range map[string]struct{ uri, want string }{
		"a file":                        {blobpath.AttemptDir(blobpath.RunBase("s3://bucket/root", "p", "d", dir), "a0", 1) + "/x/model.bin", "p/d/r1/a0"},
		"a directory":                   {blobpath.AttemptDir(blobpath.RunBase("/data", "p", "d", dir), "e7", 12) + "/model/", "p/d/r1/e7"},
		"of another place":              {blobpath.AttemptDir(blobpath.RunBase("gs://b", "other", "staging", dir), "a0", 2) + "/x", "other/staging/r1/a0"},
		"at a raw data prefix":          {blobpath.AttemptDir(blobpath.RunBase("s3://raw/1/2/3", "p", "d", "r1"), "a0", 1) + "/x", "p/d/r1/a0"},
		"without a mark, elsewhere":     {"s3://bucket/q/d/r1/a0/1/x", ""},
		"the inputs of a run":           {blobpath.RootInputs(blobpath.RunBase("s3://bucket", "p", "d", dir)) + "/inputs.pb", ""},
		"the directory of an attempt":   {blobpath.AttemptDir(blobpath.RunBase("s3://bucket", "p", "d", dir), "a0", 1), ""},
		"an attempt that cannot be":     {blobpath.RunBase("s3://bucket", "p", "d", dir) + "a0/01/x", ""},
		"an attempt without a number":   {blobpath.RunBase("s3://bucket", "p", "d", dir) + "a0/+1/x", ""},
		"the attempt before the first":  {blobpath.RunBase("s3://bucket", "p", "d", dir) + "a0/0/x", ""},
		"an upload":                     {blobpath.Uploads("s3://bucket", "p", "d") + "/abcdef/x/y/z", ""},
		"a directory without a project": {dir + "/a0/1/x", ""},
		"no URI":                        {"good day", ""},
		"nothing":                       {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			writer, found := blobpath.WriterOf(test.uri, "p", "d")
			require.Equal(t, test.want != "", found)
			if found {
				require.Equal(t, test.want, writer.String())
			} else {
				require.Equal(t, ident.Action{}, writer)
			}
		})
	}
}
