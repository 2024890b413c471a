package manager_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder/imagebuilderconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// taskIn is the spec of a task in a project.
func taskIn(project string) *task.TaskSpec {
	return &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
		Id:   &core.Identifier{Project: project, Domain: "development", Name: "hello.main", Version: "1"},
		Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
	}}
}

// runIn is a request for a run with a spec of its own.
func runIn(project, name string, spec *task.RunSpec) *workflow.CreateRunRequest {
	return &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: runOf(project, name)},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: taskIn(project)}, RunSpec: spec,
	}
}

// TestLinksLeadToNoOtherTenant: everything by which what one has in one's own project could refer to what is in another's is refused, in the same
// words whether that exists or not: run links, inputs, outputs, base directories, sources and values of artifacts.
func TestLinksLeadToNoOtherTenant(t *testing.T) {
	url := startWithRoles(t)
	root, runs := workflowconnect.NewRunServiceClient(as("root"), url), workflowconnect.NewRunServiceClient(as("ada"), url)
	tracked := workflowconnect.NewTrackedRunServiceClient(as("ada"), url)
	artifacts := artifactconnect.NewArtifactServiceClient(as("ada"), url)
	uris, err := root.GetActionDataURIs(t.Context(), &workflow.GetActionDataURIsRequest{ActionId: &common.ActionIdentifier{Run: runOf(victim, "first"), Name: "a0"}})
	require.NoError(t, err)
	inputs := uris.GetInputsUri()
	require.Contains(t, inputs, "/"+victim+"/development/first.")
	_, err = tracked.CreateRun(t.Context(), &workflow.CreateTrackedRunRequest{
		Id: &workflow.CreateTrackedRunRequest_RunId{RunId: runOf("mine", "local")}, Task: &workflow.CreateTrackedRunRequest_TaskSpec{TaskSpec: taskIn("mine")},
	})
	require.NoError(t, err)
	create := func(spec *task.RunSpec) error {
		_, err := runs.CreateRun(t.Context(), runIn("mine", "attack", spec))
		return err
	}
	related := func(kind common.RelationType) func(name string) error {
		return func(name string) error {
			return create(&task.RunSpec{Relation: &common.Relation{RelatedTo: runOf(victim, name), RelationType: kind}})
		}
	}
	// report is what the server says to the report of an action.
	report := func(event *workflow.ActionEvent) error {
		response, err := tracked.ReportActions(t.Context(), &workflow.ReportTrackedActionsRequest{RunId: runOf("mine", "local"), Updates: []*workflow.TrackedActionUpdate{{Event: event}}})
		if err != nil {
			return err
		}
		if code := response.GetStatuses()[0].GetCode(); code != 0 {
			return connect.NewError(connect.Code(code), fmt.Errorf("%s", response.GetStatuses()[0].GetMessage()))
		}
		return nil
	}
	store := func(spec *artifact.ArtifactSpec) error {
		if spec.Type == nil {
			spec.Type = &core.LiteralType{Type: &core.LiteralType_Blob{Blob: &core.BlobType{}}}
		}
		_, err := artifacts.CreateArtifact(t.Context(), &artifact.CreateArtifactRequest{ArtifactId: &artifact.ArtifactIdentifier{
			Name: &artifact.ArtifactName{Org: "o", Project: "mine", Domain: "development", Name: "attack"}, Version: "1",
		}, Spec: spec})
		return err
	}
	at := func(name string) string { return strings.ReplaceAll(inputs, "/first.", "/"+name+".") }
	blob := func(uri string) *core.Literal {
		return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: uri, Metadata: &core.BlobMetadata{Type: &core.BlobType{}}}}}}}
	}
	// Each attack names a run of the other tenant.
	for what, attack := range map[string]func(name string) error{
		"a rerun":     related(common.RelationType_RELATION_TYPE_RERUN),
		"a recovery":  related(common.RelationType_RELATION_TYPE_RECOVER),
		"a child run": related(common.RelationType_RELATION_TYPE_SPAWN),
		"an older rerun": func(name string) error {
			return create(&task.RunSpec{RelatedTo: runOf(victim, name)})
		},
		"a base directory": func(name string) error {
			return create(&task.RunSpec{RunBaseDir: strings.TrimSuffix(at(name), "inputs.pb")})
		},
		"a place for raw data": func(name string) error {
			return create(&task.RunSpec{RawDataStorage: &task.RawDataStorage{RawDataPrefix: strings.TrimSuffix(at(name), "inputs.pb")}})
		},
		"inputs": func(name string) error {
			request := runIn("mine", "attack", nil)
			request.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: at(name), InputsHash: "hash"}}
			_, err := runs.CreateRun(t.Context(), request)
			return err
		},
		"a report about another run": func(name string) error {
			return report(&workflow.ActionEvent{Id: &common.ActionIdentifier{Run: runOf(victim, name), Name: "a0"}, Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_RUNNING})
		},
		"outputs of a tracked run": func(name string) error {
			return report(&workflow.ActionEvent{
				Id: &common.ActionIdentifier{Run: runOf("mine", "local"), Name: "a0"}, Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED,
				Outputs: &task.OutputReferences{OutputUri: at(name)},
			})
		},
		"inputs of a tracked run": func(name string) error {
			_, err := tracked.CreateRun(t.Context(), &workflow.CreateTrackedRunRequest{
				Id: &workflow.CreateTrackedRunRequest_RunId{RunId: runOf("mine", "attack")}, Task: &workflow.CreateTrackedRunRequest_TaskSpec{TaskSpec: taskIn("mine")},
				OffloadedInputData: &common.OffloadedInputData{Uri: at(name), InputsHash: "hash"},
			})
			return err
		},
		"the source of an artifact": func(name string) error {
			return store(&artifact.ArtifactSpec{Value: blob("s3://elsewhere/x"), Source: &artifact.ArtifactSource{Source: &artifact.ArtifactSource_TaskAction{
				TaskAction: &artifact.TaskActionSource{Action: &common.ActionIdentifier{Run: runOf(victim, name), Name: "a0"}, Attempt: 1},
			}}})
		},
		"the value of an artifact": func(name string) error { return store(&artifact.ArtifactSpec{Value: blob(at(name))}) },
	} {
		t.Run(what, func(t *testing.T) {
			there, missing := attack("first"), attack("nothing")
			require.Contains(t, []connect.Code{connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodePermissionDenied}, connect.CodeOf(there), "%v", there)
			require.Equal(t, strings.ReplaceAll(fmt.Sprint(there), "first", "nothing"), fmt.Sprint(missing))
		})
	}
	_, err = runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("mine", "attack")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "none of them made a run: %v", err)
}

