package apps_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

func pod(t *testing.T, fields map[string]any) *app.Spec_Pod {
	t.Helper()
	spec, err := structpb.NewStruct(fields)
	require.NoError(t, err)
	return &app.Spec_Pod{Pod: &core.K8SPod{PodSpec: spec}}
}

func TestSpecsThatAreRefused(t *testing.T) {
	f := newFixture(t, nil)
	container := func(s *app.Spec) *core.Container { return s.GetContainer() }
	for field, change := range map[string]func(*app.Spec){
		"container.image": func(s *app.Spec) { container(s).Image = " " },
		"container.ports: must have exactly one port":              func(s *app.Spec) { container(s).Ports = append(container(s).Ports, container(s).GetPorts()...) },
		"container.ports[0].container_port: port 8012 is reserved": func(s *app.Spec) { container(s).Ports[0].ContainerPort = 8012 },
		"container.ports[0].container_port: must be from 1":        func(s *app.Spec) { container(s).Ports[0].ContainerPort = 70000 },
		"container.resources.requests[0].value":                    func(s *app.Spec) { container(s).Resources.Requests[0].Value = "lots" },
		"container.resources.limits[0].value": func(s *app.Spec) {
			container(s).Resources.Limits = []*core.Resources_ResourceEntry{{Name: core.Resources_MEMORY, Value: "-1Gi"}}
		},
		"container.env[0].key":         func(s *app.Spec) { container(s).Env = []*core.KeyValuePair{{Key: "A=B"}} },
		"container.data_config":        func(s *app.Spec) { container(s).DataConfig = &core.DataLoadingConfig{} },
		"autoscaling.replicas.min":     func(s *app.Spec) { s.Autoscaling.Replicas = &app.Replicas{Min: 2, Max: 1} },
		"autoscaling.replicas.max":     func(s *app.Spec) { s.Autoscaling.Replicas = &app.Replicas{Max: 1_000_000} },
		"autoscaling.scaledown_period": func(s *app.Spec) { s.Autoscaling.ScaledownPeriod = durationpb.New(-time.Second) },
		"autoscaling.scaling_metric.request_rate.target_value": func(s *app.Spec) {
			s.Autoscaling.ScalingMetric = &app.ScalingMetric{Metric: &app.ScalingMetric_RequestRate{RequestRate: &app.RequestRate{}}}
		},
		"ingress.subdomain": func(s *app.Spec) { s.Ingress.Subdomain = "a.b" },
		"ingress.cname":     func(s *app.Spec) { s.Ingress.Cname = "example.com:80" },
		"cluster_pool":      func(s *app.Spec) { s.ClusterPool = "gpu" },
		"cluster: ":         func(s *app.Spec) { s.Cluster = "No!" },
		"inputs.items[1].name": func(s *app.Spec) {
			item := &app.Input{Name: "a", Value: &app.Input_StringValue{StringValue: "x"}}
			s.Inputs = &app.InputList{Items: []*app.Input{item, item}}
		},
		"links[0].path": func(s *app.Spec) { s.Links = []*app.Link{{Path: "javascript:alert(1)"}} },
		"security_context.run_as.iam_role": func(s *app.Spec) {
			s.SecurityContext = &app.SecurityContext{RunAs: &core.Identity{IamRole: "admin"}}
		},
		"pod.pod_spec.containers: a container named app": func(s *app.Spec) {
			s.AppPayload = pod(t, map[string]any{"containers": []any{map[string]any{"name": "main"}}})
		},
		"pod.pod_spec.containers.ports": func(s *app.Spec) {
			s.AppPayload = pod(t, map[string]any{"containers": []any{map[string]any{"name": "app", "ports": []any{map[string]any{"containerPort": 1e30}}}}})
		},
	} {
		t.Run(field, func(t *testing.T) {
			web := command("web")
			change(web.GetSpec())
			_, err := f.api.Create(t.Context(), &app.CreateRequest{App: web})
			refused(t, err, connect.CodeInvalidArgument, "app.spec."+field)
		})
	}
	nowhere := command("web")
	nowhere.Metadata.Id.Project = "nowhere"
	_, err := f.api.Create(t.Context(), &app.CreateRequest{App: nowhere})
	refused(t, err, connect.CodeNotFound, "project nowhere does not exist")
	_, err = f.api.Update(t.Context(), &app.UpdateRequest{App: command("web")})
	refused(t, err, connect.CodeNotFound, "app web does not exist")
}

// TestWhichAppsTakeTheirPort covers what the SDK deploys.
func TestWhichAppsTakeTheirPort(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", true)
	for name, words := range map[string][]string{
		"yes-sdk":  {"fserve", "--version", "1", "--tgz", "s3://x", "--"},
		"no-mcp":   {"fserve", "--version", "1", "--tgz", "s3://x", "--"},
		"yes-port": {"sh", "-c", "serve --port ${PORT}"},
		"no-args":  {"fserve", "--", "python", "-m", "http.server", "8080"},
		"no-fixed": {"python", "-m", "http.server", "8080"},
		"no-other": {"sh", "-c", "echo $PORTAL"},
	} {
		a := command(name)
		a.Spec.GetContainer().Command, a.Spec.GetContainer().Args = words[:1], words[1:]
		a.Spec.Profile = &app.Profile{Type: map[string]string{"yes-sdk": "FastAPI", "no-mcp": "MCPApp"}[name]}
		f.create(a)
		d.eventually(name, "1:1 →0")
		require.Equal(t, name[:3] == "yes", d.of(name).GetRevisions()[0].GetTakesPort(), name)
	}
	inPod := command("in-pod")
	inPod.Spec.AppPayload = pod(t, map[string]any{"containers": []any{
		map[string]any{"name": "sidecar", "ports": []any{map[string]any{"containerPort": 1}}},
		map[string]any{"name": "app", "image": "x", "ports": []any{map[string]any{"containerPort": 9000, "name": "h2c"}}},
	}})
	f.create(inPod)
	d.eventually("in-pod", "1:1 →0")
	require.EqualValues(t, 9000, d.of("in-pod").GetRevisions()[0].GetPort())
	require.True(t, proto.Equal(inPod.GetSpec().GetPod(), d.of("in-pod").GetRevisions()[0].GetSpec().GetPod()))
}
