package authz

// procedures is the table of authorization: every procedure that any service serves, by service, with who may
// call it at all, the permission it takes, and where its request names what it is about. It also says which messages may
// be large, and why. Tests walk the descriptors and fail when a procedure, or an identifier of a request, is missing.
var procedures = map[string]map[string]Row{
	"flytebinary.access.v1.AccessService": {
		"CreateBinding": {people, "binding.create", on(self)},
		"DeleteBinding": {people, "binding.delete", on(self)},
		"DeleteRole":    {people, "role.delete", on(self)},
		"Explain":       {people, "identity.view", members(on("scope"))},
		"GetLimits":     {people, "identity.view", members(on(self))}, // the caller's own; the handler checks the project
		"GetMe":         {people, "identity.view", members(nothing("the caller itself"))},
		"ListBindings":  {people, "binding.view", listing(on("scope"))},
		"ListGivers":    {people, "identity.view", members(on("scope"))}, // the handler names no one of a place that the caller does not see
		"ListRoles":     {people, "role.view", members(nothing("roles belong to the installation"))},
		"PutRole":       {people, "role.update", on(self)},
	},
	"flytebinary.access.v1.AccountService": {
		"ChangePassword": {people, "identity.update", members(nothing("the caller's own account"))},
		"CreateAccount":  {people, "account.create", on(self)},
		"EndSessions":    {people, "account.update", on(self)},
		"ListAccounts":   {people, "account.view", nothing("accounts belong to the installation")},
		"RemoveAccount":  {people, "account.delete", on(self)},
		"SetPassword":    {people, "account.update", on(self)},
		"UnlockAccount":  {people, "account.update", on(self)},
		"UpdateAccount":  {people, "account.update", on(self)},
	},
	"flytebinary.access.v1.AuditService": {
		"SearchAudit": {people, "audit.view", on("scope")},
		"VerifyAudit": {people, "audit.verify", nothing("the chain is of the installation")},
	},
	"flytebinary.access.v1.KeyService": {
		"CreateKey": {people, "key.create", members(on(self))}, // the caller's own; the handler checks its roles
		"ListKeys":  {people, "key.view", members(nothing("the caller's own; the handler asks for more"))},
		"RevokeKey": {people, "key.revoke", members(on(self))}, // the caller's own; the handler asks for more
	},
	"flytebinary.clusters.v1.ClusterLinkService": {
		"Beat":    {controllers, "cluster.report", ofCluster("cluster", nothing("the caller's own cluster"))},
		"Connect": {controllers, "cluster.report", ofCluster("cluster", nothing("the caller's own cluster"))},
		"SendLog": {controllers, "cluster.report", ofCluster("cluster", large("lines of a log", nothing("a log that the API ordered of the caller")))},
	},
	"flytebinary.clusters.v1.ClusterLogService": {
		"TailClusterLog": {services, "log.view", nothing("names a pod; the caller checked the action")},
	},
	"flytebinary.clusters.v1.ClusterRegistryService": {
		"AddCluster":       {people, "cluster.create", on(self)},
		"IssueCredential":  {people, "cluster.update", on(self)},
		"ListClusters":     {people, "cluster.view", nothing("clusters belong to the installation")},
		"RemoveCluster":    {people, "cluster.delete", on(self)},
		"RevokeCredential": {people, "cluster.update", on(self)},
	},
	"flytebinary.engine.v1.ActionStateService": {
		"GetActionState": {services, "action.view", on("action_id")},
		"PutActionState": {services, "action.update", on("action_id")},
	},
	"flytebinary.engine.v1.AppFleetService": {
		"GetLiveApps": {services, "app.view", nothing("apps by their uids, for who checks the tokens of their replicas")},
		"ReportApps":  {controllers, "app.report", ofCluster("cluster", large("the replicas of a batch of apps", nothing("uids of the caller's own objects")))},
		"WatchApps":   {controllers, "app.assign", ofCluster("cluster", nothing("everything that a cluster should run"))},
	},
	"flytebinary.engine.v1.AppRouteService": {
		"ReportLoad":  {services, "app.report", large("the load of a batch of apps", nothing("apps of all projects"))},
		"WakeApp":     {services, "app.wake", nothing("an app by its uid; the gateway checked the request")},
		"WatchRoutes": {services, "app.route", nothing("the routes of all projects")},
	},
	"flytebinary.engine.v1.AppUseService": {
		"ListAppUses": {services, "app.view", nothing("versions and runs of the graph that a service draws")},
	},
	"flytebinary.engine.v1.ArtifactEventService": {
		"GetArtifactMark":      {services, "artifact.view", nothing("a number for all versions")},
		"ListArtifactEvents":   {services, "artifact.view", nothing("the new versions of all projects")},
		"RemoveArtifactEvents": {services, "artifact.view", nothing("numbers of events that the caller has read")},
	},
	"flytebinary.engine.v1.ArtifactRegistryService": {
		"FindUses":        {services, "artifact.view", on("actions.action_id")},
		"RegisterOutputs": {services, "artifact.create", on("action_id")},
	},
	"flytebinary.engine.v1.ArtifactUseService": {
		"ListArtifactUses": {services, "run.view", nothing("versions and runs of the graph that a service draws")},
	},
	"flytebinary.engine.v1.ConnectorRegistryService": {
		"ExplainConnectorWait": {services, "action.view", nothing("an action by its uid; the caller checked it")},
		"FindConnector":        {services, "connector.use", nothing("connectors belong to the installation")},
		"TailJob":              {services, "log.view", on("action_id")},
	},
	"flytebinary.engine.v1.EngineService": {
		"GetActionStorage":  {controllers, "action.view", kept("actions of others do not exist for it", on("action_id"))},
		"GetAssignments":    {controllers, "action.assign", ofCluster("cluster", nothing("uids of the caller's own objects"))},
		"AdmitUpload":       {services, "data.upload", nothing("numbers of a project; the caller checked it")},
		"GetBacklog":        {services, "run.view", nothing("numbers of a caller and a project; the caller checked them")},
		"GetLiveAttempts":   {services, "action.view", nothing("attempts by the uids of their actions, for who checks their tokens")},
		"GetStored":         {services, "run.view", nothing("numbers of a project; the caller checked it")},
		"RecordUsage":       {controllers, "action.record", kept("attempts of others are left out", large("the measurements of a batch of attempts", nothing("uids of the caller's own objects")))},
		"RecordTransitions": {controllers, "action.record", ofCluster("transitions.event.cluster", large("a batch of reports, each with the whole error of a task", on("transitions.event.id")))},
		"WatchAssignments":  {controllers, "action.assign", ofCluster("cluster", kept("those of an executor only", nothing("everything that was admitted")))},
		"WatchChildren":     {services, "action.view", on("parent")},
	},
	"flytebinary.engine.v1.PodLogService": {
		"TailContainer": {services, "log.view", nothing("names a pod; the caller checked the action")},
	},
	"flytebinary.engine.v1.SecretValueService": {
		"GetSecretValues": {controllers, "secret.use", kept("for work that is on its cluster", on(self))},
	},
	"flytebinary.engine.v1.TaskTokenService": {
		"IssueTaskToken": {controllers, "token.issue", kept("for work that is on its cluster", nothing("attempts and revisions that the caller starts"))},
	},
	"flytebinary.engine.v1.TaskTriggerService": {
		"ApplyTaskTriggers":     {services, "trigger.deploy", large("the spec of a task and the inputs of its triggers", on("task_id"))},
		"SummariseTaskTriggers": {services, "trigger.view", on("tasks")},
	},
	"flytebinary.engine.v1.TriggerRunService": {
		"StartTriggeredRun": {services, "run.create", large("the spec of a task and the inputs of a run", on("trigger"))},
	},
	"flytebinary.engine.v1.WorkerFleetService": {
		"IssueWorkerToken": {controllers, "worker.assign", kept("workers of others do not exist for it", nothing("a worker by its id"))},
		"LocateWorker":     {services, "worker.view", nothing("a worker by its id")},
		"ReportWorkers":    {controllers, "worker.report", kept("workers of others are left out", large("a batch of workers", nothing("ids of the caller's own objects")))},
		"WatchWorkers":     {controllers, "worker.assign", ofCluster("cluster", nothing("all workers that a cluster should run"))},
	},
	"flytebinary.engine.v1.WorkerPoolService": {
		"ExplainWorkerWait": {services, "action.view", nothing("an action by its uid; the caller checked it")},
	},
	"flytebinary.insight.v1.AppInsightService": {
		"ExplainApp":    {people, "app.view", on("app_id")},
		"ListAppEvents": {people, "app.view", on("app_id")},
		"ListAppsOfRun": {people, "app.view", listing(nothing("apps of every place, which may use the run").also("run.view", "run_id"))},
		"ListRevisions": {people, "app.view", on("app_id")},
		"RollBack":      {people, "app.update", on("app_id")},
	},
	"flytebinary.insight.v1.ArtifactInsightService": {
		"GetLineage": {people, "artifact.view", listing(on("artifact_id", "run_id"))},
	},
	"flytebinary.insight.v1.CodeService": {
		"GetCode": {people, "task.view", on("action_id")},
	},
	"flytebinary.insight.v1.ConnectorInsightService": {
		"GetJob":         {people, "action.view", on("action_id")},
		"GetJobMetrics":  {people, "action.view", on("action_id")},
		"ListConnectors": {people, "system.view", nothing("connectors belong to the installation")},
	},
	"flytebinary.insight.v1.FileService": {
		"CreateFileLink": {people, "data.view", on("action_id")},
		"ListFiles":      {people, "data.view", on("action_id")},
	},
	"flytebinary.insight.v1.InsightService": {
		"ExplainAction":     {people, "action.view", on("action_id")},
		"GetActivity":       {people, "run.view", listing(nothing("every place of the installation"))},
		"GetAttemptUsage":   {people, "action.view", on("action_id")},
		"GetTaskHistory":    {people, "task.view", on(self)},
		"ListDataFlow":      {people, "action.view", on("action_id")},
		"ListErrors":        {people, "action.view", on("run_id")},
		"ListPausedActions": {people, "action.view", listing(on(self))},
		"ListQueues":        {people, "queue.view", members(nothing("queues belong to the installation"))},
		"ListTransitions":   {people, "action.view", on("run_id")},
		"PreviewRecovery":   {people, "run.view", on("run_id")},
		"PreviewRetention":  {people, "retention.view", nothing("retention is of the installation")},
		"Search":            {people, "run.view", listing(nothing("every place of the installation"))},
		"SuggestResources":  {people, "task.view", on(self)},
		"WatchRunActions":   {people, "run.view", on("run_id")},
	},
	"flytebinary.insight.v1.NotificationService": {
		"ListDeliveries": {people, "notification.view", listing(on("run_id", "project_id"))},
		"RetryDelivery":  {people, "notification.retry", on("run_id")},
	},
	"flytebinary.insight.v1.PoolInsightService": {
		"ListPools":   {people, "pool.view", listing(on("project_id"))},
		"ListWorkers": {people, "pool.view", on("project_id")},
	},
	"flytebinary.insight.v1.SystemService": {
		"GetSystem": {people, "system.view", nothing("the process itself")},
	},
	"flytebinary.insight.v1.TriggerInsightService": {
		"Backfill":       {people, "trigger.backfill", on("name")},
		"CancelBackfill": {people, "trigger.backfill", on("name")},
		"ExplainTrigger": {people, "trigger.view", on("name")},
		"ListBackfills":  {people, "trigger.view", on("name")},
		"ListSlots":      {people, "trigger.view", on("name")},
	},
	"flytebinary.worker.v1.WorkerService": {
		"Work": {workers, "action.run", large("the state of all attempts of a worker", nothing("attempts that the worker was given"))},
	},
	"flyteidl2.actions.ActionsService": {
		"Abort":           {programs, "action.abort", on("action_id")},
		"Enqueue":         {programs, "action.enqueue", large("the spec of a task", on("action.action_id"))},
		"Signal":          {programs, "action.signal", large("a value", on("action_id"))},
		"Update":          {programs, "action.update", on("action_id")},
		"WatchForUpdates": {programs, "action.view", on("parent_action_id")},
	},
	"flyteidl2.app.AppLogsService": {
		"TailLogs": {people, "log.view", on("app_id", "replica_id")},
	},
	"flyteidl2.app.AppService": {
		"Create":       {people, "app.create", on("app.metadata.id")},
		"Delete":       {people, "app.delete", on("app_id")},
		"Get":          {people, "app.view", listing(on("app_id"))},
		"Lease":        {services, "app.lease", on("id")},
		"List":         {people, "app.view", listing(on("project", "cluster_id"))},
		"Update":       {people, "app.update", on("app.metadata.id")},
		"UpdateStatus": {services, "app.report", on("app.metadata.id")},
		"Watch":        {people, "app.view", listing(on("project", "app_id", "cluster_id"))},
	},
	"flyteidl2.artifact.ArtifactService": {
		"CreateArtifact":           {programs, "artifact.create", large("the value of an artifact", on("artifact_id"))},
		"DeclareArtifact":          {programs, "artifact.create", on("name")},
		"DeleteArtifact":           {programs, "artifact.delete", on("artifact_id")},
		"GetArtifact":              {programs, "artifact.view", on("name")},
		"GetArtifactSchema":        {programs, "artifact.view", on("name")},
		"ListArtifactMetadataKeys": {programs, "artifact.view", on("project_id")},
		"ListArtifactNames":        {programs, "artifact.view", on("project_id")},
		"ListArtifacts":            {programs, "artifact.view", on("project_id")},
		"ListPartitionValues":      {programs, "artifact.view", on("project_id")},
	},
	"flyteidl2.auth.AuthMetadataService": {
		"GetOAuth2Metadata":     {public, "auth.discover", nothing("how to sign in")},
		"GetPublicClientConfig": {public, "auth.discover", nothing("how to sign in")},
	},
	"flyteidl2.auth.IdentityService": {
		"UserInfo": {people, "identity.view", members(nothing("the caller itself"))},
	},
	"flyteidl2.cacheservice.CacheService": {
		"Delete":                 {services, "cache.delete", nothing("keys are digests that all projects share")},
		"Get":                    {services, "cache.view", nothing("keys are digests that all projects share")},
		"GetOrExtendReservation": {services, "cache.reserve", nothing("keys are digests that all projects share")},
		"Put":                    {services, "cache.write", nothing("keys are digests that all projects share")},
		"ReleaseReservation":     {services, "cache.reserve", nothing("keys are digests that all projects share")},
	},
	"flyteidl2.cacheservice.v2.CacheService": {
		"Delete":                 {services, "cache.delete", on("identifier")},
		"Get":                    {services, "cache.view", on("identifier")},
		"GetOrExtendReservation": {services, "cache.reserve", on("identifier")},
		"Put":                    {services, "cache.write", on("identifier")},
		"ReleaseReservation":     {services, "cache.reserve", on("identifier")},
	},
	"flyteidl2.cluster.ClusterService": {
		"SelectCluster": {programs, "cluster.select", members(on("org_id", "project_id", "task_id", "action_id", "action_attempt_id", "app_id", "cluster_pool_id", "domain_id", "cluster_id", "queue_id"))},
	},
	"flyteidl2.connector.AsyncConnectorService": {
		"CreateTask":     {services, "connector.use", large("the spec and the inputs of a task", on("task_execution_metadata.task_execution_id.task_id"))},
		"DeleteTask":     {services, "connector.use", nothing("a job of the connector, by its own name")},
		"GetTask":        {services, "connector.use", nothing("a job of the connector, by its own name")},
		"GetTaskLogs":    {services, "connector.use", nothing("a job of the connector, by its own name")},
		"GetTaskMetrics": {services, "connector.use", nothing("a job of the connector, by its own name")},
	},
	"flyteidl2.connector.ConnectorMetadataService": {
		"GetConnector":   {services, "connector.use", nothing("connectors belong to the installation")},
		"ListConnectors": {services, "connector.use", nothing("connectors belong to the installation")},
	},
	"flyteidl2.dataproxy.DataProxyService": {
		"CreateDownloadLink":   {programs, "data.view", on("action_attempt_id", "app_id", "task_id")},
		"CreateUploadLocation": {programs, "data.upload", on(self)},
		"GetActionData":        {programs, "data.view", on("action_id")},
		"TailLogs":             {programs, "log.view", on("action_id")},
		"UploadInputs":         {programs, "data.upload", large("the inputs of a run", on("run_id", "project_id").also("task.view", "task_id").also("trigger.view", "trigger_name"))},
	},
	"flyteidl2.imagebuilder.ImageService": {
		"GetImage": {programs, "image.view", on("project_id")},
	},
	"flyteidl2.org.DomainService": {
		"CreateDomain": {people, "domain.create", on(self)},
		"DeleteDomain": {people, "domain.delete", on(self)},
		"GetDomain":    {people, "domain.view", members(on(self))},
		"ListDomains":  {people, "domain.view", members(nothing("domains belong to the installation"))},
		"UpdateDomain": {people, "domain.update", on(self)},
	},
	"flyteidl2.project.ProjectService": {
		"CreateProject": {people, "project.create", on("project")},
		"GetProject":    {people, "project.view", on(self)},
		"ListProjects":  {people, "project.view", listing(nothing("every project of the installation"))},
		"UpdateProject": {people, "project.update", on("project")},
	},
	"flyteidl2.secret.SecretService": {
		"CreateSecret": {people, "secret.create", large("the value of a secret", on("id"))},
		"DeleteSecret": {people, "secret.delete", on("id")},
		"GetSecret":    {people, "secret.view", on("id")},
		"ListSecrets":  {people, "secret.view", on(self)},
		"UpdateSecret": {people, "secret.update", large("the value of a secret", on("id"))},
	},
	"flyteidl2.settings.SettingsService": {
		"CreateSettings":     {people, "settings.create", on("key")},
		"GetSettings":        {people, "settings.view", on("key")},
		"GetSettingsForEdit": {people, "settings.view", on("key")},
		"UpdateSettings":     {people, "settings.update", on("key")},
	},
	"flyteidl2.task.TaskService": {
		"DeployTask":     {programs, "task.deploy", large("the spec of a task and the inputs of its triggers", on("task_id"))},
		"GetTaskDetails": {programs, "task.view", on("task_id")},
		"ListTasks":      {programs, "task.view", listing(on("project_id"))},
		"ListVersions":   {programs, "task.view", on("task_name")},
	},
	"flyteidl2.trigger.TriggerService": {
		"DeleteTriggers":            {people, "trigger.delete", on("names")},
		"DeployTrigger":             {people, "trigger.deploy", large("the inputs of a trigger", on("name"))},
		"GetTriggerDetails":         {people, "trigger.view", on("name")},
		"GetTriggerRevisionDetails": {people, "trigger.view", on("id")},
		"GetTriggerRevisionHistory": {people, "trigger.view", on("name")},
		"ListTriggers":              {people, "trigger.view", listing(on("project_id", "task_id", "task_name"))},
		"UpdateTriggers":            {people, "trigger.update", on("names")},
	},
	"flyteidl2.workflow.EventsProxyService": {
		"Record": {services, "action.record", large("a batch of reports", on("events.id"))},
	},
	"flyteidl2.workflow.InternalRunService": {
		"RecordAction":             {services, "action.record", large("the spec of a task", on("action_id"))},
		"RecordActionEventStream":  {services, "action.record", large("a report with the error of a task", on("request.event.id"))},
		"RecordActionEvents":       {services, "action.record", large("a batch of reports", on("events.id"))},
		"RecordActionStream":       {services, "action.record", large("the spec of a task", on("request.action_id"))},
		"UpdateActionStatus":       {services, "action.record", on("action_id")},
		"UpdateActionStatusStream": {services, "action.record", on("request.action_id")},
	},
	"flyteidl2.workflow.QueueService": {
		"AbortQueuedAction": {programs, "action.abort", on("action_id")},
		"AbortQueuedRun":    {programs, "run.abort", on("run_id")},
		"EnqueueAction":     {programs, "action.enqueue", large("the spec of a task", on("action_id"))},
	},
	"flyteidl2.workflow.RunLogsService": {
		"TailLogs": {people, "log.view", on("action_id")},
	},
	"flyteidl2.workflow.RunService": {
		"AbortAction":         {programs, "action.abort", on("action_id")},
		"AbortRun":            {programs, "run.abort", on("run_id")},
		"CreateRun":           {programs, "run.create", large("the spec of a task and the inputs of a run", on("run_id", "project_id").also("task.view", "task_id").also("trigger.view", "trigger_name"))},
		"GetActionData":       {programs, "data.view", on("action_id")},
		"GetActionDataURIs":   {programs, "action.view", on("action_id")},
		"GetActionDetails":    {programs, "action.view", on("action_id")},
		"GetActionLogContext": {programs, "log.view", on("action_id")},
		"GetRunDetails":       {programs, "run.view", on("run_id")},
		"ListActions":         {programs, "action.view", on("run_id")},
		"ListRuns":            {programs, "run.view", listing(on("project_id", "trigger_name", "task_name", "task_id"))},
		"SignalEvent":         {programs, "action.signal", large("a value", on("action_id"))},
		"WatchActionDetails":  {programs, "action.view", on("action_id")},
		"WatchActions":        {programs, "action.view", on("run_id")},
		"WatchClusterEvents":  {programs, "action.view", on("id")},
		"WatchGroups":         {programs, "action.view", on("project_id")},
		"WatchRunDetails":     {programs, "run.view", on("run_id")},
		"WatchRuns":           {programs, "run.view", listing(on("project_id", "task_id", "cluster_id"))},
	},
	"flyteidl2.workflow.StateService": {
		"Get":   {programs, "action.view", on("action_id")},
		"Put":   {programs, "action.update", on("action_id")},
		"Watch": {programs, "action.view", on("parent_action_id")},
	},
	"flyteidl2.workflow.TrackedRunService": {
		"AbortRun":           {programs, "run.abort", on("run_id")},
		"CreateRun":          {programs, "run.create", large("the spec of a task and the inputs of a run", on("run_id", "project_id").also("task.view", "task_id"))},
		"GetActionDetails":   {programs, "action.view", on("action_id")},
		"GetRunDetails":      {programs, "run.view", on("run_id")},
		"ListActions":        {programs, "action.view", on("run_id")},
		"ListRuns":           {programs, "run.view", listing(on("project_id", "trigger_name", "task_name", "task_id"))},
		"ReportActions":      {programs, "action.report", large("a batch of reports", on("run_id", "updates.event.id"))},
		"WatchActionDetails": {programs, "action.view", on("action_id")},
		"WatchActions":       {programs, "action.view", on("run_id")},
		"WatchRunDetails":    {programs, "run.view", on("run_id")},
		"WatchRuns":          {programs, "run.view", listing(on("project_id", "task_id", "cluster_id"))},
	},
	"flyteidl2.workflow.TranslatorService": {
		"JsonValuesToLiterals":     {people, "translator.use", large("the inputs of a run", members(nothing("a pure function")))},
		"LaunchFormJsonToLiterals": {people, "translator.use", large("the inputs of a run", members(nothing("a pure function")))},
		"LiteralsToLaunchFormJson": {people, "translator.use", large("the inputs of a run", on("action_id", "trigger_id"))},
		"TaskSpecToLaunchFormJson": {people, "translator.use", large("the spec of a task", members(nothing("a pure function")))},
	},
	"grpc.health.v1.Health": {
		"Check": {public, "health.view", nothing("the process itself")},
		"Watch": {public, "health.view", nothing("the process itself")},
	},
}
