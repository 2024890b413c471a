package dataproxy_test

import (
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	config "github.com/flyte-binary/flyte-binary/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/values/cachekey"
)

func upload(body []byte) *dataproxy.CreateUploadLocationRequest {
	digest := md5.Sum(body)
	return &dataproxy.CreateUploadLocationRequest{
		Project: run.Project, Domain: run.Domain, Filename: "fast.tar.gz", ContentMd5: digest[:],
		ExpiresIn: durationpb.New(time.Minute), AddContentMd5Metadata: true,
	}
}

func TestUploadAsTheSDKDoes(t *testing.T) {
	f := newFixture(t)
	body := []byte("a code bundle")
	request := upload(body)
	location, err := f.data.CreateUploadLocation(t.Context(), request)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(location.GetNativeUrl(), f.store.Root()+"/uploads/flytesnacks/development/"))
	require.True(t, strings.HasSuffix(location.GetNativeUrl(), "/fast.tar.gz"))
	require.Equal(t, f.clock.Now().Add(time.Minute).Unix(), location.GetExpiresAt().AsTime().Unix())

	headers := location.GetHeaders()
	headers["Content-MD5"] = base64.StdEncoding.EncodeToString(request.GetContentMd5())
	status, text := f.send(http.MethodPut, location.GetSignedUrl(), body, headers)
	require.Equal(t, http.StatusOK, status, text)
	got, err := f.store.ReadAll(t.Context(), location.GetNativeUrl(), 0)
	require.NoError(t, err)
	require.Equal(t, body, got)

	again, err := f.data.CreateUploadLocation(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, location.GetNativeUrl(), again.GetNativeUrl())
	status, _ = f.send(http.MethodPut, again.GetSignedUrl(), body, headers)
	require.Equal(t, http.StatusOK, status, "the same content may be uploaded again")
}

// What was uploaded stays what it was: names made from a digest are for that digest, others for what came first.
func TestUploadsStayWhatTheyWere(t *testing.T) {
	t.Run("directory", func(t *testing.T) { uploadsStay(t, newFixture(t)) })
	t.Run("s3", func(t *testing.T) {
		fixed := newFixture(t)
		f := &fixture{t: t, state: fixed.state, pods: fixed.pods, clock: fixed.clock}
		f.openS3()
		uploadsStay(t, f.serve())
	})
}

func uploadsStay(t *testing.T, f *fixture) {
	put := func(location *dataproxy.CreateUploadLocationResponse, r *dataproxy.CreateUploadLocationRequest, body string) int {
		headers := location.GetHeaders()
		headers["Content-MD5"] = base64.StdEncoding.EncodeToString(r.GetContentMd5())
		status, _ := f.send(http.MethodPut, location.GetSignedUrl(), []byte(body), headers)
		return status
	}
	content := func(uri string) string {
		body, err := f.store.ReadAll(t.Context(), uri, 0)
		require.NoError(t, err)
		return string(body)
	}
	good := upload([]byte("good code"))
	bundle, err := f.data.CreateUploadLocation(t.Context(), good)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, put(bundle, good, "good code"))
	require.Equal(t, http.StatusOK, put(bundle, good, "good code"), "the answer was lost")

	parts := strings.Split(bundle.GetNativeUrl(), "/")
	root := parts[len(parts)-2]
	for _, name := range []string{root, strings.ToUpper(root), root + "/sub"} {
		evil := upload([]byte("evil code"))
		evil.FilenameRoot = name
		_, err = f.data.CreateUploadLocation(t.Context(), evil)
		refused(t, err, "filename_root")
	}
	again := upload([]byte("good code"))
	again.FilenameRoot = root
	location, err := f.data.CreateUploadLocation(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, bundle.GetNativeUrl(), location.GetNativeUrl())
	require.Equal(t, http.StatusOK, put(location, again, "good code"))
	require.Equal(t, "good code", content(bundle.GetNativeUrl()))

	for _, name := range []string{"offloaded-inputs", "offloaded-inputs/digest", "Offloaded-Inputs/x"} {
		evil := upload([]byte("evil inputs"))
		evil.FilenameRoot = name
		_, err = f.data.CreateUploadLocation(t.Context(), evil)
		refused(t, err, "filename_root")
	}

	// A folder, as the SDK uploads it: its files share a root that the client made up.
	file, other := upload([]byte("one")), upload([]byte("two"))
	file.FilenameRoot, other.FilenameRoot = "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"
	location, err = f.data.CreateUploadLocation(t.Context(), file)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, put(location, file, "one"))
	require.Equal(t, http.StatusOK, put(location, file, "one"), "the answer was lost")
	second, err := f.data.CreateUploadLocation(t.Context(), other)
	if err == nil {
		require.Equal(t, http.StatusPreconditionFailed, put(second, other, "two"))
	} else {
		require.Equal(t, connect.CodeAlreadyExists, connect.CodeOf(err), "%v", err)
	}
	location, err = f.data.CreateUploadLocation(t.Context(), file)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, put(location, file, "one"), "the same content again")
	require.Equal(t, "one", content(location.GetNativeUrl()))
}

