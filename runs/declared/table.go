package declared

import "google.golang.org/protobuf/reflect/protoreflect"

// decisions are the rulings of table, by message and field.
var decisions = func() map[protoreflect.FullName]map[protoreflect.Name]*ruling {
	all := map[protoreflect.FullName]map[protoreflect.Name]*ruling{}
	for name, d := range table {
		all[name] = d.rulings()
	}
	return all
}()

const (
	noArtifacts = "artifacts are not found by declarations; pass a version as an input, or return flyte.artifacts.new(...)"

	noReuse    = "every attempt gets a process of its own: this server runs no workers of reusable environments"
	noSandbox  = "this server has no sandboxed workers"
	noApple    = "no node of this server offers the GPU of a Mac; the SDK runs such tasks where flyte start devbox --apple-silicon started"
	noIdentity = "pods get the identity of a service account of Kubernetes, and no other; use k8s_service_account"
)

// table decides about every field that the specs of runs and tasks can have. docs/wire-compatibility.md lists what is
// not honored; tests compare the two, and fail for a field without a decision.
var table = map[protoreflect.FullName]decision{
	"flyteidl2.task.RunSpec": {
		honoured: "labels annotations envs interruptible overwrite_cache queue cluster_pool raw_data_storage security_context cache_config run_start_time " +
			"max_action_concurrency run_base_dir related_to relation recover default_settings notification_rule_name notification_rules",
		shown: "task_spec_source",
	},
	"flyteidl2.task.InlineRuleList":                  {honoured: "rules"},
	"flyteidl2.task.InlineRule":                      {honoured: "on_phases delivery_config_name delivery_template"},
	"flyteidl2.notification.DeliveryConfigTemplate":  {honoured: "webhook email"},
	"flyteidl2.notification.WebhookDeliveryTemplate": {honoured: "url method headers body_template"},
	"flyteidl2.notification.EmailDeliveryTemplate": {
		honoured: "to cc bcc inline",
		refused:  map[protoreflect.Name]string{"provider_template": "is not supported: this server sends mail itself; use inline"},
	},
	"flyteidl2.notification.EmailRecipient":      {honoured: "name address"},
	"flyteidl2.notification.InlineEmailTemplate": {honoured: "subject html_template text_template"},

	"flyteidl2.task.Labels":               {honoured: "values"},
	"flyteidl2.task.Annotations":          {honoured: "values"},
	"flyteidl2.task.Envs":                 {honoured: "values"},
	"flyteidl2.task.RawDataStorage":       {honoured: "raw_data_prefix"},
	"flyteidl2.task.CacheConfig":          {honoured: "overwrite_cache cache_lookup_scope"},
	"flyteidl2.task.Recover":              {honoured: "force_rerun_actions"},
	"flyteidl2.task.DefaultSettings":      {honoured: "pod_template_name task_resource_defaults"},
	"flyteidl2.task.TaskResourceDefaults": {honoured: "requests max default_accelerator"},
	"flyteidl2.common.Relation":           {honoured: "related_to relation_type"},
	"flyteidl2.common.RunIdentifier":      {honoured: "project domain name", shown: "org"},

	"flyteidl2.task.TaskSpec":            {honoured: "task_template default_inputs short_name environment", shown: "documentation"},
	"flyteidl2.task.Environment":         {honoured: "name", shown: "description"},
	"flyteidl2.task.DocumentationEntity": {shown: "short_description long_description source_code"},
	"flyteidl2.task.SourceCode":          {shown: "link"},
	"flyteidl2.task.NamedParameter":      {honoured: "name parameter"},
	"flyteidl2.core.Parameter": {
		honoured: "var default required",
		refused:  map[protoreflect.Name]string{"artifact_query": noArtifacts, "artifact_id": noArtifacts},
	},

	"flyteidl2.core.TaskTemplate": {
		// What custom says is for the type, which is judged as a whole.
		honoured: "id type task_type_version metadata interface custom container k8s_pod sql security_context extended_resources config",
		noted:    map[protoreflect.Name]string{"reuse_policy": noReuse}, // see IsReuse
		values: map[protoreflect.Name]enum{"worker_kind": {
			noted:   map[protoreflect.Name]string{"WORKER_KIND_REUSABLE": noReuse}, // see IsReuse
			refused: map[protoreflect.Name]string{"WORKER_KIND_SANDBOX": noSandbox, "WORKER_KIND_MICROVM": noSandbox},
		}},
	},
	"flyteidl2.core.Sql":        {honoured: "statement dialect"},
	"flyteidl2.core.Identifier": {honoured: "project domain name version", shown: "resource_type org"},
	"flyteidl2.core.TaskMetadata": {
		honoured: "discoverable timeout retries discovery_version interruptible cache_serializable pod_template_name " +
			"cache_ignore_input_vars generates_deck produces_artifacts metadata log_links is_entrypoint code_bundle_uri timeouts cache_max_age",
		shown: "runtime tags is_eager debuggable image_build_run",
		noted: map[protoreflect.Name]string{
			"deprecated_error_message": "the author of the task says here why it should no longer be used",
		},
	},
	"flyteidl2.core.RuntimeMetadata":   {shown: "type version flavor"},
	"flyteidl2.core.RetryStrategy":     {honoured: "retries backoff"},
	"flyteidl2.core.Backoff":           {honoured: "base factor cap"},
	"flyteidl2.core.TimeoutStrategy":   {honoured: "queued_timeout deadline"},
	"flyteidl2.core.K8sObjectMetadata": {honoured: "labels annotations"},
	"flyteidl2.core.TaskLog": {
		honoured: "uri name",
		shown:    "message_format ttl ShowWhilePending HideOnceFinished link_type ready icon_uri",
	},

	"flyteidl2.core.TypedInterface": {honoured: "inputs outputs"},
	"flyteidl2.core.VariableMap":    {honoured: "variables"},
	"flyteidl2.core.VariableEntry":  {honoured: "key value"},
	"flyteidl2.core.Variable": {
		honoured: "type", shown: "description",
		noted: map[protoreflect.Name]string{"artifact_partial_id": noArtifacts, "artifact_tag": noArtifacts},
	},

	"flyteidl2.core.Container": {
		honoured: "image command args resources env ports data_config",
		noted: map[protoreflect.Name]string{
			"config":       "only its entry plugin has an effect, which chooses the plugin",
			"architecture": "the cluster chooses the machine; use a pod template with a node selector",
		},
	},
	"flyteidl2.core.ContainerPort":           {honoured: "container_port name"},
	"flyteidl2.core.KeyValuePair":            {honoured: "key value"},
	"flyteidl2.core.DataLoadingConfig":       {honoured: "enabled input_path output_path format io_strategy file_input_layout"},
	"flyteidl2.core.IOStrategy":              {honoured: "download_mode upload_mode"},
	"flyteidl2.core.K8sPod":                  {honoured: "metadata pod_spec data_config primary_container_name"},
	"flyteidl2.core.Resources":               {honoured: "requests limits"},
	"flyteidl2.core.Resources.ResourceEntry": {honoured: "name value"},
	"flyteidl2.core.ExtendedResources":       {honoured: "gpu_accelerator shared_memory"},
	"flyteidl2.core.GPUAccelerator": {
		honoured: "device unpartitioned partition_size",
		values: map[protoreflect.Name]enum{
			"device_class":      {refused: map[protoreflect.Name]string{"APPLE_SILICON": noApple}},
			"accelerator_model": {refused: map[protoreflect.Name]string{"APPLE_SILICON_GPU": noApple}},
		},
	},
	"flyteidl2.core.SharedMemory": {honoured: "mount_path mount_name size_limit"},
	"flyteidl2.core.SecurityContext": {
		honoured: "run_as secrets",
		refused:  map[protoreflect.Name]string{"tokens": "this server gets no tokens for tasks"},
	},
	"flyteidl2.core.Identity": {
		honoured: "k8s_service_account", shown: "execution_identity",
		refused: map[protoreflect.Name]string{"iam_role": noIdentity, "oauth2_client": noIdentity},
	},
	"flyteidl2.core.Secret": {
		honoured: "group key mount_requirement env_var",
		noted:    map[protoreflect.Name]string{"group_version": "secrets have no versions here; the task gets the newest"},
	},

	"flyteidl2.workflow.TaskAction":       {honoured: "id spec cache_key queue"},
	"flyteidl2.task.TaskIdentifier":       {honoured: "project domain name version", shown: "org"},
	"flyteidl2.workflow.TraceAction":      {honoured: "name phase start_time end_time outputs", shown: "spec"},
	"flyteidl2.task.TraceSpec":            {shown: "interface"},
	"flyteidl2.task.OutputReferences":     {honoured: "output_uri report_uri"},
	"flyteidl2.workflow.ConditionAction":  {honoured: "name type prompt prompt_type timeout webhook", shown: "description"},
	"flyteidl2.workflow.ConditionWebhook": {honoured: "url payload"},
}
