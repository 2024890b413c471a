package manager_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
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
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
)

// byName is an authenticator to which a bearer token is the name of a person.
type byName struct{}

func (byName) Authenticate(_ context.Context, request authz.Request) (authz.Identity, error) {
	const bearer = "Bearer "
	header := request.Header.Get("Authorization")
	if len(header) <= len(bearer) {
		return authz.Identity{}, nil
	}
	if run, ok := strings.CutPrefix(header, bearer+"task of "); ok { // of the project mine
		attempt := &authz.Attempt{Project: "mine", Domain: "development", Run: run, Action: "a0", Number: 1}
		return authz.Identity{Kind: authz.Task, Subject: run + "/a0", Attempt: attempt}, nil
	}
	return authz.Identity{Kind: authz.User, Subject: header[len(bearer):], Groups: []string{"team of " + header[len(bearer):]}}, nil
}

// startWithRoles runs a whole server whose callers are known by name. root is an operator, ada a contributor of mine, bob a viewer of
// theirs, and all of the team of carol run in the domain development.
func startWithRoles(t *testing.T, changes ...func(*configuration.Config)) (url string) {
	t.Helper()
	config := withLocalSecrets(t, testConfig(t))
	config.Access.Ask = "Ask root."
	config.Access.Bindings = []access.BindingConfig{
		{User: "root", Role: "operator"}, {User: "ada", Role: "contributor", Project: "mine"}, {User: "bob", Role: "viewer", Project: "theirs"},
		{Group: "team of carol", Role: "runner", Domain: "development"}, {User: "dave", Role: "runner", Project: "mine", Domain: "development"},
	}
	for _, change := range changes {
		change(&config)
	}
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
	server, err := manager.Complete(t.Context(), config, manager.Options{Logger: log, REST: nowhere(t), Authenticator: byName{}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	url = "http://" + server.Addr()
	for _, id := range []string{"mine", "theirs"} {
		_, err := projectconnect.NewProjectServiceClient(as("root"), url).CreateProject(t.Context(), &project.CreateProjectRequest{Project: &project.Project{Id: id}})
		require.NoError(t, err)
		require.NoError(t, createRun(t, workflowconnect.NewRunServiceClient(as("root"), url), runOf(id, "first")))
	}
	return url
}

// TestRolesDecide runs a whole server and calls it as people with different roles in different projects.
func TestRolesDecide(t *testing.T) {
	url := startWithRoles(t)
	runs := func(name string) workflowconnect.RunServiceClient {
		return workflowconnect.NewRunServiceClient(as(name), url)
	}
	get := func(name, project string) error {
		_, err := runs(name).GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf(project, "first")})
		return err
	}
	code := func(want connect.Code, err error) {
		t.Helper()
		require.Equal(t, want, connect.CodeOf(err), "%v", err)
	}

	require.NoError(t, get("ada", "mine"))
	require.NoError(t, get("bob", "theirs"))
	require.NoError(t, get("carol", "theirs"), "by her group, in a domain of every project")
	code(connect.CodeNotFound, get("ada", "theirs"))
	require.ErrorContains(t, get("ada", "theirs"), "run theirs/development/first does not exist, or you may not see it. Ask root.")
	_, err := runs("ada").GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("theirs", "nothing")})
	code(connect.CodeNotFound, err)
	require.ErrorContains(t, err, "run theirs/development/nothing does not exist, or you may not see it. Ask root.", "the same words for what does not exist")
	code(connect.CodeNotFound, get("eve", "mine"))
	_, err = workflowconnect.NewRunServiceClient(http.DefaultClient, url).GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("mine", "first")})
	code(connect.CodeUnauthenticated, err)

	require.NoError(t, createRun(t, runs("ada"), runOf("mine", "second")))
	require.NoError(t, createRun(t, runs("carol"), runOf("mine", "third")))
	require.NoError(t, createRun(t, runs("dave"), runOf("mine", "fourth")), "with a role in one domain of the project")
	_, err = dataproxyconnect.NewDataProxyServiceClient(as("dave"), url).CreateUploadLocation(t.Context(),
		&dataproxy.CreateUploadLocationRequest{Project: "mine", Domain: "development", Filename: "x", ContentMd5: make([]byte, 16)})
	require.NoError(t, err, "services that are asked on his behalf about the project answer him")
	err = createRun(t, runs("bob"), runOf("theirs", "second"))
	code(connect.CodePermissionDenied, err)
	require.ErrorContains(t, err, "run.create is not allowed on run theirs/development/second to bob; it takes one of the roles runner, contributor, admin, operator there. Ask root.")
	code(connect.CodeNotFound, createRun(t, runs("bob"), runOf("mine", "fifth")))

	for name, want := range map[string]string{"root": "mine theirs", "ada": "mine", "bob": "theirs", "carol": "mine theirs", "eve": ""} {
		list, err := runs(name).ListRuns(t.Context(), &workflow.ListRunsRequest{ScopeBy: &workflow.ListRunsRequest_Org{Org: "o"}})
		require.NoError(t, err)
		require.Equal(t, want, projectsOf(list.GetRuns()), name)
	}
	_, err = runs("ada").ListRuns(t.Context(), &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "theirs", Domain: "development"}},
	})
	code(connect.CodeNotFound, err)
	_, err = projectconnect.NewProjectServiceClient(as("ada"), url).CreateProject(t.Context(), &project.CreateProjectRequest{Project: &project.Project{Id: "another"}})
	code(connect.CodeNotFound, err)
}