func TestUploadKeepsTheRootOfTheClient(t *testing.T) {
	f := newFixture(t)
	request := upload([]byte("x"))
	request.FilenameRoot, request.Filename = "tracked-runs/r1/a0/1", "sub/report.html"
	location, err := f.data.CreateUploadLocation(t.Context(), request)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(location.GetNativeUrl(), "/tracked-runs/r1/a0/1/sub/report.html"), location.GetNativeUrl())

	request.FilenameRoot, request.Filename = "", ""
	location, err = f.data.CreateUploadLocation(t.Context(), request)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(location.GetNativeUrl(), "/9dd4e461268c8034f5c8564e155c67a6"), location.GetNativeUrl())
}

// All queues share one object store, so the queue of an upload changes nothing, whether there is one of that name or not.
func TestTheQueueOfAnUploadChangesNothing(t *testing.T) {
	f := newFixture(t)
	request, inputs := upload([]byte("x")), inputsRequest(&task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1")}})
	location, err := f.data.CreateUploadLocation(t.Context(), request)
	require.NoError(t, err)
	stored, err := f.data.UploadInputs(t.Context(), inputs)
	require.NoError(t, err)
	for _, queue := range []string{"default", "gpu", "no queue of this name"} {
		request.Queue, inputs.Queue = queue, queue
		other, err := f.data.CreateUploadLocation(t.Context(), request)
		require.NoError(t, err, queue)
		require.Equal(t, location.GetNativeUrl(), other.GetNativeUrl(), queue)
		again, err := f.data.UploadInputs(t.Context(), inputs)
		require.NoError(t, err, queue)
		require.True(t, proto.Equal(stored, again), queue)
	}
}

func TestUploadRefusesWhatWasNotSigned(t *testing.T) {
	f := newFixture(t)
	body := []byte("a code bundle")
	request := upload(body)
	request.ContentLength = int64(len(body))
	location, err := f.data.CreateUploadLocation(t.Context(), request)
	require.NoError(t, err)
	nothingStored := func() {
		t.Helper()
		err := filepath.WalkDir(f.store.Root(), func(path string, entry os.DirEntry, err error) error {
			require.False(t, err == nil && !entry.IsDir(), "left behind: %s", path)
			return err
		})
		require.NoError(t, err)
	}
	headers := location.GetHeaders()
	headers["Content-MD5"] = base64.StdEncoding.EncodeToString(request.GetContentMd5())
	status, _ := f.send(http.MethodPut, location.GetSignedUrl(), []byte("something els"), headers)
	require.Equal(t, http.StatusBadRequest, status, "wrong content")
	nothingStored()
	status, _ = f.send(http.MethodPut, location.GetSignedUrl(), append(body, 'x'), headers)
	require.GreaterOrEqual(t, status, 400, "too long")
	nothingStored()
	status, _ = f.send(http.MethodPut, strings.Replace(location.GetSignedUrl(), "fast.tar.gz", "other.tar.gz", 1), body, headers)
	require.Equal(t, http.StatusForbidden, status, "another object")
	status, _ = f.send(http.MethodGet, location.GetSignedUrl(), nil, nil)
	require.Equal(t, http.StatusForbidden, status, "another verb")
	f.clock.Step(time.Minute)
	status, _ = f.send(http.MethodPut, location.GetSignedUrl(), body, headers)
	require.Equal(t, http.StatusForbidden, status, "too late")
	nothingStored()
}

func TestUploadLocationRefusals(t *testing.T) {
	f := newFixture(t)
	for name, test := range map[string]struct {
		spoil func(*dataproxy.CreateUploadLocationRequest)
		field string
	}{
		"no project":            {func(r *dataproxy.CreateUploadLocationRequest) { r.Project = "" }, "project"},
		"escaping project":      {func(r *dataproxy.CreateUploadLocationRequest) { r.Project = ".." }, "project"},
		"project with slash":    {func(r *dataproxy.CreateUploadLocationRequest) { r.Project = "a/b" }, "project"},
		"no domain":             {func(r *dataproxy.CreateUploadLocationRequest) { r.Domain = "" }, "domain"},
		"escaping domain":       {func(r *dataproxy.CreateUploadLocationRequest) { r.Domain = "../../x" }, "domain"},
		"escaping filename":     {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = "../x" }, "filename"},
		"escaping deep name":    {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = "a/../../x" }, "filename"},
		"absolute filename":     {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = "/etc/passwd" }, "filename"},
		"filename of dots":      {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = "." }, "filename"},
		"filename, empty part":  {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = "a//b" }, "filename"},
		"filename, trailing":    {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = "a/" }, "filename"},
		"filename, backslash":   {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = `..\x` }, "filename"},
		"filename, newline":     {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = "a\nb" }, "filename"},
		"filename, zero":        {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = "a\x00b" }, "filename"},
		"long filename":         {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = strings.Repeat("x", 701) }, "filename"},
		"escaping root":         {func(r *dataproxy.CreateUploadLocationRequest) { r.FilenameRoot = "../.." }, "filename_root"},
		"absolute root":         {func(r *dataproxy.CreateUploadLocationRequest) { r.FilenameRoot = "/x" }, "filename_root"},
		"no digest, no root":    {func(r *dataproxy.CreateUploadLocationRequest) { r.ContentMd5 = nil }, "content_md5"},
		"short digest":          {func(r *dataproxy.CreateUploadLocationRequest) { r.ContentMd5 = []byte("x") }, "content_md5"},
		"negative expiry":       {func(r *dataproxy.CreateUploadLocationRequest) { r.ExpiresIn = durationpb.New(-1) }, "expires_in"},
		"bad expiry":            {func(r *dataproxy.CreateUploadLocationRequest) { r.ExpiresIn.Nanos = -5 }, "expires_in"},
		"negative content":      {func(r *dataproxy.CreateUploadLocationRequest) { r.ContentLength = -1 }, "content_length"},
		"content is too large":  {func(r *dataproxy.CreateUploadLocationRequest) { r.ContentLength = 6 << 30 }, "content_length"},
		"the store's own files": {func(r *dataproxy.CreateUploadLocationRequest) { r.Filename = ".flyte-tmp/x" }, "filename"},
	} {
		t.Run(name, func(t *testing.T) {
			request := upload([]byte("x"))
			test.spoil(request)
			_, err := f.data.CreateUploadLocation(t.Context(), request)
			refused(t, err, test.field)
		})
	}
	for _, spoil := range []func(*dataproxy.CreateUploadLocationRequest){
		func(r *dataproxy.CreateUploadLocationRequest) { r.Project = "unknown" },
		func(r *dataproxy.CreateUploadLocationRequest) { r.Domain = "unknown" },
	} {
		request := upload([]byte("x"))
		spoil(request)
		_, err := f.data.CreateUploadLocation(t.Context(), request)
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	}
}

