package manager_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret/secretconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// internalClient calls as a service of the installation.
type internalClient string

func (token internalClient) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set(rpc.InternalTokenHeader, string(token))
	return http.DefaultClient.Do(request)
}

// neighbours is a server with two tenants, each of whom has a run that has ended, with a log and a report.
type neighbours struct {
	url   string
	inner internalClient
	// hidden is a part of each thing of the victim that has content.
	hidden string
}

func newNeighbours(t *testing.T) neighbours {
	t.Helper()
	n := neighbours{inner: "of the services", hidden: "only the victim knows"}
	n.url = startWithRoles(t, func(c *configuration.Config) { c.Auth.InternalToken = string(n.inner) })
	fillVictim(t, n.url)
	engine := enginev1connect.NewEngineServiceClient(n.inner, n.url)
	for _, project := range []string{victim, "mine"} {
		action := &common.ActionIdentifier{Run: runOf(project, "first"), Name: "a0"}
		storage, err := engine.GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: action})
		require.NoError(t, err)
		dir := blobpath.AttemptDir(storage.GetRunOutputBase(), "a0", 1)
		for path, text := range map[string]string{
			blobpath.SealedLog(dir, "", "main"): "2026-01-01T00:00:00Z " + n.hidden + " " + project + "\n", dir + "/report.html": "<p>" + n.hidden + " " + project,
		} {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		_, err = engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{{Event: &workflow.ActionEvent{
			Id: action, Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED, LogContext: podOf(project),
			Outputs: &task.OutputReferences{ReportUri: dir + "/report.html"},
		}}}})
		require.NoError(t, err)
	}
	return n
}

// more gives a project what lists show in addition: a run that has failed in words of its own, an action that waits for someone, and a
// run that a client reports.
func (n neighbours) more(t *testing.T, project string) {
	t.Helper()
	engine := enginev1connect.NewEngineServiceClient(n.inner, n.url)
	for run, event := range map[string]*workflow.ActionEvent{
		"failed": {Phase: common.ActionPhase_ACTION_PHASE_FAILED, ErrorInfo: &workflow.ErrorInfo{Message: "ValueError: " + n.hidden + " of " + project, Kind: workflow.ErrorInfo_KIND_USER}},
		"asks":   {Phase: common.ActionPhase_ACTION_PHASE_RUNNING},
	} {
		require.NoError(t, createRun(t, workflowconnect.NewRunServiceClient(as("root"), n.url), runOf(project, run)))
		event.Id, event.Attempt, event.LogContext = action(project, run), 1, podOf(project)
		_, err := engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{{Event: event}}})
		require.NoError(t, err)
	}
	storage, err := engine.GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: action(project, "asks")})
	require.NoError(t, err)
	waits := strings.TrimSuffix(storage.GetRunOutputBase(), "/") + "/waits"
	_, err = actionsconnect.NewActionsServiceClient(n.inner, n.url).Enqueue(t.Context(), &actions.EnqueueRequest{Action: &actions.Action{
		ActionId: &common.ActionIdentifier{Run: runOf(project, "asks"), Name: "waits"}, ParentActionName: proto.String("a0"), InputUri: waits, RunOutputBase: waits,
		Spec: &actions.Action_Condition{Condition: &workflow.ConditionAction{Name: "waits", Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}}}},
	}})
	require.NoError(t, err)
	_, err = workflowconnect.NewTrackedRunServiceClient(as("root"), n.url).CreateRun(t.Context(), &workflow.CreateTrackedRunRequest{
		Id: &workflow.CreateTrackedRunRequest_RunId{RunId: runOf(project, "local")}, Task: &workflow.CreateTrackedRunRequest_TaskSpec{TaskSpec: taskIn(project)},
	})
	require.NoError(t, err)
}

// podOf is where the log of the pod of a project is.
func podOf(project string) *core.LogContext {
	return &core.LogContext{PrimaryPodName: "pod-of-" + project, Pods: []*core.PodLogContext{{
		Namespace: project + "-development", PodName: "pod-of-" + project, PrimaryContainerName: "main",
		Containers: []*core.ContainerContext{{ContainerName: "main"}},
	}}}
}

