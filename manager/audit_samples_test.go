package manager_test

import "net/http"

// sample is a call that changes something. Texts have NAME where the name of what it is about is: each procedure has things of its own.
type sample struct {
	body string
	// given are calls that are made before, with their own samples.
	given []string
	// row is a statement that makes what no call makes.
	row string
	// id is the field of the answer to the last given call in which the id is for which the body has $ID.
	id string
	// person makes the call; empty means root.
	person string
	// counts is a table in which each try counts, also one that changes nothing.
	counts string
	// refused is the status of a call that this server never serves.
	refused int
}

// parts are replaced in bodies.
var parts = []string{
	"$RUN", `{"org": "o", "project": "mine", "domain": "development", "name": "NAME"}`,
	"$ROOT", `{"run": {"org": "o", "project": "mine", "domain": "development", "name": "NAME"}, "name": "a0"}`,
	"$CHILD", `{"run": {"org": "o", "project": "mine", "domain": "development", "name": "NAME"}, "name": "child"}`,
	"$CONDITION", `"condition": {"name": "child", "type": {"simple": "INTEGER"}}`,
	"$ENQUEUED", `"parentActionName": "a0", "inputUri": "$STORAGE/mine/development/NAME/child/inputs.pb", "runOutputBase": "$STORAGE/mine/development/NAME/"`,
	"$SPEC", `{"taskTemplate": {"id": {"resourceType": "TASK", "project": "mine", "domain": "development", "name": "NAME", "version": "1"},
		"type": "python", "container": {"image": "hello:1"}}}`,
	"$TASK", `{"org": "o", "project": "mine", "domain": "development", "name": "NAME", "version": "1"}`,
	"$TRIGGER", `{"org": "o", "project": "mine", "domain": "development", "taskName": "NAME", "name": "nightly"}`,
	"$ARTIFACT", `{"org": "o", "project": "mine", "domain": "development", "name": "NAME"}`,
	"$APP", `{"org": "o", "project": "mine", "domain": "development", "name": "NAME"}`,
	"$SECRET", `{"organization": "o", "project": "mine", "domain": "development", "name": "NAME"}`,
	"$PLACE", `{"organization": "o", "name": "mine", "domain": "development"}`,
}

const (
	accounts  = "/flytebinary.access.v1.AccountService/"
	roles     = "/flytebinary.access.v1.AccessService/"
	keys      = "/flytebinary.access.v1.KeyService/"
	registry  = "/flytebinary.clusters.v1.ClusterRegistryService/"
	saved     = "/flytebinary.insight.v1.ViewService/"
	asked     = "/flytebinary.insight.v1.ConditionService/"
	marked    = "/flytebinary.insight.v1.StarService/"
	backfills = "/flytebinary.insight.v1.TriggerInsightService/"
	children  = "/flyteidl2.actions.ActionsService/"
	apps      = "/flyteidl2.app.AppService/"
	models    = "/flyteidl2.artifact.ArtifactService/"
	data      = "/flyteidl2.dataproxy.DataProxyService/"
	domains   = "/flyteidl2.org.DomainService/"
	projects  = "/flyteidl2.project.ProjectService/"
	secrets   = "/flyteidl2.secret.SecretService/"
	chosen    = "/flyteidl2.settings.SettingsService/"
	deployed  = "/flyteidl2.task.TaskService/DeployTask"
	triggers  = "/flyteidl2.trigger.TriggerService/"
	queued    = "/flyteidl2.workflow.QueueService/"
	started   = "/flyteidl2.workflow.RunService/"
	tracked   = "/flyteidl2.workflow.TrackedRunService/"
)

// stopped is an app that runs nowhere, with an image.
func stopped(image string) string {
	return `{"app": {"metadata": {"id": $APP}, "spec": {"container": {"image": "` + image + `"}, "desiredState": "DESIRED_STATE_STOPPED"}}}`
}

