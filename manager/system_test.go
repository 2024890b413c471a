package manager_test

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/notifications"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
)

// setSecrets fills every sensitive field of a configuration with a secret of its own and returns them by key. A URL
// gets it as its password and in its query.
func setSecrets(t *testing.T, config *configuration.Config) map[string]string {
	t.Helper()
	secrets := map[string]string{}
	var walk func(prefix string, value reflect.Value)
	walk = func(prefix string, value reflect.Value) {
		for i := range value.NumField() {
			field, key := value.Type().Field(i), prefix+value.Type().Field(i).Tag.Get("config")
			switch {
			case value.Field(i).Kind() == reflect.Struct && field.IsExported():
				walk(key+".", value.Field(i))
			case field.Tag.Get("sensitive") == "true":
				secrets[key] = fmt.Sprintf("hush-%d-%s", len(secrets), strings.Repeat("x", 32))
				value.Field(i).SetString(secrets[key])
			}
		}
	}
	reached := config.Database.URL
	walk("", reflect.ValueOf(config).Elem())
	require.Contains(t, secrets, "auth.internalToken")
	require.Contains(t, secrets, "access.local.adminPassword")
	delete(secrets, "access.local.adminPassword") // with local accounts, the calls of the test would have to sign in
	config.Access.Local.AdminPassword = ""
	u, err := url.Parse(reached)
	require.NoError(t, err)
	user := "flyte"
	if u.User != nil {
		user = u.User.Username()
	}
	u.User = url.UserPassword(user, secrets["database.url"])
	config.Database.URL = u.String()
	secrets["executor.pod.defaultEnv"] = "hush-in-a-variable"
	config.Executor.Pod.DefaultEnv = []string{"AWS_REGION=here", "AWS_SECRET_ACCESS_KEY=" + secrets["executor.pod.defaultEnv"]}
	config.Server.AllowedOrigins = []string{"https://console.example"}
	config.Storage.S3.AccessKeyID = "someone"
	secrets["eventStream.sinks"] = "hush-in-a-sink"
	config.EventStream.Sinks = []cloudevents.Sink{{
		Name: "lake", Type: "http", URL: "http://127.0.0.1:1/" + secrets["eventStream.sinks"],
		Headers: map[string]string{"X-Key": secrets["eventStream.sinks"]}, Password: secrets["eventStream.sinks"],
	}}
	config.Runs.Webhooks.Proxy = "http://proxy:" + secrets["runs.webhooks.proxy"] + "@127.0.0.1:1"
	config.Notifications.Proxy = "http://proxy:" + secrets["notifications.proxy"] + "@127.0.0.1:1"
	secrets["notifications.deliveries"] = "hush-in-a-path"
	config.Notifications.Deliveries = []notifications.Delivery{{
		Name: "chat", Type: "webhook", URL: "https://chat.example/" + secrets["notifications.deliveries"],
		Headers: map[string]string{"X-Key": secrets["notifications.deliveries"]},
	}}
	return secrets
}