// TestRolesChangeWhileTheServerRuns gives and takes a role, and a stream ends with the right to it.
func TestRolesChangeWhileTheServerRuns(t *testing.T) {
	url := startWithRoles(t)
	root, ada := accessv1connect.NewAccessServiceClient(as("root"), url), accessv1connect.NewAccessServiceClient(as("ada"), url)
	runs := workflowconnect.NewRunServiceClient(as("eve"), url)
	eve := &accessv1.Member{Kind: accessv1.MemberKind_MEMBER_KIND_USER, Name: "eve"}
	give := &accessv1.CreateBindingRequest{Member: eve, Role: "viewer", Scope: &accessv1.Scope{Project: "mine"}}

	_, err := ada.CreateBinding(t.Context(), give)
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "a contributor gives no roles: %v", err)
	made, err := root.CreateBinding(t.Context(), give)
	require.NoError(t, err)
	again, err := root.CreateBinding(t.Context(), give)
	require.NoError(t, err)
	require.Equal(t, made.GetBinding().GetId(), again.GetBinding().GetId())

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := runs.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: runOf("mine", "first")})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // it has ended
	require.True(t, stream.Receive(), "%v", stream.Err())
	_, err = root.DeleteBinding(ctx, &accessv1.DeleteBindingRequest{Id: made.GetBinding().GetId(), Scope: &accessv1.Scope{Project: "mine"}})
	require.NoError(t, err)
	for stream.Receive() {
	}
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(stream.Err()), "%v", stream.Err())
	_, err = runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: runOf("mine", "first")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
}

