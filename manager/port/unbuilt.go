package port

import (
	"net/http"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	cachev2connect "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster/clusterconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector/connectorconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder/imagebuilderconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org/orgconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret/secretconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger/triggerconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// MountUnbuilt serves every public service that no part has mounted, with handlers that answer unimplemented in the
// protocol of the caller: clients then know that the server works and continue without the service.
func MountUnbuilt(mux *rpc.Mux) {
	mount := func(path string, handler http.Handler) {
		if service := path[1 : len(path)-1]; !mux.Has(service) {
			mux.Handle(path, handler)
		}
	}
	// They do nothing, so there is nothing to authorize or validate.
	limit := connect.WithReadMaxBytes(1 << 20)
	mount(actionsconnect.NewActionsServiceHandler(actionsconnect.UnimplementedActionsServiceHandler{}, limit))
	mount(appconnect.NewAppLogsServiceHandler(appconnect.UnimplementedAppLogsServiceHandler{}, limit))
	mount(appconnect.NewAppServiceHandler(appconnect.UnimplementedAppServiceHandler{}, limit))
	mount(artifactconnect.NewArtifactServiceHandler(artifactconnect.UnimplementedArtifactServiceHandler{}, limit))
	mount(authconnect.NewAuthMetadataServiceHandler(authconnect.UnimplementedAuthMetadataServiceHandler{}, limit))
	mount(authconnect.NewIdentityServiceHandler(authconnect.UnimplementedIdentityServiceHandler{}, limit))
	mount(cacheserviceconnect.NewCacheServiceHandler(cacheserviceconnect.UnimplementedCacheServiceHandler{}, limit))
	mount(cachev2connect.NewCacheServiceHandler(cachev2connect.UnimplementedCacheServiceHandler{}, limit))
	mount(clusterconnect.NewClusterServiceHandler(clusterconnect.UnimplementedClusterServiceHandler{}, limit))
	mount(connectorconnect.NewAsyncConnectorServiceHandler(connectorconnect.UnimplementedAsyncConnectorServiceHandler{}, limit))
	mount(connectorconnect.NewConnectorMetadataServiceHandler(connectorconnect.UnimplementedConnectorMetadataServiceHandler{}, limit))
	mount(dataproxyconnect.NewDataProxyServiceHandler(dataproxyconnect.UnimplementedDataProxyServiceHandler{}, limit))
	mount(imagebuilderconnect.NewImageServiceHandler(imagebuilderconnect.UnimplementedImageServiceHandler{}, limit))
	mount(orgconnect.NewDomainServiceHandler(orgconnect.UnimplementedDomainServiceHandler{}, limit))
	mount(projectconnect.NewProjectServiceHandler(projectconnect.UnimplementedProjectServiceHandler{}, limit))
	mount(secretconnect.NewSecretServiceHandler(secretconnect.UnimplementedSecretServiceHandler{}, limit))
	mount(settingsconnect.NewSettingsServiceHandler(settingsconnect.UnimplementedSettingsServiceHandler{}, limit))
	mount(taskconnect.NewTaskServiceHandler(taskconnect.UnimplementedTaskServiceHandler{}, limit))
	mount(triggerconnect.NewTriggerServiceHandler(triggerconnect.UnimplementedTriggerServiceHandler{}, limit))
	mount(workflowconnect.NewEventsProxyServiceHandler(workflowconnect.UnimplementedEventsProxyServiceHandler{}, limit))
	mount(workflowconnect.NewInternalRunServiceHandler(workflowconnect.UnimplementedInternalRunServiceHandler{}, limit))
	mount(workflowconnect.NewQueueServiceHandler(workflowconnect.UnimplementedQueueServiceHandler{}, limit))
	mount(workflowconnect.NewRunLogsServiceHandler(workflowconnect.UnimplementedRunLogsServiceHandler{}, limit))
	mount(workflowconnect.NewRunServiceHandler(workflowconnect.UnimplementedRunServiceHandler{}, limit))
	mount(workflowconnect.NewStateServiceHandler(workflowconnect.UnimplementedStateServiceHandler{}, limit))
	mount(workflowconnect.NewTrackedRunServiceHandler(workflowconnect.UnimplementedTrackedRunServiceHandler{}, limit))
	mount(workflowconnect.NewTranslatorServiceHandler(workflowconnect.UnimplementedTranslatorServiceHandler{}, limit))
}