// action names an action of a run.
func action(project, run string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: runOf(project, run), Name: "a0"}
}

// whole reads a stream to its end.
func whole[M any](stream *connect.ServerStreamForClient[M], err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer stream.Close() //nolint:errcheck // nothing is written
	var text strings.Builder
	for stream.Receive() {
		fmt.Fprint(&text, stream.Msg())
	}
	return text.String(), stream.Err()
}

// hides checks that an attack on what exists is answered as one on what does not, and with nothing of the victim.
func (n neighbours) hides(t *testing.T, attack func(name string) (string, error)) {
	t.Helper()
	got, there := attack("first")
	require.NotContains(t, got, n.hidden)
	_, missing := attack("nothing")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(there), "%v", there)
	require.Equal(t, strings.ReplaceAll(fmt.Sprint(there), "first", "nothing"), fmt.Sprint(missing))
}

// TestLogsOfAnotherTenantAreNotRead: not by naming the attempt, in either service, nor as a task, nor by naming the victim's pod in a request or in a
// report about a run of one's own.
func TestLogsOfAnotherTenantAreNotRead(t *testing.T) {
	n := newNeighbours(t)
	tail := func(who string, request *dataproxy.TailLogsRequest) (string, error) {
		return whole(dataproxyconnect.NewDataProxyServiceClient(as(who), n.url).TailLogs(t.Context(), request))
	}
	older := func(who, project, run string) (string, error) {
		return whole(workflowconnect.NewRunLogsServiceClient(as(who), n.url).TailLogs(t.Context(), &workflow.TailLogsRequest{ActionId: action(project, run), Attempt: 1}))
	}
	for _, owner := range []string{"bob", "root"} {
		text, err := tail(owner, &dataproxy.TailLogsRequest{ActionId: action(victim, "first"), Attempt: 1})
		require.NoError(t, err)
		require.Contains(t, text, n.hidden+" "+victim)
		text, err = older(owner, victim, "first")
		require.NoError(t, err)
		require.Contains(t, text, n.hidden+" "+victim)
	}
	text, err := tail("ada", &dataproxy.TailLogsRequest{ActionId: action("mine", "first"), Attempt: 1})
	require.NoError(t, err)
	require.Contains(t, text, n.hidden+" mine")
	for _, attacker := range []string{"ada", "task of first"} {
		n.hides(t, func(run string) (string, error) {
			return tail(attacker, &dataproxy.TailLogsRequest{ActionId: action(victim, run), Attempt: 1})
		})
		if attacker != "task of first" { // whom the older service does not serve at all
			n.hides(t, func(run string) (string, error) { return older(attacker, victim, run) })
		}
		n.hides(t, func(run string) (string, error) {
			answer, err := workflowconnect.NewRunServiceClient(as(attacker), n.url).GetActionLogContext(t.Context(), &workflow.GetActionLogContextRequest{
				ActionId: action(victim, run), Attempt: 1,
			})
			return answer.String(), err
		})
	}
	_, err = whole(appconnect.NewAppLogsServiceClient(as("ada"), n.url).TailLogs(t.Context(), &app.TailLogsRequest{Target: &app.TailLogsRequest_AppId{
		AppId: &app.Identifier{Org: "o", Project: victim, Domain: "development", Name: "web"},
	}}))
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)

	for _, pod := range []string{"pod-of-" + victim, "../../../../" + victim + "/development/first/a0/1/_logs"} {
		text, err = tail("ada", &dataproxy.TailLogsRequest{
			ActionId: action("mine", "first"), Attempt: 1, PodSelector: &dataproxy.TailLogsRequest_PodName{PodName: pod},
		})
		require.Error(t, err)
		require.Contains(t, []connect.Code{connect.CodeNotFound, connect.CodeInvalidArgument}, connect.CodeOf(err), "%v", err)
		require.NotContains(t, text, n.hidden)
	}

	tracked := workflowconnect.NewTrackedRunServiceClient(as("ada"), n.url)
	_, err = tracked.CreateRun(t.Context(), &workflow.CreateTrackedRunRequest{
		Id: &workflow.CreateTrackedRunRequest_RunId{RunId: runOf("mine", "local")}, Task: &workflow.CreateTrackedRunRequest_TaskSpec{TaskSpec: taskIn("mine")},
	})
	require.NoError(t, err)
	reported, err := tracked.ReportActions(t.Context(), &workflow.ReportTrackedActionsRequest{RunId: runOf("mine", "local"), Updates: []*workflow.TrackedActionUpdate{{
		Event: &workflow.ActionEvent{Id: action("mine", "local"), Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_RUNNING, LogContext: podOf(victim)},
	}}})
	require.NoError(t, err)
	require.EqualValues(t, connect.CodeInvalidArgument, reported.GetStatuses()[0].GetCode())
	require.Contains(t, reported.GetStatuses()[0].GetMessage(), "event.log_context")
	_, err = tail("ada", &dataproxy.TailLogsRequest{ActionId: action("mine", "local"), Attempt: 1})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
}