// samples are calls of all procedures that change something.
var samples = map[string]sample{
	projects + "CreateProject": {body: `{"project": {"id": "NAME"}}`},
	projects + "UpdateProject": {given: []string{projects + "CreateProject"}, body: `{"project": {"id": "NAME", "name": "Newer"}}`},
	domains + "CreateDomain":   {body: `{"id": "new"}`, refused: http.StatusNotImplemented},
	domains + "UpdateDomain":   {body: `{"id": "development"}`, refused: http.StatusNotImplemented},
	domains + "DeleteDomain":   {body: `{"id": "development"}`, refused: http.StatusNotImplemented},
	chosen + "CreateSettings":  {given: []string{projects + "CreateProject"}, body: `{"key": {"org": "o", "domain": "development", "project": "NAME"}, "settings": {}}`},
	chosen + "UpdateSettings": {
		given: []string{projects + "CreateProject", chosen + "CreateSettings"},
		body:  `{"key": {"org": "o", "domain": "development", "project": "NAME"}, "settings": {}, "version": 1}`,
	},

	roles + "PutRole":    {body: `{"role": {"name": "NAME", "permissions": ["run.view"]}}`},
	roles + "DeleteRole": {given: []string{roles + "PutRole"}, body: `{"name": "NAME"}`},
	roles + "CreateBinding": {
		given: []string{roles + "PutRole"},
		body:  `{"member": {"kind": "MEMBER_KIND_USER", "name": "eve"}, "role": "NAME", "scope": {"project": "mine"}}`,
	},
	roles + "DeleteBinding":      {given: []string{roles + "PutRole", roles + "CreateBinding"}, id: "binding", body: `{"id": "$ID", "scope": {"project": "mine"}}`},
	keys + "CreateKey":           {body: `{"name": "NAME", "roles": [{"role": "viewer", "scope": {}}]}`},
	registry + "AddCluster":      {body: `{"name": "NAME"}`},
	registry + "IssueCredential": {given: []string{registry + "AddCluster"}, body: `{"cluster": "NAME"}`},
	registry + "RevokeCredential": {
		given: []string{registry + "AddCluster", registry + "IssueCredential"}, id: "credential", body: `{"id": "$ID"}`,
	},
	registry + "CordonCluster":   {given: []string{registry + "AddCluster"}, body: `{"name": "NAME", "note": "broken"}`},
	registry + "DrainCluster":    {given: []string{registry + "AddCluster"}, body: `{"name": "NAME", "deadline": "3600s"}`},
	registry + "UncordonCluster": {given: []string{registry + "AddCluster"}, body: `{"name": "NAME"}`},
	registry + "UpdateCluster":   {given: []string{registry + "AddCluster"}, body: `{"name": "NAME", "weight": 2}`},
	registry + "RemoveCluster":   {given: []string{registry + "AddCluster"}, body: `{"name": "NAME"}`},
	keys + "RevokeKey":           {given: []string{keys + "CreateKey"}, id: "key", body: `{"id": "$ID"}`},

	accounts + "CreateAccount":  {body: `{"account": {"name": "NAME"}, "password": "correct horse"}`},
	accounts + "UpdateAccount":  {given: []string{accounts + "CreateAccount"}, body: `{"account": {"name": "NAME", "email": "new@example.com"}}`},
	accounts + "SetPassword":    {given: []string{accounts + "CreateAccount"}, body: `{"name": "NAME", "password": "battery staple"}`},
	accounts + "UnlockAccount":  {given: []string{accounts + "CreateAccount"}, body: `{"name": "NAME"}`},
	accounts + "RemoveAccount":  {given: []string{accounts + "CreateAccount"}, body: `{"name": "NAME"}`},
	accounts + "ChangePassword": {given: []string{accounts + "CreateAccount"}, person: "NAME", counts: "public.access_accounts", body: `{"current": "correct horse", "password": "battery staple"}`},
	accounts + "EndSessions": {
		row: `INSERT INTO access_sessions (id, token, client, subject, person, created_at, seen_at, expires_at)
			VALUES ('NAME', 'NAME', 'console', 'NAME', '{}', now(), now(), now() + interval '1 hour')`,
		body: `{"subject": "NAME"}`,
	},

	deployed: {body: `{"taskId": $TASK, "spec": $SPEC, "triggers": [{"name": "nightly", "spec": {}, "automationSpec": {"type": "TYPE_SCHEDULE",
		"schedule": {"rate": {"value": 1, "unit": "FIXED_RATE_UNIT_DAY", "startTime": "2020-01-01T00:00:00Z"}}}}]}`},
	triggers + "DeployTrigger":  {given: []string{deployed}, body: `{"name": {"org": "o", "project": "mine", "domain": "development", "taskName": "NAME", "name": "other"}, "spec": {"taskVersion": "1"}}`},
	triggers + "UpdateTriggers": {given: []string{deployed}, body: `{"names": [$TRIGGER], "active": true}`},
	triggers + "DeleteTriggers": {given: []string{deployed}, body: `{"names": [$TRIGGER]}`},
	backfills + "Backfill": {
		given: []string{deployed},
		body:  `{"name": $TRIGGER, "from": "2020-01-01T00:00:00Z", "until": "2020-01-03T00:00:00Z"}`,
	},
	backfills + "CancelBackfill": {given: []string{deployed, backfills + "Backfill"}, id: "backfill", body: `{"name": $TRIGGER, "id": "$ID"}`},

	models + "CreateArtifact": {
		body: `{"artifactId": {"name": $ARTIFACT, "version": "1"}, "spec": {"type": {"simple": "INTEGER"}, "value": {"scalar": {"primitive": {"integer": "1"}}}}}`,
	},
	models + "DeclareArtifact": {body: `{"name": $ARTIFACT, "partitionSchema": {"partitionKeys": ["region"]}}`},
	models + "DeleteArtifact":  {given: []string{models + "CreateArtifact"}, body: `{"artifactId": {"name": $ARTIFACT, "version": "1"}}`},

	apps + "Create": {body: stopped("web:1")},
	apps + "Update": {given: []string{apps + "Create"}, body: stopped("web:2")},
	apps + "Delete": {given: []string{apps + "Create"}, body: `{"appId": $APP}`},
	"/flytebinary.insight.v1.AppInsightService/RollBack": {given: []string{apps + "Create", apps + "Update"}, body: `{"appId": $APP, "revision": 1}`},

	secrets + "CreateSecret": {body: `{"id": $SECRET, "secretSpec": {"stringValue": "x"}}`},
	secrets + "UpdateSecret": {given: []string{secrets + "CreateSecret"}, body: `{"id": $SECRET, "secretSpec": {"stringValue": "y"}}`},
	secrets + "DeleteSecret": {given: []string{secrets + "CreateSecret"}, body: `{"id": $SECRET}`},

	data + "UploadInputs":         {body: `{"projectId": $PLACE, "taskSpec": $SPEC, "inputs": {}}`},
	data + "CreateUploadLocation": {body: `{"org": "o", "project": "mine", "domain": "development", "filename": "NAME", "expiresIn": "60s", "contentMd5": "1B2M2Y8AsgTpgAmY7PhCfg=="}`},

	started + "CreateRun":   {body: `{"runId": $RUN, "taskSpec": $SPEC}`},
	started + "AbortRun":    {given: []string{started + "CreateRun"}, body: `{"runId": $RUN}`},
	started + "AbortAction": {given: []string{started + "CreateRun"}, body: `{"actionId": $ROOT}`},
	started + "SignalEvent": {
		given: []string{started + "CreateRun", children + "Enqueue"},
		body:  `{"actionId": $CHILD, "parentActionName": "a0", "payload": {"intValue": "1"}}`,
	},
	asked + "AssignCondition": {given: []string{started + "CreateRun", children + "Enqueue"}, body: `{"actionId": $CHILD, "subject": "root"}`},
	asked + "AnswerCondition": {
		given: []string{started + "CreateRun", children + "Enqueue"},
		body:  `{"actionId": $CHILD, "payload": {"intValue": "1"}, "comment": "fine"}`,
	},
	children + "Enqueue": {given: []string{started + "CreateRun"}, body: `{"action": {"actionId": $CHILD, $ENQUEUED, $CONDITION}}`},
	children + "Abort":   {given: []string{started + "CreateRun"}, body: `{"actionId": $ROOT}`},
	children + "Signal": {
		given: []string{started + "CreateRun", children + "Enqueue"},
		body:  `{"actionId": $CHILD, "parentActionName": "a0", "value": {"scalar": {"primitive": {"integer": "1"}}}}`,
	},
	children + "Update":                    {given: []string{started + "CreateRun"}, body: `{"actionId": $ROOT, "attempt": 1, "status": {"phase": "ACTION_PHASE_RUNNING", "attempts": 1}}`},
	queued + "EnqueueAction":               {given: []string{started + "CreateRun"}, body: `{"actionId": $CHILD, $ENQUEUED, $CONDITION}`},
	queued + "AbortQueuedAction":           {given: []string{started + "CreateRun"}, body: `{"actionId": $ROOT}`},
	queued + "AbortQueuedRun":              {given: []string{started + "CreateRun"}, body: `{"runId": $RUN}`},
	"/flyteidl2.workflow.StateService/Put": {given: []string{started + "CreateRun"}, body: `{"actionId": $ROOT, "state": "{}"}`},

	tracked + "CreateRun": {body: `{"runId": $RUN, "taskSpec": $SPEC}`},
	tracked + "AbortRun":  {given: []string{tracked + "CreateRun"}, body: `{"runId": $RUN}`},
	tracked + "ReportActions": {
		given: []string{tracked + "CreateRun"},
		body:  `{"runId": $RUN, "updates": [{"event": {"id": $ROOT, "attempt": 1, "phase": "ACTION_PHASE_RUNNING", "updatedTime": "2030-01-01T00:00:00Z"}}]}`,
	},

	"/flytebinary.insight.v1.CacheInsightService/EvictCacheEntries": {body: `{"projectId": {"organization": "o", "name": "mine", "domain": "development"}, "task": "none"}`},

	marked + "AddStar":    {body: `{"target": {"project": "mine", "domain": "development", "run": "NAME"}}`},
	marked + "RemoveStar": {given: []string{marked + "AddStar"}, body: `{"target": {"project": "mine", "domain": "development", "run": "NAME"}}`},

	saved + "SaveView":         {body: `{"view": {"name": "NAME", "query": "phase:failed"}}`},
	saved + "DeleteView":       {given: []string{saved + "SaveView"}, body: `{"name": "NAME"}`},
	saved + "ShareView":        {body: `{"projectId": {"name": "mine", "domain": "development"}, "view": {"name": "NAME"}}`},
	saved + "DeleteSharedView": {given: []string{saved + "ShareView"}, body: `{"projectId": {"name": "mine", "domain": "development"}, "name": "NAME"}`},

	"/flytebinary.insight.v1.NotificationService/SendTest": {
		row:  `DELETE FROM notification_deliveries`, // what was sent again before is tried at any time
		body: `{"projectId": $PLACE, "rule": "sample"}`,
	},
	"/flytebinary.insight.v1.NotificationService/RetryDelivery": {
		row: `INSERT INTO notification_deliveries (key, source, part, run_id, project, domain, run_name, action, phase, kind, lane, data, state, next_at, created_at, ended_at)
			VALUES ('NAME', -1, 1, 1, 'mine', 'development', 'first', 'a0', 5, 1, 'lane', '{}', 3, now(), now(), now())`,
		body: `{"runId": {"org": "o", "project": "mine", "domain": "development", "name": "first"}, "deliveryId": "NAME"}`,
	},
}
