package apps_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// connector is an app as the SDK's ConnectorEnvironment deploys it: a gRPC server that listens on its declared port, for
// services inside of the installation.
func connector(name string) *app.App {
	a := command(name)
	a.Spec.Profile = &app.Profile{Type: "connector", Name: name}
	container := a.Spec.GetContainer()
	container.Args = []string{"c0", "--port", "8080", "--prometheus_port", "9092", "--modules", "my.connector"}
	container.Ports[0].Name = "h2c"
	a.Spec.Ingress.Private = true
	a.Spec.SecurityContext = &app.SecurityContext{Secrets: []*core.Secret{{Key: "token", MountRequirement: core.Secret_ENV_VAR}}}
	return a
}

// TestAConnectorIsAnApp: a connector is deployed, started, scaled and listed as every other app, and has an address for gRPC.
func TestAConnectorIsAnApp(t *testing.T) {
	f := newFixture(t, nil)
	d, g := f.deployer("", false), f.gateway()
	created := f.create(connector("tools"))
	require.Equal(t, "connector", created.GetSpec().GetProfile().GetType())
	require.Equal(t, "http://localhost:8090/apps/flytesnacks/development/tools", created.GetStatus().GetIngress().GetPublicUrl())
	d.eventually("tools", "1:1 →0")
	desired := d.of("tools").GetRevisions()[0]
	require.EqualValues(t, 8080, desired.GetPort())
	require.False(t, desired.GetTakesPort(), "it listens where its arguments say")
	require.Equal(t, "token", desired.GetSpec().GetSecurityContext().GetSecrets()[0].GetKey())

	d.report("tools", replicas(1, 1, false))
	require.Equal(t, "DEPLOYING/INITIALIZING", f.status("tools"))
	d.report("tools", replicas(1, 1, true))
	require.Equal(t, "ACTIVE/RUNNING", f.status("tools"))

	// It is an endpoint: in the list of apps, by its address, and in the routes of gateways.
	f.create(command("web"))
	answer, err := f.api.List(t.Context(), &app.ListRequest{FilterBy: &app.ListRequest_Project{Project: &common.ProjectIdentifier{
		Name: projectID, Domain: domainID, Organization: "local",
	}}})
	require.NoError(t, err)
	types := map[string]string{}
	for _, one := range answer.GetApps() {
		types[one.GetMetadata().GetId().GetName()] = one.GetSpec().GetProfile().GetType()
	}
	require.Equal(t, map[string]string{"tools": "connector", "web": ""}, types)
	found, err := f.api.Get(t.Context(), &app.GetRequest{Identifier: &app.GetRequest_Ingress{Ingress: created.GetStatus().GetIngress()}})
	require.NoError(t, err)
	require.Equal(t, "tools", found.GetApp().GetMetadata().GetId().GetName())
	route := g.next(func(r *enginev1.AppRoute) bool { return r.GetId().GetName() == "tools" && len(r.GetTargets()) == 1 })
	require.True(t, route.GetH2C(), "gRPC")
	require.True(t, route.GetPrivate())
	require.Equal(t, "10.0.1.0:8080", route.GetTargets()[0].GetAddress())
	require.True(t, route.GetTargets()[0].GetReady())
}

// TestAConnectorOnASharedNetwork: on a laptop its port is its own, and its revisions take turns.
func TestAConnectorOnASharedNetwork(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", true)
	f.create(connector("tools"))
	d.eventually("tools", "1:1 →0")
	d.report("tools", replicas(1, 1, true))
	d.eventually("tools", "1:1 →1")
	next := connector("tools")
	next.Spec.GetContainer().Image = "image:v2"
	f.update(next)
	d.eventually("tools", "1:0 2:0 →0")
	d.report("tools", replicas(1, 0, false)) // the old one is gone
	d.eventually("tools", "1:0 2:1 →0")
	d.report("tools", replicas(1, 0, false), replicas(2, 1, true))
	d.eventually("tools", "2:1 →2")
	require.Equal(t, "ACTIVE/RUNNING", f.status("tools"))
}

// TestAClusterThatGivesPortsRunsReplicasSideBySide: on one network, an app with its port in its arguments has as many replicas as
// it declares, and its new revision starts alongside the old one. A node that can no longer do so is believed at once.
func TestAClusterThatGivesPortsRunsReplicasSideBySide(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployerOf(&enginev1.WatchAppsRequest{SharedNetwork: true, GivesPorts: true})
	of := func(image string) *app.App {
		made := connector("tools")
		made.Spec.GetContainer().Image = image
		made.Spec.Autoscaling = &app.AutoscalingConfig{Replicas: &app.Replicas{Min: 2, Max: 2}}
		return made
	}
	f.create(of("image:v1"))
	d.eventually("tools", "1:2 →0")
	d.report("tools", replicas(1, 2, true))
	d.eventually("tools", "1:2 →1")
	f.update(of("image:v2"))
	d.eventually("tools", "1:2 2:2 →1")
	d.stop()
	d = f.deployerOf(&enginev1.WatchAppsRequest{SharedNetwork: true})
	f.pass(time.Second)
	d.eventually("tools", "1:0 2:0 →0") // the old replicas go first
}