func TestUploadExpiryIsCapped(t *testing.T) {
	f := newFixture(t)
	for _, wanted := range []*durationpb.Duration{nil, durationpb.New(0), durationpb.New(24 * time.Hour)} {
		request := upload([]byte("x"))
		request.ExpiresIn = wanted
		location, err := f.data.CreateUploadLocation(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, f.clock.Now().Add(time.Hour).Unix(), location.GetExpiresAt().AsTime().Unix())
	}
}

func inputsRequest(inputs *task.Inputs) *dataproxy.UploadInputsRequest {
	return &dataproxy.UploadInputsRequest{
		Id:     &dataproxy.UploadInputsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: run.Project, Domain: run.Domain}},
		Task:   &dataproxy.UploadInputsRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{}}},
		Inputs: inputs,
	}
}

func TestUploadInputs(t *testing.T) {
	f := newFixture(t)
	inputs := &task.Inputs{
		Literals: []*task.NamedLiteral{literal("x", "1"), literal("y", "2")},
		Context:  []*core.KeyValuePair{{Key: "k", Value: "v"}},
	}
	response, err := f.data.UploadInputs(t.Context(), inputsRequest(inputs))
	require.NoError(t, err)
	uri := response.GetOffloadedInputData().GetUri()
	body, err := f.store.ReadAll(t.Context(), uri, 0)
	require.NoError(t, err)
	var stored task.Inputs
	require.NoError(t, proto.Unmarshal(body, &stored))
	require.True(t, proto.Equal(inputs, &stored), "the context travels with the inputs")

	hash := response.GetOffloadedInputData().GetInputsHash()
	require.Equal(t, cachekey.InputsHash(inputs, nil), hash, "the SDK's hash")
	sum, err := base64.StdEncoding.DecodeString(hash)
	require.NoError(t, err)
	require.Len(t, sum, 32)
}