// TestDownloadLinksOfAnotherTenantAreNotMade: a link to a report is not signed for another tenant, one's own leads nowhere else, and a run of one's
// own does not take the report of another's for its own.
func TestDownloadLinksOfAnotherTenantAreNotMade(t *testing.T) {
	n := newNeighbours(t)
	link := func(who, project, run string) (string, error) {
		answer, err := dataproxyconnect.NewDataProxyServiceClient(as(who), n.url).CreateDownloadLink(t.Context(), &dataproxy.CreateDownloadLinkRequest{
			ArtifactType: dataproxy.ArtifactType_ARTIFACT_TYPE_REPORT,
			Source: &dataproxy.CreateDownloadLinkRequest_ActionAttemptId{ActionAttemptId: &common.ActionAttemptIdentifier{
				ActionId: action(project, run), Attempt: 1,
			}},
		})
		if err != nil {
			return "", err
		}
		return answer.GetPreSignedUrls().GetSignedUrl()[0], nil
	}
	for _, owner := range []string{"bob", "root"} {
		signed, err := link(owner, victim, "first")
		require.NoError(t, err)
		status, text := fetch(t, signed)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, n.hidden+" "+victim)
	}
	for _, attacker := range []string{"ada", "task of first"} {
		n.hides(t, func(run string) (string, error) { return link(attacker, victim, run) })
	}
	own, err := link("ada", "mine", "first")
	require.NoError(t, err)
	status, _ := fetch(t, own)
	require.Equal(t, http.StatusOK, status)
	for what, changed := range map[string]string{
		"another project": strings.Replace(own, "/mine/", "/"+victim+"/", 1), "a step up": strings.Replace(own, "/mine/", "/mine/../"+victim+"/", 1),
		"an escaped step": strings.Replace(own, "/mine/", "/mine/%2e%2e/"+victim+"/", 1), "no signature": strings.Split(own, "?")[0],
	} {
		status, text := fetch(t, changed)
		require.GreaterOrEqual(t, status, 400, what)
		require.NotContains(t, text, n.hidden, what)
	}

	storage, err := enginev1connect.NewEngineServiceClient(n.inner, n.url).GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: action(victim, "first")})
	require.NoError(t, err)
	tracked := workflowconnect.NewTrackedRunServiceClient(as("ada"), n.url)
	_, err = tracked.CreateRun(t.Context(), &workflow.CreateTrackedRunRequest{
		Id: &workflow.CreateTrackedRunRequest_RunId{RunId: runOf("mine", "local")}, Task: &workflow.CreateTrackedRunRequest_TaskSpec{TaskSpec: taskIn("mine")},
	})
	require.NoError(t, err)
	reported, err := tracked.ReportActions(t.Context(), &workflow.ReportTrackedActionsRequest{RunId: runOf("mine", "local"), Updates: []*workflow.TrackedActionUpdate{{
		Event: &workflow.ActionEvent{
			Id: action("mine", "local"), Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED,
			Outputs: &task.OutputReferences{ReportUri: blobpath.AttemptDir(storage.GetRunOutputBase(), "a0", 1) + "/report.html"},
		},
	}}})
	require.NoError(t, err)
	require.NotZero(t, reported.GetStatuses()[0].GetCode())
	_, err = link("ada", "mine", "local")
	require.Error(t, err)
}

