package texts

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// computed are messages with what a task computes or prints. It may have any character, and is stored as bytes.
var computed = map[protoreflect.FullName]bool{
	"flyteidl2.core.Primitive":        true,
	"flyteidl2.core.ExecutionError":   true,
	"flyteidl2.core.ContainerError":   true,
	"flyteidl2.workflow.ErrorInfo":    true,
	"flyteidl2.workflow.ClusterEvent": true,
}

// payload reports messages that belong to the user's program: values, their types, and free structures. They are
// passed on as they came.
func payload(name protoreflect.FullName) bool {
	return name == "flyteidl2.core.Literal" || name == "flyteidl2.core.LiteralMap" || name == "flyteidl2.core.LiteralType" || strings.HasPrefix(string(name), "google.protobuf.")
}

// textKinds decides what the texts of requests are, by the name of their field. A field that means something else in
// its message is in textFields. Tests walk the requests and fail when the kind of a field is not decided.
var textKinds = kindsByName(map[textKind]string{
	textName:  "force_rerun_actions parent parent_action_name parent_name runs",
	textPlace: "domain id project",
	textTitle: "artifact_name display_name environment first_name friendly_name last_name name short_name task task_name task_version title " +
		"version",
	textProse: "comment deprecated_error_message description group long_description message note prompt query reason " +
		"short_description text",
	textSymbol: "address assigned_cluster cache_ignore_input_vars client_id cluster cluster_pool cname container_name " +
		"cron_expression delivery_config_name delivery_id deployed_by deployment_id device discovery_version email " +
		"env_var execution_identity expression field flavor format groups iam_role image input_arg ip " +
		"inputs_hash k8s_service_account key kickoff_time_input_arg labels last_assigned_cluster mount_name " +
		"names namespace notification_rule_name outcome partition_input_args partition_key partition_keys partition_size " +
		"partitions permission permissions pod_name pod_name_prefix pod_name_prefixes pod_template_name primary_container_name " +
		"primary_pod_name quantity_value queue role size_limit static_value subdomain subject tag tags task_type " +
		"template_id timezone transform type user_handle user_metadata var",
	textOpaque: "annotations args base_dir body_template build_job_url cname_url code_bundle_uri command config " +
		"configs connector_endpoint current endpoint entries external_ref filename filename_root filters headers " +
		"html_template icon_uri icon_url idp_discovery_endpoint input_path input_uri link literals_uri " +
		"mount_path org organization output_path output_uri password path per_cluster_tokens photo_url public_url " +
		"raw_data_prefix raw_filters report_uri run_base_dir run_output_base secrets state statement " +
		"string_value template_data text_template token token_endpoint uri url value values vpc_url",
})

// textFields are the fields that differ from others of their name.
var textFields = map[protoreflect.FullName]textKind{
	"flytebinary.engine.v1.GetSecretValuesRequest.names":  textKey,
	"flytebinary.insight.v1.ListConditionsRequest.action": textName,
	"flytebinary.insight.v1.SendTestRequest.rule":         textSymbol,
	"flytebinary.insight.v1.StarTarget.run":               textName,
	"flytebinary.insight.v1.SuggestValuesRequest.part":    textProse,
	"flytebinary.insight.v1.View.updated_by":              textSymbol,
	"flytebinary.worker.v1.Ended.slow_start":              textProse,
	"flytebinary.worker.v1.Hello.incarnation":             textSymbol,
	"flytebinary.worker.v1.Hello.worker_id":               textSymbol,
	"flytebinary.worker.v1.Running.slow_start":            textProse,
	"flyteidl2.common.ActionIdentifier.name":              textName,
	"flyteidl2.common.DomainIdentifier.name":              textPlace,
	"flyteidl2.common.Filter.values":                      textProse,
	"flyteidl2.common.OrgIdentifier.name":                 textOpaque,
	"flyteidl2.common.ProjectIdentifier.name":             textPlace,
	"flyteidl2.common.RunIdentifier.name":                 textName,
	"flyteidl2.core.ContainerPort.name":                   textSymbol,
	"flyteidl2.core.Resources.ResourceEntry.value":        textSymbol,
	"flyteidl2.core.Secret.group":                         textKey,
	"flyteidl2.core.Secret.group_version":                 textKey,
	"flyteidl2.core.Secret.key":                           textKey,
	"flyteidl2.notification.InlineEmailTemplate.subject":  textProse,
	"flyteidl2.project.Project.id":                        textProject,
	"flyteidl2.task.Labels.values":                        textSymbol,
	"flyteidl2.task.NamedLiteral.name":                    textSymbol,
	"flyteidl2.task.NamedParameter.name":                  textSymbol,
}

func kindsByName(names map[textKind]string) map[protoreflect.Name]textKind {
	kinds := map[protoreflect.Name]textKind{}
	for kind, list := range names {
		for name := range strings.FieldsSeq(list) {
			kinds[protoreflect.Name(name)] = kind
		}
	}
	return kinds
}

// knownKinds are the kinds of fields that were looked up, since names of fields are expensive to compare.
var knownKinds sync.Map // of protoreflect.FieldDescriptor to textKind

// kindOf is the kind of the texts in a field; of the values of a map.
func kindOf(field protoreflect.FieldDescriptor) textKind {
	if known, ok := knownKinds.Load(field); ok {
		return known.(textKind) //nolint:forcetypeassert // only kinds are stored
	}
	kind, ok := textFields[field.FullName()]
	if !ok {
		kind = textKinds[field.Name()]
	}
	knownKinds.Store(field, kind)
	return kind
}

// keyKind is the kind of the keys of a map. Keys of maps whose values are opaque are so too.
func keyKind(field protoreflect.FieldDescriptor) textKind {
	if kindOf(field) == textOpaque {
		return textOpaque
	}
	return textSymbol
}