// TestProgramsHaveKeys makes a key, uses it, and revokes it.
func TestProgramsHaveKeys(t *testing.T) {
	url := startWithRoles(t)
	ada := accessv1connect.NewKeyServiceClient(as("ada"), url)
	role := func(name, project string) []*accessv1.KeyRole {
		return []*accessv1.KeyRole{{Role: name, Scope: &accessv1.Scope{Project: project}}}
	}
	for _, roles := range [][]*accessv1.KeyRole{role("admin", "mine"), role("viewer", "theirs"), role("viewer", "")} {
		_, err := ada.CreateKey(t.Context(), &accessv1.CreateKeyRequest{Name: "ci", Roles: roles})
		require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "more than its maker has: %v", err)
	}
	made, err := ada.CreateKey(t.Context(), &accessv1.CreateKeyRequest{Name: "ci", Roles: role("runner", "mine")})
	require.NoError(t, err)
	require.Regexp(t, `^fbk_[0-9A-Za-z]{42}$`, made.GetSecret())
	key := workflowconnect.NewRunServiceClient(as(made.GetSecret()), url)
	require.NoError(t, createRun(t, key, runOf("mine", "by-a-key")))
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(createRun(t, key, runOf("theirs", "by-a-key"))))
	me, err := accessv1connect.NewAccessServiceClient(as(made.GetSecret()), url).GetMe(t.Context(), &accessv1.GetMeRequest{})
	require.NoError(t, err)
	require.Equal(t, "key", me.GetKind())
	require.Equal(t, made.GetKey().GetId(), me.GetSubject())
	require.Equal(t, []string{"runner"}, me.GetGrants()[0].GetRoles())
	_, err = accessv1connect.NewKeyServiceClient(as(made.GetSecret()), url).CreateKey(t.Context(), &accessv1.CreateKeyRequest{Name: "more", Roles: role("viewer", "mine")})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%v", err)

	_, err = accessv1connect.NewKeyServiceClient(as("dave"), url).RevokeKey(t.Context(), &accessv1.RevokeKeyRequest{Id: made.GetKey().GetId()})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "of another: %v", err)
	listed, err := ada.ListKeys(t.Context(), &accessv1.ListKeysRequest{})
	require.NoError(t, err)
	require.Len(t, listed.GetKeys(), 1)
	members, err := accessv1connect.NewAccessServiceClient(as("root"), url).ListBindings(t.Context(), &accessv1.ListBindingsRequest{
		Member: &accessv1.Member{Kind: accessv1.MemberKind_MEMBER_KIND_KEY, Name: made.GetKey().GetId()},
	})
	require.NoError(t, err)
	require.Equal(t, "ci", members.GetBindings()[0].GetKeyName())
	_, err = ada.RevokeKey(t.Context(), &accessv1.RevokeKeyRequest{Id: made.GetKey().GetId()})
	require.NoError(t, err)
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(createRun(t, key, runOf("mine", "after-the-end"))))
}

