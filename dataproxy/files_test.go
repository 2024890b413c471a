package dataproxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func pointer(name, uri string) *task.NamedLiteral {
	return &task.NamedLiteral{Name: name, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
		Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: uri}},
	}}}}
}

func listOf(name string, items ...*task.NamedLiteral) *task.NamedLiteral {
	collection := &core.LiteralCollection{}
	for _, item := range items {
		collection.Literals = append(collection.Literals, item.GetValue())
	}
	return &task.NamedLiteral{Name: name, Value: &core.Literal{Value: &core.Literal_Collection{Collection: collection}}}
}

// returned registers an action that has ended with these outputs, and returns the directory of its run.
func (f *fixture) returned(action string, outputs ...*task.NamedLiteral) (base string) {
	f.t.Helper()
	base = f.store.Root() + "/flytesnacks/development/r.mark/"
	dir := base + action + "/1"
	f.write(f.action(action, typeTask, succeeded, dir), &task.Inputs{})
	f.write(dir+"/outputs.pb", &task.Outputs{Literals: outputs})
	f.state.storage[action] = &enginev1.GetActionStorageResponse{RunOutputBase: base, Attempts: 1}
	return base
}

func (f *fixture) put(uri, body string) {
	f.t.Helper()
	require.NoError(f.t, f.store.WriteAll(f.t.Context(), uri, []byte(body)))
}

func (f *fixture) fileLink(action, uri, path string) (*insightv1.CreateFileLinkResponse, error) {
	return f.files.CreateFileLink(f.t.Context(), &insightv1.CreateFileLinkRequest{ActionId: id(action), Uri: uri, Path: path})
}

func (f *fixture) listFiles(action string) []*insightv1.StoredValue {
	f.t.Helper()
	response, err := f.files.ListFiles(f.t.Context(), &insightv1.ListFilesRequest{ActionId: id(action)})
	require.NoError(f.t, err)
	return response.GetValues()
}

func TestAFileOfTheOutputsIsDownloaded(t *testing.T) {
	f := newFixture(t)
	uri := f.store.Root() + "/flytesnacks/development/r.mark/a0/1/model.txt"
	f.put(uri, "weights")
	f.returned("a0", listOf("o0", pointer("", uri), pointer("", uri)))

	listed := f.listFiles("a0")
	require.Len(t, listed, 1, "each URI once")
	require.Equal(t, uri, listed[0].GetUri())
	require.Len(t, listed[0].GetFiles(), 1)
	require.Empty(t, listed[0].GetFiles()[0].GetPath())
	require.EqualValues(t, len("weights"), listed[0].GetFiles()[0].GetSize())

	link, err := f.fileLink("a0", uri, "")
	require.NoError(t, err)
	status, body := f.send(http.MethodGet, link.GetUrl(), nil, nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "weights", body)
	require.NotContains(t, link.GetUrl(), "show=", "tasks write HTML, too: a browser may only save it")

	soon, err := f.files.CreateFileLink(t.Context(), &insightv1.CreateFileLinkRequest{
		ActionId: id("a0"), Uri: uri, ExpiresIn: durationpb.New(time.Minute),
	})
	require.NoError(t, err)
	f.clock.Step(2 * time.Minute)
	status, _ = f.send(http.MethodGet, soon.GetUrl(), nil, nil)
	require.Equal(t, http.StatusForbidden, status, "expired")
}

