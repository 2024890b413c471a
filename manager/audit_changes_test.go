package manager_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// refuseRecords makes it impossible to record that a change was made in the transaction of the change. Records of what has
// begun are taken.
const refuseRecords = `
	CREATE FUNCTION refuse_record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.event->>'Outcome' = 'succeeded' THEN RAISE EXCEPTION 'no record is taken'; END IF;
		RETURN NEW;
	END $$;
	CREATE TRIGGER refuse_record BEFORE INSERT ON access_audit_open FOR EACH ROW EXECUTE FUNCTION refuse_record()`

// TestChangesAndTheirRecordsAreOneTransaction makes each change whose record is part of its transaction. While the record
// cannot be stored, the change fails and nothing has changed: so no process that dies, whenever it does, leaves one without
// the other.
func TestChangesAndTheirRecordsAreOneTransaction(t *testing.T) {
	var database string
	url := startWithRoles(t, func(c *configuration.Config) { database = c.Database.URL })
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	exec := func(statement string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	call := func(procedure, body string) (status int, answer string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+procedure, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := as("root").Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	status, answer := call("/flyteidl2.task.TaskService/DeployTask", `{
		"taskId": {"org": "o", "project": "mine", "domain": "development", "name": "t", "version": "1"},
		"spec": {"taskTemplate": {"id": {"resourceType": "TASK", "project": "mine", "domain": "development", "name": "t", "version": "1"},
			"type": "python", "container": {"image": "hello:1"}}}}`)
	require.Equal(t, http.StatusOK, status, answer)

	const (
		trigger  = `{"org": "o", "project": "mine", "domain": "development", "taskName": "t", "name": "nightly"}`
		artifact = `{"name": {"org": "o", "project": "mine", "domain": "development", "name": "model"}, "version": "1"}`
		key      = `{"org": "o", "domain": "development", "project": "mine"}`
	)
	made := map[string]string{} // ids of what earlier calls have made
	seen := map[string]bool{}
	for _, c := range []struct {
		procedure string
		body      func() string
		id        []string // where the answer has the id
	}{
		{procedure: "/flyteidl2.project.ProjectService/CreateProject", body: text(`{"project": {"id": "new"}}`)},
		{procedure: "/flyteidl2.project.ProjectService/UpdateProject", body: text(`{"project": {"id": "new", "name": "Newer"}}`)},
		{procedure: "/flyteidl2.settings.SettingsService/CreateSettings", body: text(`{"key": ` + key + `, "settings": {}}`)},
		{procedure: "/flyteidl2.settings.SettingsService/UpdateSettings", body: text(`{"key": ` + key + `, "settings": {}, "version": 1}`)},
		{procedure: "/flytebinary.access.v1.AccessService/PutRole", body: text(`{"role": {"name": "reader", "permissions": ["run.view"]}}`)},
		{
			procedure: "/flytebinary.access.v1.AccessService/CreateBinding", id: []string{"binding", "id"},
			body: text(`{"member": {"kind": "MEMBER_KIND_USER", "name": "eve"}, "role": "reader", "scope": {"project": "mine"}}`),
		},
		{
			procedure: "/flytebinary.access.v1.AccessService/DeleteBinding",
			body:      func() string { return fmt.Sprintf(`{"id": %q, "scope": {"project": "mine"}}`, made["binding"]) },
		},
		{procedure: "/flytebinary.access.v1.AccessService/DeleteRole", body: text(`{"name": "reader"}`)},
		{
			procedure: "/flytebinary.access.v1.KeyService/CreateKey", id: []string{"key", "id"},
			body: text(`{"name": "nightly", "roles": [{"role": "viewer", "scope": {}}]}`),
		},
		{procedure: "/flytebinary.access.v1.KeyService/RevokeKey", body: func() string { return fmt.Sprintf(`{"id": %q}`, made["key"]) }},
		{
			procedure: "/flyteidl2.artifact.ArtifactService/CreateArtifact",
			body:      text(`{"artifactId": ` + artifact + `, "spec": {"type": {"simple": "INTEGER"}, "value": {"scalar": {"primitive": {"integer": "1"}}}}}`),
		},
		{procedure: "/flyteidl2.artifact.ArtifactService/DeleteArtifact", body: text(`{"artifactId": ` + artifact + `}`)},
		{procedure: "/flyteidl2.trigger.TriggerService/DeployTrigger", body: text(`{"name": ` + trigger + `, "spec": {"taskVersion": "1"}}`)},
		{procedure: "/flyteidl2.trigger.TriggerService/UpdateTriggers", body: text(`{"names": [` + trigger + `], "active": true}`)},
		{procedure: "/flyteidl2.trigger.TriggerService/DeleteTriggers", body: text(`{"names": [` + trigger + `]}`)},
	} {
		seen[c.procedure] = true
		exec(refuseRecords)
		status, answer := call(c.procedure, c.body())
		require.Equal(t, http.StatusInternalServerError, status, "%s: %s", c.procedure, answer)
		exec(`DROP TRIGGER refuse_record ON access_audit_open; DROP FUNCTION refuse_record`)
		status, answer = call(c.procedure, c.body())
		require.Equal(t, http.StatusOK, status, "%s, after one that failed: %s", c.procedure, answer)
		if c.id != nil {
			var got map[string]map[string]any
			_ = json.Unmarshal([]byte(answer), &got)
			made[c.id[0]], _ = got[c.id[0]][c.id[1]].(string)
			require.NotEmpty(t, made[c.id[0]], answer)
		}
	}
	for _, procedure := range audit.InTransaction() {
		// TestRunsAndTheirRecordsAreCommittedTogether has those of runs.
		require.True(t, seen[procedure] || strings.HasPrefix(procedure, "/flyteidl2.workflow.RunService/"), "no test for %s", procedure)
		delete(seen, procedure)
	}
	require.Empty(t, seen)
}

func text(of string) func() string { return func() string { return of } }