// TestWhatWasDoneIsRecorded calls a whole server and asks what was done.
func TestWhatWasDoneIsRecorded(t *testing.T) {
	url := startWithRoles(t)
	require.NoError(t, createRun(t, workflowconnect.NewRunServiceClient(as("ada"), url), runOf("mine", "recorded")))
	require.Error(t, createRun(t, workflowconnect.NewRunServiceClient(as("bob"), url), runOf("theirs", "recorded")))
	require.Error(t, createRun(t, workflowconnect.NewRunServiceClient(as("bob"), url), runOf("mine", "recorded-too")))
	require.Error(t, createRun(t, workflowconnect.NewRunServiceClient(as("fbk_0123"), url), runOf("mine", "recorded-not")))
	ctx, call := connect.NewClientContext(t.Context())
	_, err := accessv1connect.NewAccessServiceClient(as("ada"), url).DeleteRole(ctx, &accessv1.DeleteRoleRequest{Name: "named"})
	require.Error(t, err)
	named := cmp.Or(call.ResponseHeader().Get("X-Request-Id"), call.ResponseTrailer().Get("X-Request-Id"))
	require.Regexp(t, `^[A-Z2-7]{26}$`, named, "a call without an id gets one")
	auditor := accessv1connect.NewAuditServiceClient(as("root"), url)
	search := func(request *accessv1.SearchAuditRequest, count int) []*accessv1.AuditEvent {
		t.Helper()
		var events []*accessv1.AuditEvent
		require.Eventually(t, func() bool { // events that only read or are refused are written a moment later
			response, err := auditor.SearchAudit(t.Context(), request)
			require.NoError(t, err)
			events = response.GetEvents()
			return len(events) >= count
		}, time.Minute, 10*time.Millisecond, "%v", request)
		require.Len(t, events, count)
		return events
	}
	done := search(&accessv1.SearchAuditRequest{Subject: "ada", Permission: "run.create"}, 1)[0]
	require.Equal(t, "succeeded", done.GetOutcome())
	require.Equal(t, []string{"run mine/development/recorded"}, done.GetResources())
	require.Equal(t, "127.0.0.1", done.GetPeer())
	require.Regexp(t, `^[A-Z2-7]{26}$`, done.GetRequestId())
	require.Equal(t, named, search(&accessv1.SearchAuditRequest{Permission: "role.delete"}, 1)[0].GetRequestId(), "the client and the record name the call alike")
	refused := search(&accessv1.SearchAuditRequest{Subject: "bob", Outcome: "refused"}, 2)
	require.Contains(t, refused[0].GetError()+refused[1].GetError(), "does not exist, or you may not see it")
	require.Contains(t, search(&accessv1.SearchAuditRequest{Outcome: "refused", Permission: "run.create", From: done.GetAt()}, 3)[0].GetError(), "API key is incomplete")
	search(&accessv1.SearchAuditRequest{Scope: &accessv1.Scope{Project: "theirs"}, Permission: "run.create"}, 2)
	verified, err := auditor.VerifyAudit(t.Context(), &accessv1.VerifyAuditRequest{})
	require.NoError(t, err)
	require.Empty(t, verified.GetProblem())
	require.Positive(t, verified.GetChecked())

	_, err = accessv1connect.NewAuditServiceClient(as("ada"), url).SearchAudit(t.Context(), &accessv1.SearchAuditRequest{Scope: &accessv1.Scope{Project: "mine"}})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "a contributor reads no audit events: %v", err)
}

// TestAuditEventsAreSentToASink: what people do in a whole server arrives at a receiver, and nothing else does.
func TestAuditEventsAreSentToASink(t *testing.T) {
	bodies := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	t.Cleanup(receiver.Close)
	url := startWithRoles(t, func(c *configuration.Config) {
		c.EventStream.Sinks = []cloudevents.Sink{{Name: "siem", Type: "http", URL: receiver.URL, Events: []string{"audit"}}}
		c.EventStream.Poll = 10 * time.Millisecond
	})
	require.NoError(t, createRun(t, workflowconnect.NewRunServiceClient(as("ada"), url), runOf("mine", "recorded")))
	require.Error(t, createRun(t, workflowconnect.NewRunServiceClient(as("bob"), url), runOf("mine", "refused")))
	var done, refused bool
	for !done || !refused {
		var event struct {
			Type, Subject string
			Data          struct{ Subject, Permission, Outcome, Peer, UserAgent string }
		}
		require.NoError(t, json.Unmarshal([]byte(<-bodies), &event))
		require.Equal(t, "org.flyte.audit", event.Type)
		if event.Data.Subject == "root" {
			continue // made the projects
		}
		require.Equal(t, "run.create 127.0.0.1", event.Data.Permission+" "+event.Data.Peer)
		require.Contains(t, event.Data.UserAgent, "connect-go")
		done = done || event.Data.Subject == "ada" && event.Data.Outcome == "succeeded" && event.Subject == "run mine/development/recorded"
		refused = refused || event.Data.Subject == "bob" && event.Data.Outcome == "refused" && event.Subject == "run mine/development/refused"
	}
	sinks, err := insightv1connect.NewSystemServiceClient(as("root"), url).GetSystem(t.Context(), &insightv1.GetSystemRequest{})
	require.NoError(t, err)
	require.Contains(t, sinks.String(), "audit sink: siem")
}