func TestFilesOfADirectory(t *testing.T) {
	f := newFixture(t)
	dir := f.store.Root() + "/flytesnacks/development/r.mark/a0/1/parts"
	f.put(dir+"/a.csv", "1")
	f.put(dir+"/deep/b.csv", "22")
	f.put(dir+"-next/secret", "3")
	f.returned("a0", pointer("o0", dir+"/"))

	listed := f.listFiles("a0")
	require.Len(t, listed, 1)
	require.Empty(t, listed[0].GetMissing())
	require.Equal(t, "a.csv", listed[0].GetFiles()[0].GetPath())
	require.Equal(t, "deep/b.csv", listed[0].GetFiles()[1].GetPath())
	require.Len(t, listed[0].GetFiles(), 2)

	link, err := f.fileLink("a0", dir+"/", "deep/b.csv")
	require.NoError(t, err)
	_, body := f.send(http.MethodGet, link.GetUrl(), nil, nil)
	require.Equal(t, "22", body)

	for _, path := range []string{"../parts-next/secret", "/etc/passwd", "deep/../a.csv", "deep//b.csv", `deep\b.csv`} {
		_, err = f.fileLink("a0", dir+"/", path)
		refused(t, err, "path")
	}
	_, err = f.fileLink("a0", dir+"/", "none.csv")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	require.ErrorContains(t, err, "none.csv")
	_, err = f.fileLink("a0", dir+"/", "")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "a directory is no file")

	for i := range 250 {
		f.put(fmt.Sprintf("%s/many/%d", dir, i), "")
	}
	listed = f.listFiles("a0")
	require.Len(t, listed[0].GetFiles(), 200)
	require.True(t, listed[0].GetPartial())
}