// TestTheGraphOfATenantEndsAtItsProjects: what others made of an artifact, and what it was made of, are not in its lineage for who may not see them.
func TestTheGraphOfATenantEndsAtItsProjects(t *testing.T) {
	url := startWithRoles(t)
	artifacts := artifactconnect.NewArtifactServiceClient(as("root"), url)
	of := func(project, name string) *artifact.ArtifactIdentifier {
		return &artifact.ArtifactIdentifier{Name: &artifact.ArtifactName{Project: project, Domain: "development", Name: name}, Version: "1"}
	}
	make := func(project, name string, parents ...*core.ArtifactVersionId) {
		_, err := artifacts.CreateArtifact(t.Context(), &artifact.CreateArtifactRequest{ArtifactId: of(project, name), Spec: &artifact.ArtifactSpec{
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}}, ParentArtifacts: parents,
			Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
				Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: 1}},
			}}}},
		}})
		require.NoError(t, err)
	}
	parent := func(project, name string) *core.ArtifactVersionId {
		return &core.ArtifactVersionId{Key: &core.ArtifactKey{Project: project, Domain: "development", Name: name}, Version: "1"}
	}
	make(victim, "base")
	make("mine", "model", parent(victim, "base"))
	make(victim, "derived", parent("mine", "model"))
	make("mine", "own", parent("mine", "model"))
	nodes := func(name string, from *artifact.ArtifactIdentifier) (text string) {
		graph, err := insightv1connect.NewArtifactInsightServiceClient(as(name), url).GetLineage(t.Context(), &insightv1.GetLineageRequest{ArtifactId: from})
		require.NoError(t, err)
		return fmt.Sprint(graph)
	}
	whole := nodes("root", of("mine", "model"))
	require.Contains(t, whole, `"base"`)
	require.Contains(t, whole, `"derived"`)
	seen := nodes("ada", of("mine", "model"))
	require.Contains(t, seen, `"own"`)
	require.NotContains(t, seen, victim)
	require.NotContains(t, seen, `"base"`)
	require.NotContains(t, seen, `"derived"`)
	seen = nodes("bob", of(victim, "base"))
	require.NotContains(t, seen, `"mine"`)
	require.NotContains(t, seen, `"derived"`, "which is reached through the other project alone")
	_, err := insightv1connect.NewArtifactInsightServiceClient(as("ada"), url).GetLineage(t.Context(), &insightv1.GetLineageRequest{ArtifactId: of(victim, "base")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
}

// TestACacheKeyIsNoLinkToAnotherTenant: two tenants run the same task with the scope of the SDK, which is GLOBAL, one at a time. The second does
// not wait for the first, and no answer names it.
func TestACacheKeyIsNoLinkToAnotherTenant(t *testing.T) {
	url := startWithRoles(t)
	begin := func(who, project string) {
		request := runIn(project, "cached", &task.RunSpec{CacheConfig: &task.CacheConfig{CacheLookupScope: task.CacheLookupScope_CACHE_LOOKUP_SCOPE_GLOBAL}})
		request.GetTaskSpec().GetTaskTemplate().Metadata = &core.TaskMetadata{Discoverable: true, DiscoveryVersion: "1", CacheSerializable: true}
		_, err := workflowconnect.NewRunServiceClient(as(who), url).CreateRun(t.Context(), request)
		require.NoError(t, err)
	}
	// reason waits until the key is looked up and the action may run; it waits for another one if that has the key.
	reason := func(who, project string) (text string) {
		explain := insightv1connect.NewInsightServiceClient(as(who), url)
		runs := workflowconnect.NewRunServiceClient(as(who), url)
		id := &common.ActionIdentifier{Run: runOf(project, "cached"), Name: "a0"}
		require.Eventually(t, func() bool {
			details, err := runs.GetActionDetails(t.Context(), &workflow.GetActionDetailsRequest{ActionId: id})
			require.NoError(t, err)
			explained, err := explain.ExplainAction(t.Context(), &insightv1.ExplainActionRequest{ActionId: id})
			require.NoError(t, err)
			text = fmt.Sprint(explained, details)
			return details.GetDetails().GetStatus().GetCacheStatus() == core.CatalogCacheStatus_CACHE_MISS &&
				(strings.Contains(text, "the cache has no entry") || strings.Contains(text, "which computes the same key"))
		}, time.Minute, 50*time.Millisecond)
		return text
	}
	begin("root", victim)
	require.NotContains(t, reason("root", victim), "which computes the same key")
	begin("ada", "mine")
	text := reason("ada", "mine")
	require.NotContains(t, text, victim)
	require.NotContains(t, text, "which computes the same key")
}

// TestASignedAddressIsForOnePlace: an address to upload to is changed to one of another tenant, to read and to write, and a built image is asked for
// in another project.
func TestASignedAddressIsForOnePlace(t *testing.T) {
	url := startWithRoles(t)
	data := dataproxyconnect.NewDataProxyServiceClient(as("ada"), url)
	place, err := data.CreateUploadLocation(t.Context(), &dataproxy.CreateUploadLocationRequest{
		Project: "mine", Domain: "development", Filename: "x", ContentMd5: make([]byte, 16), FilenameRoot: "root",
	})
	require.NoError(t, err)
	signed := place.GetSignedUrl()
	require.Contains(t, signed, "/mine/")
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodHead, http.MethodDelete} {
		for what, changed := range map[string]string{
			"another project": strings.Replace(signed, "/mine/", "/"+victim+"/", 1), "a step up": strings.Replace(signed, "/mine/", "/mine/../"+victim+"/", 1),
			"an escaped step": strings.Replace(signed, "/mine/", "/mine/%2e%2e/"+victim+"/", 1), "no signature": strings.Split(signed, "?")[0],
		} {
			request, err := http.NewRequestWithContext(t.Context(), method, changed, bytes.NewReader([]byte("attack")))
			require.NoError(t, err)
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.GreaterOrEqual(t, response.StatusCode, 400, "%s %s: %s", method, what, body)
			require.Less(t, response.StatusCode, 500, "%s %s: %s", method, what, body)
		}
	}
	_, err = data.CreateUploadLocation(t.Context(), &dataproxy.CreateUploadLocationRequest{
		Project: "mine", Domain: "development", Filename: "../../../" + victim + "/development/x", ContentMd5: make([]byte, 16),
	})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
	images := imagebuilderconnect.NewImageServiceClient(as("ada"), url)
	for _, project := range []string{victim, "missing"} {
		_, err = images.GetImage(t.Context(), &imagebuilder.GetImageRequest{
			Id: &imagebuilder.ImageIdentifier{Name: "built"}, ProjectId: &common.ProjectIdentifier{Name: project, Domain: "development"},
		})
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "does not exist, or you may not see it", "the same words")
	}
}

// TestNoOneExploresTheGroupsOfOthers: everyone may ask what they may do, but not what they could do in a group of others, which tells what was given
// to that group, and where.
func TestNoOneExploresTheGroupsOfOthers(t *testing.T) {
	url := startWithRoles(t)
	explain := func(groups ...string) (*accessv1.ExplainResponse, error) {
		return accessv1connect.NewAccessServiceClient(as("ada"), url).Explain(t.Context(), &accessv1.ExplainRequest{
			Member: &accessv1.Member{Kind: accessv1.MemberKind_MEMBER_KIND_USER, Name: "ada"}, Groups: groups, Permission: "run.create",
		})
	}
	_, err := explain("team of ada")
	require.NoError(t, err)
	told, err := explain("team of ada", "team of carol")
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%v %v", err, told)
	require.ErrorContains(t, err, "access.explain is not allowed in the whole installation to ada; it takes one of the roles admin, operator there")
}