// fetch gets an address without a credential.
func fetch(t *testing.T, url string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// TestSecretsOfAnotherTenantAreNotRead: neither their existence by the service, nor their values by a name in a task of one's own.
func TestSecretsOfAnotherTenantAreNotRead(t *testing.T) {
	n := newNeighbours(t)
	secrets := secretconnect.NewSecretServiceClient(as("ada"), n.url)
	id := func(name string) *secret.SecretIdentifier {
		return &secret.SecretIdentifier{Organization: "o", Project: victim, Domain: "development", Name: strings.Replace(name, "first", "password", 1)}
	}
	spec := &secret.SecretSpec{Value: &secret.SecretSpec_StringValue{StringValue: "stolen"}}
	for what, attack := range map[string]func(context.Context, string) error{
		"get": func(ctx context.Context, name string) error {
			_, err := secrets.GetSecret(ctx, &secret.GetSecretRequest{Id: id(name)})
			return err
		},
		"update": func(ctx context.Context, name string) error {
			_, err := secrets.UpdateSecret(ctx, &secret.UpdateSecretRequest{Id: id(name), SecretSpec: spec})
			return err
		},
		"delete": func(ctx context.Context, name string) error {
			_, err := secrets.DeleteSecret(ctx, &secret.DeleteSecretRequest{Id: id(name)})
			return err
		},
		"create": func(ctx context.Context, name string) error {
			_, err := secrets.CreateSecret(ctx, &secret.CreateSecretRequest{Id: id(name), SecretSpec: spec})
			return err
		},
	} {
		there, missing := attack(t.Context(), "first"), attack(t.Context(), "nothing")
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(there), "%s: %v", what, there)
		require.Equal(t, strings.ReplaceAll(there.Error(), "password", "nothing"), missing.Error(), what)
	}
	listed, err := secrets.ListSecrets(t.Context(), &secret.ListSecretsRequest{Organization: "o", Project: "mine", Domain: "development", Limit: 100})
	require.NoError(t, err)
	require.NotContains(t, listed.String(), "password")

	values := enginev1connect.NewSecretValueServiceClient(n.inner, n.url)
	read := func(project string, names ...string) *enginev1.GetSecretValuesResponse {
		answer, err := values.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: project, Domain: "development", Names: names})
		require.NoError(t, err)
		return answer
	}
	require.Equal(t, "value", string(read(victim, "password").GetValues()[0].GetValue()), "it exists")
	require.Empty(t, read("mine", "password").GetValues())
	for _, name := range []string{victim + "/development/password", "../" + victim + "/development/password", victim + "_development_password"} {
		answer, err := values.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "mine", Domain: "development", Names: []string{name}})
		if err != nil {
			require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
		}
		require.Empty(t, answer.GetValues(), name)
	}
}

// TestAppsOfAnotherTenantAreNotReached: through the gateway, the answer is the same whether the app exists or not, however the address is written.
func TestAppsOfAnotherTenantAreNotReached(t *testing.T) {
	n := newNeighbours(t)
	ask := func(who, path string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+path, nil)
		require.NoError(t, err)
		response, err := as(who).Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	status, words := ask("bob", "/apps/"+victim+"/development/web/")
	require.NotContains(t, []int{http.StatusNotFound, http.StatusForbidden}, status, "its users reach it, and are told that it is stopped: %s", words)
	for _, attacker := range []string{"ada", "task of first", ""} {
		for _, prefix := range []string{"/apps/" + victim + "/development/", "/apps/mine/development/../../" + victim + "/development/", "/apps/mine/development/%2e%2e/%2e%2e/" + victim + "/development/"} {
			there, said := ask(attacker, prefix+"web/")
			missing, other := ask(attacker, prefix+"nothing/")
			require.GreaterOrEqual(t, there, 400, prefix)
			require.Equal(t, missing, there, prefix)
			require.Equal(t, strings.ReplaceAll(said, "web", "nothing"), strings.ReplaceAll(other, "web", "nothing"), prefix)
		}
	}
}