func TestSystem(t *testing.T) {
	cluster := kubetest.New(t)
	config := onCluster(t, cluster)
	secrets := setSecrets(t, &config)
	address := startServer(t, config, cluster.Config)
	client := insightv1connect.NewSystemServiceClient(http.DefaultClient, address)

	stream, err := workflowconnect.NewRunServiceClient(http.DefaultClient, address).WatchRuns(t.Context(), &workflow.WatchRunsRequest{
		Target: &workflow.WatchRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
	})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // the test is over

	var answer *insightv1.GetSystemResponse
	require.Eventually(t, func() bool { // until the loops have taken their leases and the stream is open
		answer, err = client.GetSystem(t.Context(), &insightv1.GetSystemRequest{})
		require.NoError(t, err)
		for _, component := range answer.GetComponents() {
			if !component.GetHealthy() {
				return false
			}
		}
		return figure(t, answer, "Watches", "Open streams").GetValue() == 1
	}, 20*time.Second, 20*time.Millisecond, "%v", answer)

	names := map[string]*insightv1.Component{}
	for _, component := range answer.GetComponents() {
		names[component.GetName()] = component
	}
	for _, asked := range []string{"database", "storage", "kubernetes"} {
		require.Contains(t, names, asked)
		require.Positive(t, names[asked].GetLatency().AsDuration())
	}
	require.Equal(t, "leader: this process", names["loop: admission"].GetMessage())
	require.Equal(t, "nothing waits", names["sink: lake"].GetMessage())
	require.NotEmpty(t, answer.GetGoVersion())
	require.NotEmpty(t, answer.GetHost())
	require.Greater(t, answer.GetMemoryBytes(), uint64(1<<20))
	require.WithinDuration(t, time.Now(), answer.GetStartedAt().AsTime(), 5*time.Minute)
	require.Positive(t, figure(t, answer, "Database", "Size").GetValue())
	require.Equal(t, float64(20), figure(t, answer, "Database", "Connections allowed").GetValue())
	require.Positive(t, figure(t, answer, "Cluster", "Requests").GetValue())
	require.Equal(t, "s", figure(t, answer, "Cluster", "Response time").GetUnit())
	require.Zero(t, figure(t, answer, "Queues", "default: waiting").GetValue())

	settings := map[string]*insightv1.Setting{}
	for _, setting := range answer.GetSettings() {
		settings[setting.GetKey()] = setting
	}
	require.Equal(t, "(secret)", settings["auth.internalToken"].GetValue())
	require.False(t, settings["auth.internalToken"].GetIsDefault())
	require.Equal(t, "20s", settings["server.shutdownGrace"].GetValue())
	require.True(t, settings["server.shutdownGrace"].GetIsDefault())
	require.False(t, settings["server.listen"].GetIsDefault())
	require.Contains(t, settings["database.url"].GetValue(), "xxxxx@")
	require.Equal(t, `["https://console.example"]`, settings["server.allowedOrigins"].GetValue())
	require.Equal(t, `["AWS_REGION=here","AWS_SECRET_ACCESS_KEY=(secret)"]`, settings["executor.pod.defaultEnv"].GetValue())
	all, err := protojson.Marshal(answer)
	require.NoError(t, err)
	for key, secret := range secrets {
		require.NotContains(t, string(all), secret, key)
		require.Contains(t, settings, key)
	}
}

// TestSystemAnswersWithoutCluster calls it while the cluster is unreachable, which is when people look.
func TestSystemAnswersWithoutCluster(t *testing.T) {
	client := insightv1connect.NewSystemServiceClient(http.DefaultClient, startServer(t, testConfig(t), nowhere(t)))
	answer, err := client.GetSystem(t.Context(), &insightv1.GetSystemRequest{})
	require.NoError(t, err)
	for _, component := range answer.GetComponents() {
		if component.GetName() == "kubernetes" {
			require.False(t, component.GetHealthy())
			require.Contains(t, component.GetMessage(), "API server")
		}
		if component.GetName() == "database" {
			require.True(t, component.GetHealthy(), component.GetMessage())
		}
	}
	require.NotEmpty(t, answer.GetSettings())
	for _, one := range answer.GetFigures() {
		require.NotEmpty(t, one.GetGroup())
		require.NotEmpty(t, one.GetDescription(), one.GetName())
		require.NotEqual(t, "Cluster/Response time", one.GetGroup()+"/"+one.GetName())
	}
}

func figure(t *testing.T, answer *insightv1.GetSystemResponse, group, name string) *insightv1.Figure {
	t.Helper()
	for _, one := range answer.GetFigures() {
		if one.GetGroup() == group && one.GetName() == name {
			return one
		}
	}
	require.Failf(t, "no such figure", "%s/%s in %v", group, name, answer.GetFigures())
	return nil
}