// TestChangesAreRecordedWhereAccessIsOpen: with the program and the address, for there is no name.
func TestChangesAreRecordedWhereAccessIsOpen(t *testing.T) {
	for name, recorded := range map[string]bool{"by default": true, "unless it is turned off": false} {
		t.Run(name, func(t *testing.T) {
			config := testConfig(t)
			config.Access.Audit.Anonymous = recorded
			log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
			server, err := manager.Complete(t.Context(), config, manager.Options{Logger: log, REST: nowhere(t)})
			require.NoError(t, err)
			require.NoError(t, server.Start(t.Context()))
			require.NoError(t, createRun(t, workflowconnect.NewRunServiceClient(http.DefaultClient, "http://"+server.Addr()), runOf("flytesnacks", "open")))
			http.DefaultClient.CloseIdleConnections()
			require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) // it writes what waits
			conn, err := pgx.Connect(t.Context(), config.Database.URL)
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
			rows, err := conn.Query(t.Context(), `SELECT concat_ws(' ', kind, subject, peer, permission, outcome, resources[1], user_agent) FROM access_audit`)
			require.NoError(t, err)
			events, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			if !recorded {
				require.Empty(t, events)
				return
			}
			require.Len(t, events, 1)
			require.Regexp(t, `^anonymous  127.0.0.1 run.create succeeded run flytesnacks/development/open connect-go/`, events[0])
		})
	}
}

// TestMembersAreAdministered gives roles as an admin of a project, who can give only what it has itself, and asks what members may do.
func TestMembersAreAdministered(t *testing.T) {
	url := startWithRoles(t)
	access := func(name string) accessv1connect.AccessServiceClient {
		return accessv1connect.NewAccessServiceClient(as(name), url)
	}
	member := func(name string) *accessv1.Member {
		return &accessv1.Member{Kind: accessv1.MemberKind_MEMBER_KIND_USER, Name: name}
	}
	give := func(by, to, role, project string) error {
		_, err := access(by).CreateBinding(t.Context(), &accessv1.CreateBindingRequest{Member: member(to), Role: role, Scope: &accessv1.Scope{Project: project}})
		return err
	}
	code := func(want connect.Code, err error) {
		t.Helper()
		require.Equal(t, want, connect.CodeOf(err), "%v", err)
	}
	require.NoError(t, give("root", "pia", "admin", "mine"))
	for _, role := range []string{"viewer", "runner", "contributor", "admin"} {
		require.NoError(t, give("pia", "eve", role, "mine"), role)
		code(connect.CodeNotFound, give("pia", "eve", role, "theirs"))
		code(connect.CodePermissionDenied, give("pia", "eve", role, ""))
	}
	code(connect.CodeInvalidArgument, give("pia", "eve", "operator", "mine"))
	code(connect.CodeNotFound, give("root", "eve", "king", "mine"))

	// A role with a permission that its maker does not have cannot be given by it.
	secretive := &accessv1.PutRoleRequest{Role: &accessv1.Role{Name: "tuner", Permissions: []string{"run.*", "loglevel.*"}}}
	_, err := access("pia").PutRole(t.Context(), secretive)
	code(connect.CodePermissionDenied, err)
	_, err = access("root").PutRole(t.Context(), secretive)
	require.NoError(t, err)
	code(connect.CodePermissionDenied, give("pia", "eve", "tuner", "mine"))
	require.NoError(t, give("root", "eve", "tuner", "mine"))
	_, err = access("root").DeleteRole(t.Context(), &accessv1.DeleteRoleRequest{Name: "tuner"})
	code(connect.CodeFailedPrecondition, err)
	_, err = access("root").PutRole(t.Context(), &accessv1.PutRoleRequest{Role: &accessv1.Role{Name: "viewer", Permissions: []string{"run.*"}}})
	code(connect.CodeFailedPrecondition, err)
	_, err = access("root").PutRole(t.Context(), &accessv1.PutRoleRequest{Role: &accessv1.Role{Name: "pilot", Permissions: []string{"run.fly"}}})
	code(connect.CodeInvalidArgument, err)

	listed, err := access("pia").ListBindings(t.Context(), &accessv1.ListBindingsRequest{})
	require.NoError(t, err)
	for _, binding := range listed.GetBindings() {
		require.Equal(t, "mine", binding.GetScope().GetProject(), "%v", binding)
	}
	require.Len(t, listed.GetBindings(), 8, "two of the configuration, pia's own and the five of eve")
	everything, err := access("root").ListBindings(t.Context(), &accessv1.ListBindingsRequest{Limit: 4})
	require.NoError(t, err)
	require.Len(t, everything.GetBindings(), 9, "five of the configuration, and the first page of the others")
	rest, err := access("root").ListBindings(t.Context(), &accessv1.ListBindingsRequest{Limit: 4, Token: everything.GetToken()})
	require.NoError(t, err)
	require.Len(t, rest.GetBindings(), 2)
	require.Empty(t, rest.GetToken())

	explain := func(by string, request *accessv1.ExplainRequest) (*accessv1.ExplainResponse, error) {
		return access(by).Explain(t.Context(), request)
	}
	why, err := explain("bob", &accessv1.ExplainRequest{Permission: "run.create", Scope: &accessv1.Scope{Project: "theirs"}})
	require.NoError(t, err, "everyone asks about themselves")
	require.False(t, why.GetAllowed())
	require.Equal(t, []string{"runner", "contributor", "admin", "operator", "tuner"}, why.GetRoles())
	_, err = explain("bob", &accessv1.ExplainRequest{Member: member("eve"), Permission: "run.create", Scope: &accessv1.Scope{Project: "theirs"}})
	code(connect.CodePermissionDenied, err)
	why, err = explain("pia", &accessv1.ExplainRequest{Member: member("eve"), Permission: "run.create", Scope: &accessv1.Scope{Project: "mine"}})
	require.NoError(t, err)
	require.True(t, why.GetAllowed())
	require.Contains(t, why.GetReason(), "user eve may run.create in project mine: the role runner in project mine")
	me, err := access("dave").GetMe(t.Context(), &accessv1.GetMeRequest{})
	require.NoError(t, err)
	require.Equal(t, "Ask root.", me.GetAsk())
	require.Equal(t, "development", me.GetGrants()[0].GetScope().GetDomain())
	require.Contains(t, me.GetGrants()[0].GetPermissions(), "run.create")
	require.NotContains(t, me.GetGrants()[0].GetPermissions(), "task.deploy")
	me, err = access("nemo").GetMe(t.Context(), &accessv1.GetMeRequest{})
	require.NoError(t, err, "who has no role learns whom to ask")
	require.Empty(t, me.GetGrants())
}