// A task may write any URI into its outputs, and the server can read all projects.
func TestFilesOutsideOfThePlaceOfTheActionAreRefused(t *testing.T) {
	f := newFixture(t)
	root := f.store.Root()
	foreign := []string{
		root + "/other/development/r.mark/a0/1/secret",
		root + "/flytesnacks/production/r.mark/a0/1/secret",
		root + "/flytesnacks/development/../../other/development/r.mark/a0/1/secret",
		root + "/uploads/other/development/x/secret",
		root + "/flytesnacks/developments/secret",
		"s3://elsewhere/secret", "/etc/passwd", "file:///etc/passwd",
	}
	for _, uri := range foreign {
		if strings.HasPrefix(uri, root) && !strings.Contains(uri, "..") {
			f.put(uri, "secret")
		}
	}
	var outputs []*task.NamedLiteral
	for _, uri := range foreign {
		outputs = append(outputs, pointer("o", uri))
	}
	base := f.returned("a0", outputs...)
	for i, value := range f.listFiles("a0") {
		require.Equal(t, foreign[i], value.GetUri())
		require.Empty(t, value.GetFiles(), value.GetUri())
		require.NotEmpty(t, value.GetMissing(), value.GetUri())
	}
	for _, uri := range foreign {
		_, err := f.fileLink("a0", uri, "")
		refused(t, err, "uri")
	}

	// Also in its place, only what its data name.
	f.put(base+"a1/1/unnamed", "x")
	_, err := f.fileLink("a0", base+"a1/1/unnamed", "")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	_, err = f.fileLink("none", base+"a1/1/unnamed", "")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

func TestFilesInDirectoriesOfTheRunOutsideOfItsProject(t *testing.T) {
	f := newFixture(t)
	f.state.raw = f.store.Root() + "/_raw"
	raw := f.state.raw + "/flytesnacks/development/r/a0/1/model.txt"
	foreign := f.state.raw + "/other/development/r/a0/1/model.txt"
	own := f.store.Root() + "/_team/flytesnacks/development/r.mark/a0/1/file.txt"
	gone := f.store.Root() + "/flytesnacks/development/gone.txt"
	for _, uri := range []string{raw, foreign, own} {
		f.put(uri, "x")
	}
	f.returned("a0", pointer("o0", raw), pointer("o1", own), pointer("o2", foreign), pointer("o3", gone))
	f.state.storage["a0"] = &enginev1.GetActionStorageResponse{RunOutputBase: f.store.Root() + "/_team/flytesnacks/development/r.mark/"}

	listed := f.listFiles("a0")
	require.Len(t, listed[0].GetFiles(), 1)
	require.Len(t, listed[1].GetFiles(), 1)
	require.Contains(t, listed[2].GetMissing(), "does not belong to project flytesnacks")
	require.Contains(t, listed[3].GetMissing(), "no longer stored")
	for _, uri := range []string{raw, own} {
		_, err := f.fileLink("a0", uri, "")
		require.NoError(t, err)
	}
	_, err := f.fileLink("a0", foreign, "")
	refused(t, err, "uri")
	_, err = f.fileLink("a0", gone, "")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

func TestFilesOfATrackedRun(t *testing.T) {
	f := newFixture(t)
	base := f.track("local-1", "a0", true)
	uri := f.store.Root() + "/uploads/flytesnacks/development/x/model.txt"
	f.put(uri, "weights")
	f.write(base+"a0/1/outputs.pb", &task.Outputs{Literals: []*task.NamedLiteral{pointer("o0", uri)}})
	response, err := f.files.ListFiles(t.Context(), &insightv1.ListFilesRequest{
		ActionId: trackedID("local-1", "a0"), RunSource: workflow.RunSource_RUN_SOURCE_TRACKED,
	})
	require.NoError(t, err)
	require.EqualValues(t, len("weights"), response.GetValues()[0].GetFiles()[0].GetSize())
	_, err = f.files.CreateFileLink(t.Context(), &insightv1.CreateFileLinkRequest{
		ActionId: trackedID("local-1", "a0"), RunSource: workflow.RunSource_RUN_SOURCE_TRACKED, Uri: uri,
	})
	require.NoError(t, err)
}

func (f *fixture) readFile(action, uri, path string, offset int64, length int32) (*insightv1.ReadFileResponse, error) {
	return f.files.ReadFile(f.t.Context(), &insightv1.ReadFileRequest{ActionId: id(action), Uri: uri, Path: path, Offset: offset, Length: length})
}

func TestPartsOfFilesAreRead(t *testing.T) {
	f := newFixture(t)
	f.readsParts()
}

// readsParts checks that previews of files get the parts that they ask for, and nothing that no download would get.
func (f *fixture) readsParts() {
	t := f.t
	base := f.store.Root() + "/flytesnacks/development/r.mark/parts/1"
	f.put(base+"/model.txt", "0123456789")
	f.put(base+"/dir/deep/b.csv", "a,b")
	f.put(base+"/secret", "not named")
	theirs := f.store.Root() + "/flytesnacks/production/r.mark/a0/1/model.txt"
	f.put(theirs, "of another domain")
	f.returned("parts", pointer("o0", base+"/model.txt"), pointer("o1", base+"/dir"), pointer("o2", theirs))

	for _, part := range []struct {
		offset int64
		length int32
		want   string
	}{{0, 4, "0123"}, {8, 100, "89"}, {10, 1, ""}, {1 << 50, 4 << 20, ""}} {
		response, err := f.readFile("parts", base+"/model.txt", "", part.offset, part.length)
		require.NoError(t, err)
		require.Equal(t, part.want, string(response.GetData()))
		require.EqualValues(t, 10, response.GetSize())
	}
	response, err := f.readFile("parts", base+"/dir", "deep/b.csv", 2, 1)
	require.NoError(t, err)
	require.Equal(t, "b", string(response.GetData()))

	for _, refused := range []struct {
		uri, path string
		length    int32
		offset    int64
		code      connect.Code
		text      string
	}{
		{base + "/secret", "", 1, 0, connect.CodeNotFound, "do not point to"},
		{theirs, "", 1, 0, connect.CodeInvalidArgument, "does not belong to project"},
		{base + "/dir", "../secret", 1, 0, connect.CodeInvalidArgument, "path"},
		{base + "/dir", "", 1, 0, connect.CodeNotFound, ""},
		{base + "/dir", "deep/c.csv", 1, 0, connect.CodeNotFound, ""},
		{base + "/model.txt", "", 0, 0, connect.CodeInvalidArgument, "length"},
		{base + "/model.txt", "", 4<<20 + 1, 0, connect.CodeInvalidArgument, "length"},
		{base + "/model.txt", "", 1, -1, connect.CodeInvalidArgument, "offset"},
	} {
		_, err := f.readFile("parts", refused.uri, refused.path, refused.offset, refused.length)
		require.Equal(t, refused.code, connect.CodeOf(err), "%s %s: %v", refused.uri, refused.path, err)
		require.ErrorContains(t, err, refused.text)
	}
}
