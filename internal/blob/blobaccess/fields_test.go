package blobaccess_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/org"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// decisions says for each field of a request that looks like a place what happens to it. A place in the store that the
// server reads or writes is checked; the rest is not the server's to read.
var decisions = map[string]string{
	// Checked.
	"flyteidl2.actions.Action.input_uri":                              "Data, with the directory of the run and its base",
	"flyteidl2.workflow.EnqueueActionRequest.input_uri":               "as above: an adapter of Enqueue",
	"flyteidl2.workflow.RecordActionRequest.input_uri":                "as above: what Enqueue becomes",
	"flyteidl2.common.OffloadedInputData.uri":                         "Data, with the base of the new run and the inputs of its source",
	"flyteidl2.task.OutputReferences.output_uri":                      "Data for traces; in transitions, within the directory of the run",
	"flyteidl2.task.OutputReferences.report_uri":                      "as above",
	"flyteidl2.task.RunSpec.run_base_dir":                             "Base",
	"flyteidl2.settings.RunSettings.run_base_dir":                     "Base",
	"flyteidl2.dataproxy.UploadInputsRequest.base_dir":                "Base",
	"flyteidl2.task.RawDataStorage.raw_data_prefix":                   "RawBase",
	"flyteidl2.settings.StorageSettings.raw_data_path":                "RawBase",
	"flyteidl2.core.TaskMetadata.code_bundle_uri":                     "Code, as is the bundle in the arguments of the container",
	"flyteidl2.workflow.LiteralsToLaunchFormJsonRequest.literals_uri": "must be one that the named action has",
	"flyteidl2.dataproxy.CreateUploadLocationRequest.filename_root":   "a name among the uploads of the project and domain",
	"flyteidl2.dataproxy.CreateUploadLocationRequest.filename":        "as above",
	"flyteidl2.core.ArtifactCard.uri":                                 "Value, with what the source of the artifact was handed",
	"flytebinary.engine.v1.RegisterOutputsRequest.output_uri":         "for services only: where an action has left its outputs",
	"flytebinary.engine.v1.ActionInputs.input_uri":                    "for services only: what was checked when the action was recorded",
	"flytebinary.insight.v1.GetCodeRequest.path":                      "a name within the code bundle of the action",
	"flytebinary.insight.v1.CreateFileLinkRequest.uri":                "one that the data of the action name; Data, with the base and the raw data of its run",
	"flytebinary.insight.v1.CreateFileLinkRequest.path":               "a relative path below that",
	"flytebinary.insight.v1.ReadFileRequest.uri":                      "as CreateFileLinkRequest.uri",
	"flytebinary.insight.v1.ReadFileRequest.path":                     "as CreateFileLinkRequest.path",
	"flyteidl2.cacheservice.CachedOutput.output_uri":                  "for services only, which take it from a checked transition",

	// Not read: the server has its own.
	"flyteidl2.actions.Action.run_output_base":                "ignored: the directory of the run is the server's",
	"flyteidl2.workflow.EnqueueActionRequest.run_output_base": "as above",

	// User data: tasks follow it, with credentials of their own; the server does not.
	"flyteidl2.core.Blob.uri":                     "user data; Value in an artifact",
	"flyteidl2.core.Schema.uri":                   "user data; Value in an artifact",
	"flyteidl2.core.StructuredDataset.uri":        "user data; Value in an artifact",
	"flyteidl2.core.LiteralOffloadedMetadata.uri": "user data; Value in an artifact",
	"flyteidl2.core.ArtifactQuery.uri":            "the name of an artifact in user data",

	// Paths in a container.
	"flyteidl2.core.DataLoadingConfig.input_path":  "a path in a container",
	"flyteidl2.core.DataLoadingConfig.output_path": "a path in a container",
	"flyteidl2.core.SharedMemory.mount_path":       "a path in a container",

	// Links that people follow, and calls that webhooks make: no places in the store.
	"flyteidl2.task.SourceCode.link":                     "a link that people follow",
	"flyteidl2.core.TaskLog.uri":                         "a link that people follow",
	"flyteidl2.core.TaskLog.icon_uri":                    "a link that people follow",
	"flyteidl2.common.UserSpec.photo_url":                "a link that people follow",
	"flyteidl2.workflow.ConditionWebhook.url":            "called by runs/webhook, which refuses private networks",
	"flyteidl2.notification.WebhookDeliveryTemplate.url": "called by notifications, which refuses private networks",

	"flyteidl2.app.ImageSpec.build_job_url": "a link that people follow",
	"flyteidl2.app.Link.path":               "a link that people follow",
	"flyteidl2.app.Profile.icon_url":        "a link that people follow",
	"flyteidl2.app.Ingress.cname_url":       "read as the address of an app",
	"flyteidl2.app.Ingress.public_url":      "read as the address of an app",
	"flyteidl2.app.Ingress.vpc_url":         "read as the address of an app",

	// Uploads.
	"flytebinary.engine.v1.AdmitUploadRequest.uri": "for services only, the name of what the data proxy allows; never read",

	// Apps.
	"flyteidl2.app.Meta.code_bundle_uri":            "shown; the app downloads its code with credentials of its own",
	"flytebinary.engine.v1.ObservedReplica.log_uri": "for services only; read if it lies in the directory of the app",

	// Reported by executors, and shown.
	"flyteidl2.core.ExecutionError.error_uri":     "kept as it is and never read",
	"flyteidl2.core.LogContext.pod_name_prefix":   "the name of a pod",
	"flyteidl2.core.LogContext.pod_name_prefixes": "the name of a pod",

	// Addresses of actions: checked for their form, and not kept.
	"flyteidl2.common.ActionAddress.path": "not kept",
	"flyteidl2.common.ActionAddress.url":  "not kept",

	// Services that connectors serve, not this server.
	"flyteidl2.connector.CreateTaskRequest.output_prefix": "sent to connectors, and never received",
	"flyteidl2.connector.GetTaskRequest.output_prefix":    "sent to connectors, and never received",
}

var looksLikeAPlace = regexp.MustCompile(`(?i)(ur[il]|path|dir|prefix|prefixes|root|base|link|location|bucket|filename)s?$`)

// TestEveryURIOfARequestIsDecided walks the requests of all procedures. A new field that looks like a place fails it.
func TestEveryURIOfARequestIsDecided(t *testing.T) {
	seen, met := map[protoreflect.FullName]bool{}, map[string]bool{}
	var walk func(message protoreflect.MessageDescriptor)
	walk = func(message protoreflect.MessageDescriptor) {
		if seen[message.FullName()] || strings.HasPrefix(string(message.FullName()), "google.") {
			return
		}
		seen[message.FullName()] = true
		for i := range message.Fields().Len() {
			field := message.Fields().Get(i)
			isText := field.Kind() == protoreflect.StringKind || field.Message() != nil && field.Message().Name() == "StringSetting"
			if isText && looksLikeAPlace.MatchString(string(field.Name())) {
				met[string(field.FullName())] = true
			}
			if field.Message() != nil {
				walk(field.Message())
			}
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if name := string(file.Package()); !strings.HasPrefix(name, "flyteidl2.") && !strings.HasPrefix(name, "flytebinary.") {
			return true
		}
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				walk(file.Services().Get(i).Methods().Get(j).Input())
			}
		}
		return true
	})
	require.Greater(t, len(seen), 100, "the walk sees the contract")
	for name := range met {
		require.NotEmpty(t, decisions[name], "%s looks like a place: decide whether blobaccess must check it", name)
	}
	for name := range decisions {
		require.True(t, met[name], "%s is in no request any more", name)
	}
}
