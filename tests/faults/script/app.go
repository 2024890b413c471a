package script

import (
	"hash/fnv"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Environment variables of the replicas of apps.
const (
	// AppEnv is the name of the app.
	AppEnv = "STORM_APP"
	// TagEnv tells the revisions of an app apart.
	TagEnv = "STORM_TAG"
	// ClusterEnv is the cluster; its controller sets it.
	ClusterEnv = "STORM_CLUSTER"
)

// BothApp is the name of apps that run in both clusters; the API is configured so.
const BothApp = "both"

// AppAnswer is what a replica answers.
type AppAnswer struct {
	App     string `json:"app"`
	Tag     string `json:"tag"`
	Cluster string `json:"cluster"`
}

// App is an app of a tenant, which always has a replica.
func (t Tenant) App(name, tag, program string) *app.App {
	return &app.App{
		Metadata: &app.Meta{Id: t.AppID(name)},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: &core.Container{
				Image: "storm", Command: []string{program}, Args: []string{"--port=$PORT"},
				Ports: []*core.ContainerPort{{ContainerPort: appPort(name)}},
				Env:   []*core.KeyValuePair{{Key: AppEnv, Value: name}, {Key: TagEnv, Value: tag}, {Key: "GOMAXPROCS", Value: "1"}},
			}},
			Autoscaling:     &app.AutoscalingConfig{Replicas: &app.Replicas{Min: 1, Max: 1}, ScaledownPeriod: durationpb.New(0)},
			SecurityContext: &app.SecurityContext{AllowAnonymous: true},
			DesiredState:    app.Spec_DESIRED_STATE_ACTIVE,
		},
	}
}

// AppID names an app of a tenant.
func (t Tenant) AppID(name string) *app.Identifier {
	return &app.Identifier{Project: t.Project(), Domain: Domain, Name: name}
}

// appPort is the port that an app declares; each replica gets one of its own. Each app declares another: the nodes of both clusters are on
// one machine, and one does not know which apps had a port in the other.
func appPort(name string) uint32 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name))
	return 20000 + sum.Sum32()%10000
}