// TestServicesWorkForTasks calls as the process of a task what other services are asked for on its behalf: whether a project exists, its
// settings, where a run keeps its data.
func TestServicesWorkForTasks(t *testing.T) {
	url := startWithRoles(t)
	me := as("task of first")
	upload := func(project string) error {
		_, err := dataproxyconnect.NewDataProxyServiceClient(me, url).CreateUploadLocation(t.Context(),
			&dataproxy.CreateUploadLocationRequest{Project: project, Domain: "development", Filename: "x", ContentMd5: make([]byte, 16)})
		return err
	}
	model := func(project string) error {
		_, err := artifactconnect.NewArtifactServiceClient(me, url).CreateArtifact(t.Context(), &artifact.CreateArtifactRequest{
			ArtifactId: &artifact.ArtifactIdentifier{Name: &artifact.ArtifactName{Org: "o", Project: project, Domain: "development", Name: "model"}, Version: "1"},
			Spec: &artifact.ArtifactSpec{
				Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}},
				Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
					Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: 1}},
				}}}},
			},
		})
		return err
	}
	start := func(project string) error {
		return createRun(t, workflowconnect.NewRunServiceClient(me, url), runOf(project, "by-a-task"))
	}
	for name, call := range map[string]func(project string) error{"upload": upload, "artifact": model, "run": start} {
		require.NoError(t, call("mine"), name)
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(call("theirs")), name)
	}
}
