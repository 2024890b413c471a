package dataproxy_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

// track adds an action of a tracked run, and returns the directory of the run.
func (f *fixture) track(name, action string, finished bool) string {
	base := blobpath.TrackedRun(f.store.Root(), run.Project, run.Domain, name)
	f.state.tracked[name+"/"+action] = &enginev1.GetActionStorageResponse{
		InputUri: base + action, OutputUri: base + action + "/1/outputs.pb", RunOutputBase: base, Attempts: 1, Finished: finished,
	}
	return base
}

func trackedID(name, action string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: &common.RunIdentifier{Project: run.Project, Domain: run.Domain, Name: name}, Name: action}
}

func TestDataOfTrackedRuns(t *testing.T) {
	f := newFixture(t)
	base := f.track("local-1", "a0", false)
	request := &dataproxy.GetActionDataRequest{ActionId: trackedID("local-1", "a0"), RunSource: workflow.RunSource_RUN_SOURCE_TRACKED}
	got, err := f.data.GetActionData(t.Context(), request)
	require.NoError(t, err, "nothing was uploaded")
	require.Empty(t, got.GetInputs().GetLiterals())
	require.Empty(t, got.GetInputsUri())

	f.write(base+"a0/inputs.pb", &task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1")}})
	f.write(base+"a0/1/outputs.pb", &task.Outputs{Literals: []*task.NamedLiteral{literal("o0", "2")}})
	got, err = f.data.GetActionData(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "x", got.GetInputs().GetLiterals()[0].GetName())
	require.Equal(t, "o0", got.GetOutputs().GetLiterals()[0].GetName())
	require.Equal(t, base+"a0/1/outputs.pb", got.GetOutputsUri())

	request.ActionId.Name = "none"
	_, err = f.data.GetActionData(t.Context(), request)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

// The request for a report does not say of which kind the run is; both kinds may have one of that name.
func TestReportsOfRunsOfBothKinds(t *testing.T) {
	f := newFixture(t)
	own := f.store.Root() + "/p/d/r/"
	f.state.storage["a0"] = &enginev1.GetActionStorageResponse{RunOutputBase: own, Attempts: 1}
	require.NoError(t, f.store.WriteAll(t.Context(), own+"a0/1/report.html", []byte("own")))
	for _, name := range []string{"local-1", "nightly"} {
		require.NoError(t, f.store.WriteAll(t.Context(), f.track(name, "a0", false)+"a0/1/report.html", []byte("tracked")))
		require.NoError(t, f.store.WriteAll(t.Context(), f.track(name, "c", false)+"c/1/report.html", []byte("tracked child")))
	}
	report := func(run, action string) string {
		answer, err := f.data.CreateDownloadLink(t.Context(), &dataproxy.CreateDownloadLinkRequest{
			ArtifactType: dataproxy.ArtifactType_ARTIFACT_TYPE_REPORT,
			Source: &dataproxy.CreateDownloadLinkRequest_ActionAttemptId{ActionAttemptId: &common.ActionAttemptIdentifier{
				ActionId: trackedID(run, action), Attempt: 1,
			}},
		})
		if err != nil {
			require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
			return ""
		}
		_, body := f.send(http.MethodGet, answer.GetPreSignedUrls().GetSignedUrl()[0], nil, nil)
		return body
	}
	require.Equal(t, "tracked", report("local-1", "a0"), "clients generate such names")
	require.Equal(t, "own", report("nightly", "a0"))
	require.Equal(t, "tracked child", report("nightly", "c"))
	require.Empty(t, report("nightly", "none"))
}

// A report grows while its task runs, so the data of a live tracked run may be replaced, and nothing else.
func TestUploadsOfTrackedRuns(t *testing.T) {
	t.Run("directory", func(t *testing.T) { trackedUploads(t, newFixture(t)) })
	t.Run("s3", func(t *testing.T) {
		fixed := newFixture(t)
		f := &fixture{t: t, state: fixed.state, pods: fixed.pods, clock: fixed.clock}
		f.openS3()
		trackedUploads(t, f.serve())
	})
}

func trackedUploads(t *testing.T, f *fixture) {
	put := func(root, name, body string) bool {
		request := upload([]byte(body))
		request.FilenameRoot, request.Filename = root, name
		location, err := f.data.CreateUploadLocation(t.Context(), request)
		if err != nil {
			require.Equal(t, connect.CodeAlreadyExists, connect.CodeOf(err))
			return false
		}
		headers := location.GetHeaders()
		headers["Content-MD5"] = base64.StdEncoding.EncodeToString(request.GetContentMd5())
		status, _ := f.send(http.MethodPut, location.GetSignedUrl(), []byte(body), headers)
		return status == http.StatusOK
	}
	require.True(t, put("tracked-runs/local-1/a0", "inputs.pb", "first"), "before the run")
	require.False(t, put("tracked-runs/local-1/a0", "inputs.pb", "second"))
	base := f.track("local-1", "a0", false)
	require.True(t, put("tracked-runs/local-1/a0/1", "report.html", "a"))
	require.True(t, put("tracked-runs/local-1/a0/1", "report.html", "ab"))
	body, err := f.store.ReadAll(t.Context(), base+"a0/1/report.html", 0)
	require.NoError(t, err)
	require.Equal(t, "ab", string(body))

	for _, other := range [][2]string{
		{"tracked-runs/local-1/a0/1", "notes.txt"}, {"tracked-runs/local-1/a0/1/2", "report.html"}, {"tracked-runs/local-1", "report.html"},
		{"tracked-runs/local-1/a0/zero", "report.html"}, {"tracked-runs/local-2/a0/1", "report.html"}, {"x/tracked-runs/local-1/a0/1", "report.html"},
	} {
		require.True(t, put(other[0], other[1], "one"), other)
		require.False(t, put(other[0], other[1], "two"), other)
	}
	f.track("local-1", "a0", true)
	require.False(t, put("tracked-runs/local-1/a0/1", "report.html", "abc"), "the run has ended")
	require.True(t, put("tracked-runs/local-1/c/1", "report.html", "late"), "a report that was under way")
}