// Story R24: inputs that differed only in what the cache ignores overwrote each other.
func TestInputsThatDifferNeverShareAPlace(t *testing.T) {
	f := newFixture(t)
	f.state.tasks["t:v1"] = &task.TaskSpec{TaskTemplate: &core.TaskTemplate{Metadata: &core.TaskMetadata{CacheIgnoreInputVars: []string{"y"}}}}
	f.state.triggers["nightly"] = &trigger.TriggerSpec{TaskVersion: "v1"}
	one := inputsRequest(&task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1"), literal("y", "2")}})
	other := inputsRequest(&task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1"), literal("y", "3")}})
	one.Task = &dataproxy.UploadInputsRequest_TaskId{TaskId: &task.TaskIdentifier{Project: run.Project, Domain: run.Domain, Name: "t", Version: "v1"}}
	other.Task = &dataproxy.UploadInputsRequest_TriggerName{TriggerName: &common.TriggerName{
		Project: run.Project, Domain: run.Domain, Name: "nightly", TaskName: "t",
	}}
	other.Id = &dataproxy.UploadInputsRequest_RunId{RunId: run.Proto()}
	first, err := f.data.UploadInputs(t.Context(), one)
	require.NoError(t, err)
	second, err := f.data.UploadInputs(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, first.GetOffloadedInputData().GetInputsHash(), second.GetOffloadedInputData().GetInputsHash(), "y is ignored by the cache")
	require.NotEqual(t, first.GetOffloadedInputData().GetUri(), second.GetOffloadedInputData().GetUri())

	withContext := proto.CloneOf(one)
	withContext.Inputs.Context = []*core.KeyValuePair{{Key: "k", Value: "v"}}
	third, err := f.data.UploadInputs(t.Context(), withContext)
	require.NoError(t, err)
	require.Equal(t, first.GetOffloadedInputData().GetInputsHash(), third.GetOffloadedInputData().GetInputsHash())
	require.NotEqual(t, first.GetOffloadedInputData().GetUri(), third.GetOffloadedInputData().GetUri())

	again, err := f.data.UploadInputs(t.Context(), one)
	require.NoError(t, err)
	require.True(t, proto.Equal(first, again))
}

func TestUploadInputsBaseDir(t *testing.T) {
	f := newFixture(t)
	request := inputsRequest(nil)
	request.BaseDir = f.store.Root() + "/_my/base/"
	response, err := f.data.UploadInputs(t.Context(), request)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(response.GetOffloadedInputData().GetUri(), f.store.Root()+"/_my/base/flytesnacks/development/"))
	body, err := f.store.ReadAll(t.Context(), response.GetOffloadedInputData().GetUri(), 0)
	require.NoError(t, err)
	require.Empty(t, body)

	for _, base := range []string{
		f.store.Root() + "/../x", "/etc", "s3://other/bucket", "relative", f.store.Root() + "/./x", f.store.Root() + "//x",
		f.store.Root() + "/uploads", f.store.Root() + "/uploads/x", f.store.Root() + "/other", f.store.Root() + "/other/development",
	} {
		request.BaseDir = base
		_, err = f.data.UploadInputs(t.Context(), request)
		refused(t, err, "base_dir")
	}
}

func TestUploadInputsRefusals(t *testing.T) {
	f := newFixture(t, func(c *config.Config) { c.MaxInlineBytes = 100 })
	for name, test := range map[string]struct {
		spoil func(*dataproxy.UploadInputsRequest)
		field string
	}{
		"nothing":       {func(r *dataproxy.UploadInputsRequest) { proto.Reset(r) }, "id"},
		"no id":         {func(r *dataproxy.UploadInputsRequest) { r.Id = nil }, "id"},
		"empty project": {func(r *dataproxy.UploadInputsRequest) { r.Id = &dataproxy.UploadInputsRequest_ProjectId{} }, "project_id"},
		"empty run":     {func(r *dataproxy.UploadInputsRequest) { r.Id = &dataproxy.UploadInputsRequest_RunId{} }, "run_id"},
		"escaping project": {func(r *dataproxy.UploadInputsRequest) {
			r.Id = &dataproxy.UploadInputsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "..", Domain: "d"}}
		}, "project_id.name"},
		"escaping run domain": {func(r *dataproxy.UploadInputsRequest) {
			r.Id = &dataproxy.UploadInputsRequest_RunId{RunId: &common.RunIdentifier{Project: run.Project, Domain: "a/../b", Name: "r"}}
		}, "run_id.domain"},
		"no task":    {func(r *dataproxy.UploadInputsRequest) { r.Task = nil }, "task"},
		"empty task": {func(r *dataproxy.UploadInputsRequest) { r.Task = &dataproxy.UploadInputsRequest_TaskId{} }, "task_id"},
		"large inputs": {func(r *dataproxy.UploadInputsRequest) {
			r.Inputs = &task.Inputs{Literals: []*task.NamedLiteral{literal("x", strings.Repeat("x", 100))}}
		}, "inputs"},
	} {
		t.Run(name, func(t *testing.T) {
			request := inputsRequest(nil)
			test.spoil(request)
			_, err := f.data.UploadInputs(t.Context(), request)
			refused(t, err, test.field)
		})
	}
	request := inputsRequest(nil)
	request.Task = &dataproxy.UploadInputsRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "p", Domain: "d", Name: "none", Version: "v"}}
	_, err := f.data.UploadInputs(t.Context(), request)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}
