package authz

// procedures is the table of authorization: every procedure that any service serves, by service, with who may
// call it at all, the permission it takes, and where its request names what it is about. It also says which messages may
// be large, and why. Tests walk the descriptors and fail when a procedure, or an identifier of a request, is missing.
var procedures = map[string]map[string]Row{
	"flytebinary.engine.v1.ActionStateService": {
		"GetActionState": {ClassInternal, "action.view", on("action_id")},
		"PutActionState": {ClassInternal, "action.update", on("action_id")},
	},
	"flytebinary.engine.v1.AppFleetService": {
		"ReportApps": {ClassInternal, "app.report", large("the replicas of a batch of apps", nothing("uids of the caller's own objects"))},
		"WatchApps":  {ClassInternal, "app.assign", nothing("everything that a cluster should run")},
	},
	"flytebinary.engine.v1.AppRouteService": {
		"ReportLoad":  {ClassInternal, "app.report", large("the load of a batch of apps", nothing("apps of all projects"))},
		"WakeApp":     {ClassInternal, "app.wake", nothing("an app by its uid; the gateway checked the request")},
		"WatchRoutes": {ClassInternal, "app.route", nothing("the routes of all projects")},
	},
	"flytebinary.engine.v1.AppUseService": {
		"ListAppUses": {ClassInternal, "app.view", nothing("versions and runs of the graph that a service draws")},
	},
	"flytebinary.engine.v1.ArtifactEventService": {
		"GetArtifactMark":      {ClassInternal, "artifact.view", nothing("a number for all versions")},
		"ListArtifactEvents":   {ClassInternal, "artifact.view", nothing("the new versions of all projects")},
		"RemoveArtifactEvents": {ClassInternal, "artifact.view", nothing("numbers of events that the caller has read")},
	},
	"flytebinary.engine.v1.ArtifactRegistryService": {
		"FindUses":        {ClassInternal, "artifact.view", on("actions.action_id")},
		"RegisterOutputs": {ClassInternal, "artifact.create", on("action_id")},
	},
	"flytebinary.engine.v1.ArtifactUseService": {
		"ListArtifactUses": {ClassInternal, "run.view", nothing("versions and runs of the graph that a service draws")},
	},
	"flytebinary.engine.v1.EngineService": {
		"GetActionStorage":  {ClassInternal, "action.view", on("action_id")},
		"GetAssignments":    {ClassInternal, "action.assign", nothing("uids of the caller's own objects")},
		"RecordTransitions": {ClassInternal, "action.record", large("a batch of reports, each with the whole error of a task", on("transitions.event.id"))},
		"WatchAssignments":  {ClassInternal, "action.assign", nothing("everything that was admitted")},
		"WatchChildren":     {ClassInternal, "action.view", on("parent")},
	},
	"flytebinary.engine.v1.PodLogService": {
		"TailContainer": {ClassInternal, "log.view", nothing("names a pod; the caller checked the action")},
	},
	"flytebinary.engine.v1.SecretValueService": {
		"GetSecretValues": {ClassInternal, "secret.use", on(self)},
	},
	"flytebinary.engine.v1.TaskTriggerService": {
		"ApplyTaskTriggers":     {ClassInternal, "trigger.deploy", large("the spec of a task and the inputs of its triggers", on("task_id"))},
		"SummariseTaskTriggers": {ClassInternal, "trigger.view", on("tasks")},
	},
	"flytebinary.engine.v1.TriggerRunService": {
		"StartTriggeredRun": {ClassInternal, "run.create", large("the spec of a task and the inputs of a run", on("trigger"))},
	},
	"flytebinary.engine.v1.WorkerFleetService": {
		"IssueWorkerToken": {ClassInternal, "worker.assign", nothing("a worker by its id")},
		"ReportWorkers":    {ClassInternal, "worker.report", large("a batch of workers", nothing("ids of the caller's own objects"))},
		"WatchWorkers":     {ClassInternal, "worker.assign", nothing("all workers that a cluster should run")},
	},
	"flytebinary.engine.v1.WorkerPoolService": {
		"ExplainWorkerWait": {ClassInternal, "action.view", nothing("an action by its uid; the caller checked it")},
	},
	"flytebinary.insight.v1.AppInsightService": {
		"ExplainApp":    {ClassUser, "app.view", on("app_id")},
		"ListAppEvents": {ClassUser, "app.view", on("app_id")},
		"ListAppsOfRun": {ClassUser, "app.view", listing(nothing("apps of every place, which may use the run"))},
		"ListRevisions": {ClassUser, "app.view", on("app_id")},
		"RollBack":      {ClassUser, "app.update", on("app_id")},
	},
	"flytebinary.insight.v1.ArtifactInsightService": {
		"GetLineage": {ClassUser, "artifact.view", listing(on("artifact_id", "run_id"))},
	},
	"flytebinary.insight.v1.CodeService": {
		"GetCode": {ClassUser, "task.view", on("action_id")},
	},
	"flytebinary.insight.v1.InsightService": {
		"ExplainAction":     {ClassUser, "action.view", on("action_id")},
		"GetActivity":       {ClassUser, "run.view", listing(nothing("every place of the installation"))},
		"GetTaskHistory":    {ClassUser, "task.view", on(self)},
		"ListDataFlow":      {ClassUser, "action.view", on("action_id")},
		"ListErrors":        {ClassUser, "action.view", on("run_id")},
		"ListPausedActions": {ClassUser, "action.view", listing(on(self))},
		"ListQueues":        {ClassUser, "queue.view", nothing("queues belong to the installation")},
		"ListTransitions":   {ClassUser, "action.view", on("run_id")},
		"PreviewRecovery":   {ClassUser, "run.view", on("run_id")},
		"PreviewRetention":  {ClassUser, "retention.view", nothing("retention is of the installation")},
		"Search":            {ClassUser, "run.view", listing(nothing("every place of the installation"))},
		"WatchRunActions":   {ClassUser, "run.view", on("run_id")},
	},
	"flytebinary.insight.v1.NotificationService": {
		"ListDeliveries": {ClassUser, "notification.view", listing(on("run_id", "project_id"))},
		"RetryDelivery":  {ClassUser, "notification.retry", on("run_id")},
	},
	"flytebinary.insight.v1.PoolInsightService": {
		"ListPools":   {ClassUser, "pool.view", listing(on("project_id"))},
		"ListWorkers": {ClassUser, "pool.view", on("project_id")},
	},
	"flytebinary.insight.v1.SystemService": {
		"GetSystem": {ClassUser, "system.view", nothing("the process itself")},
	},
	"flytebinary.insight.v1.TriggerInsightService": {
		"Backfill":       {ClassUser, "trigger.backfill", on("name")},
		"CancelBackfill": {ClassUser, "trigger.backfill", on("name")},
		"ExplainTrigger": {ClassUser, "trigger.view", on("name")},
		"ListBackfills":  {ClassUser, "trigger.view", on("name")},
		"ListSlots":      {ClassUser, "trigger.view", on("name")},
	},
	"flytebinary.worker.v1.WorkerService": {
		"Work": {ClassWorker, "action.run", large("the state of all attempts of a worker", nothing("attempts that the worker was given"))},
	},
	"flyteidl2.actions.ActionsService": {
		"Abort":           {ClassTask, "action.abort", on("action_id")},
		"Enqueue":         {ClassTask, "action.enqueue", large("the spec of a task", on("action.action_id"))},
		"Signal":          {ClassTask, "action.signal", large("a value", on("action_id"))},
		"Update":          {ClassTask, "action.update", on("action_id")},
		"WatchForUpdates": {ClassTask, "action.view", on("parent_action_id")},
	},
	"flyteidl2.app.AppLogsService": {
		"TailLogs": {ClassUser, "log.view", on("app_id", "replica_id")},
	},
	"flyteidl2.app.AppService": {
		"Create":       {ClassUser, "app.create", on("app.metadata.id")},
		"Delete":       {ClassUser, "app.delete", on("app_id")},
		"Get":          {ClassUser, "app.view", listing(on("app_id"))},
		"Lease":        {ClassInternal, "app.lease", on("id")},
		"List":         {ClassUser, "app.view", listing(on("project", "cluster_id"))},
		"Update":       {ClassUser, "app.update", on("app.metadata.id")},
		"UpdateStatus": {ClassInternal, "app.report", on("app.metadata.id")},
		"Watch":        {ClassUser, "app.view", listing(on("project", "app_id", "cluster_id"))},
	},
	"flyteidl2.artifact.ArtifactService": {
		"CreateArtifact":           {ClassTask, "artifact.create", large("the value of an artifact", on("artifact_id"))},
		"DeclareArtifact":          {ClassTask, "artifact.create", on("name")},
		"DeleteArtifact":           {ClassTask, "artifact.delete", on("artifact_id")},
		"GetArtifact":              {ClassTask, "artifact.view", on("name")},
		"GetArtifactSchema":        {ClassTask, "artifact.view", on("name")},
		"ListArtifactMetadataKeys": {ClassTask, "artifact.view", on("project_id")},
		"ListArtifactNames":        {ClassTask, "artifact.view", on("project_id")},
		"ListArtifacts":            {ClassTask, "artifact.view", on("project_id")},
		"ListPartitionValues":      {ClassTask, "artifact.view", on("project_id")},
	},
	"flyteidl2.auth.AuthMetadataService": {
		"GetOAuth2Metadata":     {ClassPublic, "auth.discover", nothing("how to sign in")},
		"GetPublicClientConfig": {ClassPublic, "auth.discover", nothing("how to sign in")},
	},
	"flyteidl2.auth.IdentityService": {
		"UserInfo": {ClassUser, "identity.view", nothing("the caller itself")},
	},
	"flyteidl2.cacheservice.CacheService": {
		"Delete":                 {ClassInternal, "cache.delete", nothing("keys are digests that all projects share")},
		"Get":                    {ClassInternal, "cache.view", nothing("keys are digests that all projects share")},
		"GetOrExtendReservation": {ClassInternal, "cache.reserve", nothing("keys are digests that all projects share")},
		"Put":                    {ClassInternal, "cache.write", nothing("keys are digests that all projects share")},
		"ReleaseReservation":     {ClassInternal, "cache.reserve", nothing("keys are digests that all projects share")},
	},
	"flyteidl2.cacheservice.v2.CacheService": {
		"Delete":                 {ClassInternal, "cache.delete", on("identifier")},
		"Get":                    {ClassInternal, "cache.view", on("identifier")},
		"GetOrExtendReservation": {ClassInternal, "cache.reserve", on("identifier")},
		"Put":                    {ClassInternal, "cache.write", on("identifier")},
		"ReleaseReservation":     {ClassInternal, "cache.reserve", on("identifier")},
	},
	"flyteidl2.cluster.ClusterService": {
		"SelectCluster": {ClassTask, "cluster.select", on("org_id", "project_id", "task_id", "action_id", "action_attempt_id", "app_id", "cluster_pool_id", "domain_id", "cluster_id", "queue_id")},
	},
	"flyteidl2.connector.AsyncConnectorService": {
		"CreateTask":     {ClassInternal, "connector.use", large("the spec and the inputs of a task", on("task_execution_metadata.task_execution_id.task_id"))},
		"DeleteTask":     {ClassInternal, "connector.use", nothing("a job of the connector, by its own name")},
		"GetTask":        {ClassInternal, "connector.use", nothing("a job of the connector, by its own name")},
		"GetTaskLogs":    {ClassInternal, "connector.use", nothing("a job of the connector, by its own name")},
		"GetTaskMetrics": {ClassInternal, "connector.use", nothing("a job of the connector, by its own name")},
	},
	"flyteidl2.connector.ConnectorMetadataService": {
		"GetConnector":   {ClassInternal, "connector.use", nothing("connectors belong to the installation")},
		"ListConnectors": {ClassInternal, "connector.use", nothing("connectors belong to the installation")},
	},
	"flyteidl2.dataproxy.DataProxyService": {
		"CreateDownloadLink":   {ClassTask, "data.view", on("action_attempt_id", "app_id", "task_id")},
		"CreateUploadLocation": {ClassTask, "data.upload", on(self)},
		"GetActionData":        {ClassTask, "data.view", on("action_id")},
		"TailLogs":             {ClassTask, "log.view", on("action_id")},
		"UploadInputs":         {ClassTask, "data.upload", large("the inputs of a run", on("run_id", "project_id", "task_id", "trigger_name"))},
	},
	"flyteidl2.imagebuilder.ImageService": {
		"GetImage": {ClassTask, "image.view", on("project_id")},
	},
	"flyteidl2.org.DomainService": {
		"CreateDomain": {ClassUser, "domain.create", on(self)},
		"DeleteDomain": {ClassUser, "domain.delete", on(self)},
		"GetDomain":    {ClassUser, "domain.view", on(self)},
		"ListDomains":  {ClassUser, "domain.view", nothing("domains belong to the installation")},
		"UpdateDomain": {ClassUser, "domain.update", on(self)},
	},
	"flyteidl2.project.ProjectService": {
		"CreateProject": {ClassUser, "project.create", on("project")},
		"GetProject":    {ClassUser, "project.view", on(self)},
		"ListProjects":  {ClassUser, "project.view", listing(nothing("every project of the installation"))},
		"UpdateProject": {ClassUser, "project.update", on("project")},
	},
	"flyteidl2.secret.SecretService": {
		"CreateSecret": {ClassUser, "secret.create", large("the value of a secret", on("id"))},
		"DeleteSecret": {ClassUser, "secret.delete", on("id")},
		"GetSecret":    {ClassUser, "secret.view", on("id")},
		"ListSecrets":  {ClassUser, "secret.view", on(self)},
		"UpdateSecret": {ClassUser, "secret.update", large("the value of a secret", on("id"))},
	},
	"flyteidl2.settings.SettingsService": {
		"CreateSettings":     {ClassUser, "settings.create", on("key")},
		"GetSettings":        {ClassUser, "settings.view", on("key")},
		"GetSettingsForEdit": {ClassUser, "settings.view", on("key")},
		"UpdateSettings":     {ClassUser, "settings.update", on("key")},
	},
	"flyteidl2.task.TaskService": {
		"DeployTask":     {ClassTask, "task.deploy", large("the spec of a task and the inputs of its triggers", on("task_id"))},
		"GetTaskDetails": {ClassTask, "task.view", on("task_id")},
		"ListTasks":      {ClassTask, "task.view", listing(on("project_id"))},
		"ListVersions":   {ClassTask, "task.view", on("task_name")},
	},
	"flyteidl2.trigger.TriggerService": {
		"DeleteTriggers":            {ClassUser, "trigger.delete", on("names")},
		"DeployTrigger":             {ClassUser, "trigger.deploy", large("the inputs of a trigger", on("name"))},
		"GetTriggerDetails":         {ClassUser, "trigger.view", on("name")},
		"GetTriggerRevisionDetails": {ClassUser, "trigger.view", on("id")},
		"GetTriggerRevisionHistory": {ClassUser, "trigger.view", on("name")},
		"ListTriggers":              {ClassUser, "trigger.view", listing(on("project_id", "task_id", "task_name"))},
		"UpdateTriggers":            {ClassUser, "trigger.update", on("names")},
	},
	"flyteidl2.workflow.EventsProxyService": {
		"Record": {ClassInternal, "action.record", large("a batch of reports", on("events.id"))},
	},
	"flyteidl2.workflow.InternalRunService": {
		"RecordAction":             {ClassInternal, "action.record", large("the spec of a task", on("action_id"))},
		"RecordActionEventStream":  {ClassInternal, "action.record", large("a report with the error of a task", on("request.event.id"))},
		"RecordActionEvents":       {ClassInternal, "action.record", large("a batch of reports", on("events.id"))},
		"RecordActionStream":       {ClassInternal, "action.record", large("the spec of a task", on("request.action_id"))},
		"UpdateActionStatus":       {ClassInternal, "action.record", on("action_id")},
		"UpdateActionStatusStream": {ClassInternal, "action.record", on("request.action_id")},
	},
	"flyteidl2.workflow.QueueService": {
		"AbortQueuedAction": {ClassTask, "action.abort", on("action_id")},
		"AbortQueuedRun":    {ClassTask, "run.abort", on("run_id")},
		"EnqueueAction":     {ClassTask, "action.enqueue", large("the spec of a task", on("action_id"))},
	},
	"flyteidl2.workflow.RunLogsService": {
		"TailLogs": {ClassUser, "log.view", on("action_id")},
	},
	"flyteidl2.workflow.RunService": {
		"AbortAction":         {ClassTask, "action.abort", on("action_id")},
		"AbortRun":            {ClassTask, "run.abort", on("run_id")},
		"CreateRun":           {ClassTask, "run.create", large("the spec of a task and the inputs of a run", on("run_id", "project_id", "task_id", "trigger_name"))},
		"GetActionData":       {ClassTask, "data.view", on("action_id")},
		"GetActionDataURIs":   {ClassTask, "action.view", on("action_id")},
		"GetActionDetails":    {ClassTask, "action.view", on("action_id")},
		"GetActionLogContext": {ClassTask, "log.view", on("action_id")},
		"GetRunDetails":       {ClassTask, "run.view", on("run_id")},
		"ListActions":         {ClassTask, "action.view", on("run_id")},
		"ListRuns":            {ClassTask, "run.view", listing(on("project_id", "trigger_name", "task_name", "task_id"))},
		"SignalEvent":         {ClassTask, "action.signal", large("a value", on("action_id"))},
		"WatchActionDetails":  {ClassTask, "action.view", on("action_id")},
		"WatchActions":        {ClassTask, "action.view", on("run_id")},
		"WatchClusterEvents":  {ClassTask, "action.view", on("id")},
		"WatchGroups":         {ClassTask, "action.view", on("project_id")},
		"WatchRunDetails":     {ClassTask, "run.view", on("run_id")},
		"WatchRuns":           {ClassTask, "run.view", listing(on("project_id", "task_id", "cluster_id"))},
	},
	"flyteidl2.workflow.StateService": {
		"Get":   {ClassTask, "action.view", on("action_id")},
		"Put":   {ClassTask, "action.update", on("action_id")},
		"Watch": {ClassTask, "action.view", on("parent_action_id")},
	},
	"flyteidl2.workflow.TrackedRunService": {
		"AbortRun":           {ClassTask, "run.abort", on("run_id")},
		"CreateRun":          {ClassTask, "run.create", large("the spec of a task and the inputs of a run", on("run_id", "project_id", "task_id"))},
		"GetActionDetails":   {ClassTask, "action.view", on("action_id")},
		"GetRunDetails":      {ClassTask, "run.view", on("run_id")},
		"ListActions":        {ClassTask, "action.view", on("run_id")},
		"ListRuns":           {ClassTask, "run.view", listing(on("project_id", "trigger_name", "task_name", "task_id"))},
		"ReportActions":      {ClassTask, "action.report", large("a batch of reports", on("run_id", "updates.event.id"))},
		"WatchActionDetails": {ClassTask, "action.view", on("action_id")},
		"WatchActions":       {ClassTask, "action.view", on("run_id")},
		"WatchRunDetails":    {ClassTask, "run.view", on("run_id")},
		"WatchRuns":          {ClassTask, "run.view", listing(on("project_id", "task_id", "cluster_id"))},
	},
	"flyteidl2.workflow.TranslatorService": {
		"JsonValuesToLiterals":     {ClassUser, "translator.use", large("the inputs of a run", nothing("a pure function"))},
		"LaunchFormJsonToLiterals": {ClassUser, "translator.use", large("the inputs of a run", nothing("a pure function"))},
		"LiteralsToLaunchFormJson": {ClassUser, "translator.use", large("the inputs of a run", on("action_id", "trigger_id"))},
		"TaskSpecToLaunchFormJson": {ClassUser, "translator.use", large("the spec of a task", nothing("a pure function"))},
	},
	"grpc.health.v1.Health": {
		"Check": {ClassPublic, "health.view", nothing("the process itself")},
		"Watch": {ClassPublic, "health.view", nothing("the process itself")},
	},
}
