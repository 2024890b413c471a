package blobaccess_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

var place = blobaccess.Place{Project: "a", Domain: "dev"}

// rules are those of each kind of store, which are all opened without a request.
func rules(t *testing.T, check func(t *testing.T, r *blobaccess.Rules, root, extra string)) {
	t.Helper()
	dir := t.TempDir()
	for name, config := range map[string]blobstore.Config{
		"directory": {URL: "file://" + dir + "/store", Timeout: time.Minute, ExtraPrefixes: []string{dir + "/extra"}},
		"bucket": {URL: "s3://bucket/data", Timeout: time.Minute, ExtraPrefixes: []string{"s3://extra"}, S3: blobstore.S3Config{
			Endpoint: "http://127.0.0.1:1", Region: "r", AccessKeyID: "k", SecretAccessKey: "s",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := blobstore.Open(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(func() { _ = store.Close() })
			extra := "s3://extra"
			if name == "directory" {
				extra = dir + "/extra"
			}
			check(t, blobaccess.New(store), store.Root(), extra)
		})
	}
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err), "%v", err)
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}

func TestDataOfOtherProjectsCannotBeNamed(t *testing.T) {
	rules(t, func(t *testing.T, r *blobaccess.Rules, root, extra string) {
		for _, uri := range []string{
			root + "/a/dev/run.x/inputs/inputs.pb", root + "/a/dev/run/a0/1/outputs.pb", root + "/uploads/a/dev/x/y",
		} {
			require.NoError(t, r.Data("uri", uri, place), uri)
		}
		for _, uri := range []string{
			root + "/b/dev/run/a0/1/outputs.pb", root + "/a/prod/run/a0/1/outputs.pb", root + "/uploads/b/dev/x/y", root + "/uploads/a/prod/x",
			root + "/a/dev", root + "/a/development/x", root + "/ab/dev/x", root + "/x/a/dev/y", extra + "/a/dev/y",
			root + "/b/dev/run.x/a0/1/a/dev/x",
		} {
			refused(t, r.Data("the.field", uri, place), "the.field", uri, root+"/uploads/a/dev/", root+"/a/dev/")
		}
		for _, uri := range []string{root + "/a/dev/../../b/dev/x", root + "/a/dev/./x", root + "/a/dev//x", "s3://elsewhere/a/dev/x", "/etc/passwd", "relative"} {
			refused(t, r.Data("uri", uri, place), "outside the storage")
		}
	})
}

func TestWhatARunWasHandedCanBeNamed(t *testing.T) {
	rules(t, func(t *testing.T, r *blobaccess.Rules, root, extra string) {
		handed := extra + "/team/b/dev/run.x/inputs/inputs.pb"
		require.NoError(t, r.Data("uri", handed, place, "", handed))
		refused(t, r.Data("uri", handed+"x", place, handed))
		refused(t, r.Data("uri", handed+"/x", place, handed))
		base := blobaccess.Siblings(extra + "/team/a/dev/run.x/")
		require.Equal(t, extra+"/team/a/dev/", base)
		require.NoError(t, r.Data("uri", extra+"/team/a/dev/other.y/a0/1/outputs.pb", place, base))
		refused(t, r.Data("uri", extra+"/team/a/devel/x", place, base))
		refused(t, r.Data("uri", root+"/b/dev/x", place, base, ""))
	})
}

func TestTheFormOfAURIChangesNothing(t *testing.T) {
	dir := t.TempDir()
	store, err := blobstore.Open(t.Context(), blobstore.Config{URL: dir, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	r := blobaccess.New(store)
	require.NoError(t, r.Data("uri", "file://"+dir+"/a/dev/x", place))
	refused(t, r.Data("uri", "file://"+dir+"/b/dev/x", place))
	require.NoError(t, r.Data("uri", dir+"/team/a/dev/x", place, "file://"+dir+"/team/a/dev/"))
	refused(t, r.Base("base", "file://"+dir+"/uploads", place))
	refused(t, r.Code("code", "file://"+dir+"/uploads/b/dev/x", place))
}

func TestCodeOfOtherProjectsCannotBeNamed(t *testing.T) {
	rules(t, func(t *testing.T, r *blobaccess.Rules, root, _ string) {
		require.NoError(t, r.Code("task", root+"/uploads/a/dev/x/fast.tgz", place))
		require.NoError(t, r.Code("task", root+"/uploads/a/prod/x/fast.tgz", place), "code is promoted")
		require.NoError(t, r.Code("task", "s3://elsewhere/fast.tgz", place), "never read by the server")
		foreign := root + "/uploads/b/dev/x/fast.tgz"
		refused(t, r.Code("task", foreign, place), "task", foreign, "project a")
		require.NoError(t, r.Code("task", foreign, place, foreign))
		refused(t, r.Code("task", root+"/b/dev/run/secret", place))
	})
}

func TestBaseDirectories(t *testing.T) {
	rules(t, func(t *testing.T, r *blobaccess.Rules, root, extra string) {
		for _, base := range []string{
			root, root + "/", root + "/_team", root + "/_team/", root + "/a", root + "/a/dev/x", root + "/_uploadsx",
			root + "/_team/a/dev/run.aaaaaaaaaaaaaaaa/a0", extra + "/uploads", extra, extra + "/later",
		} {
			require.NoError(t, r.Base("base", base, place), base)
			require.NoError(t, r.RawBase("base", base, place), base)
		}
		for base, words := range map[string]string{
			root + "/uploads": "among the uploads", root + "/uploads/": "among the uploads", root + "/uploads/a/dev": "among the uploads",
			root + "/b": "project b has its data", root + "/b/dev/run.x": "project b has its data",
			root + "/later": "project later has its data, or will have them", root + "/later/": "will have them", root + "/later/x/y": "will have them",
			root + "/ab": "will have them", root + "/uploadsx": "will have them",
			root + "/_team/b/dev/run.aaaaaaaaaaaaaaaa":    "run of project b",
			extra + "/team/b/dev/run.aaaaaaaaaaaaaaaa/a0": "run of project b",
			root + "/../x": "outside", root + "//b": "outside", root + "/./b": "outside",
		} {
			refused(t, r.Base("base", base, place), "base", base, words)
		}
		for _, shared := range []string{root + "/a", root + "/later"} { // settings of all projects
			refused(t, r.Base("base", shared, blobaccess.Place{Domain: "dev"}), "will have them")
		}
		require.NoError(t, r.Base("base", root+"/_team", blobaccess.Place{}))

		refused(t, r.Base("base", "s3://elsewhere", place), "outside")
		require.NoError(t, r.RawBase("base", "s3://elsewhere", place), "only tasks write there")
		for _, base := range []string{root + "/b", root + "/later", root + "/./b", root + "/x/../b", root + "//b", "s3://elsewhere/../b"} {
			refused(t, r.RawBase("base", base, place), base)
		}
	})
}
