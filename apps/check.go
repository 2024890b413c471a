package apps

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// reservedPorts are used by sidecars in the pod of an app. The SDK refuses the same ports.
var reservedPorts = []uint32{8012, 8022, 8112, 9090, 9091}

// maxLinks and maxInputs bound what one request can make the server store and read again for each list. maxScaledown
// bounds how long the autoscaler has to remember the last request of an app.
const (
	maxLinks     = 100
	maxInputs    = 1000
	maxScaledown = 24 * time.Hour
)

var (
	quantity = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]{0,9})?(m|[kMGTPE]|[KMGTPE]i|[eE][0-9]{1,2})?$`)
	variable = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)
)

// check refuses specs that cannot be deployed as they say, so that a mistake is an answer to the request and not a
// replica that fails later. at is the path of the spec in the request, for the field of the error.
func (c Config) check(at string, spec *app.Spec) error {
	for _, check := range []func(string, *app.Spec) error{
		c.checkPayload, c.checkScaling, checkIngress, checkPlacement, checkInputs, checkLinks, unsupported,
	} {
		if err := check(at, spec); err != nil {
			return err
		}
	}
	return nil
}

// checkPayload requires a container or a pod, and checks it.
func (c Config) checkPayload(at string, spec *app.Spec) error {
	switch payload := spec.GetAppPayload().(type) {
	case *app.Spec_Container:
		return checkContainer(at+".container", payload.Container)
	case *app.Spec_Pod:
		return checkPod(at+".pod", payload.Pod)
	default:
		return rpc.InvalidArgument(at, "a container or a pod is required")
	}
}

// checkContainer checks what Kubernetes would refuse only when the deployer creates the pod.
func checkContainer(at string, container *core.Container) error {
	switch {
	case strings.TrimSpace(container.GetImage()) == "":
		return rpc.InvalidArgument(at+".image", "the image is required")
	case len(container.GetPorts()) > 1:
		return rpc.InvalidArgument(at+".ports", "must have exactly one port, got %d", len(container.GetPorts()))
	case container.GetDataConfig() != nil:
		return rpc.InvalidArgument(at+".data_config", "is not supported for apps; use parameters")
	}
	for i, port := range container.GetPorts() {
		if err := checkPort(fmt.Sprintf("%s.ports[%d].container_port", at, i), port.GetContainerPort()); err != nil {
			return err
		}
	}
	for _, group := range []struct {
		name    string
		entries []*core.Resources_ResourceEntry
	}{{"requests", container.GetResources().GetRequests()}, {"limits", container.GetResources().GetLimits()}} {
		for i, entry := range group.entries {
			if !quantity.MatchString(entry.GetValue()) {
				return rpc.InvalidArgument(fmt.Sprintf("%s.resources.%s[%d].value", at, group.name, i),
					"%q is not a quantity; want one such as 500m, 2, 1Gi", entry.GetValue())
			}
		}
	}
	for i, entry := range container.GetEnv() {
		if !variable.MatchString(entry.GetKey()) {
			return rpc.InvalidArgument(fmt.Sprintf("%s.env[%d].key", at, i), "%q is not a valid environment variable name", entry.GetKey())
		}
	}
	return nil
}

// checkPort checks the number of a port. at is the field of the error.
func checkPort(at string, port uint32) error {
	switch {
	case port < 1 || port > 65535:
		return rpc.InvalidArgument(at, "must be from 1 to 65535, got %d", port)
	case slices.Contains(reservedPorts, port):
		return rpc.InvalidArgument(at, "port %d is reserved, as are %v; choose another one", port, reservedPorts)
	}
	return nil
}

// checkPod checks the pod template of an app. The template is untyped here (a struct of the contract): this service
// does not link Kubernetes. The deployer decodes it and refuses the rest.
func checkPod(at string, pod *core.K8SPod) error {
	if name := pod.GetPrimaryContainerName(); name != "" && name != primary {
		return rpc.InvalidArgument(at+".primary_container_name", "must be %s, got %q", primary, name)
	}
	container := primaryContainer(pod)
	if container == nil {
		return rpc.InvalidArgument(at+".pod_spec.containers", "a container named %s is required", primary)
	}
	ports := list(container, "ports")
	if len(ports) > 1 {
		return rpc.InvalidArgument(at+".pod_spec.containers.ports", "must have exactly one port, got %d", len(ports))
	}
	for _, port := range ports {
		value := port.GetStructValue().GetFields()["containerPort"].GetNumberValue()
		// Numbers of a struct are floating point: this refuses fractions, NaN and what does not fit a port.
		if value != float64(uint16(max(0, min(value, 65535)))) {
			return rpc.InvalidArgument(at+".pod_spec.containers.ports", "containerPort must be a port, got %v", value)
		}
		if err := checkPort(at+".pod_spec.containers.ports", uint32(value)); err != nil {
			return err
		}
	}
	return nil
}

// checkScaling checks the bounds of replicas and the scaling metric. A maximum of 0 means that none is declared.
func (c Config) checkScaling(at string, spec *app.Spec) error {
	at += ".autoscaling"
	scaling := spec.GetAutoscaling()
	least, most := scaling.GetReplicas().GetMin(), scaling.GetReplicas().GetMax()
	switch period := scaling.GetScaledownPeriod(); {
	case most > 0 && least > most:
		return rpc.InvalidArgument(at+".replicas.min", "min must not be more than max, got %d and %d", least, most)
	case max(least, most) > c.MaxReplicas:
		return rpc.InvalidArgument(at+".replicas.max", "an app has at most %d replicas here (apps.maxReplicas), got %d", c.MaxReplicas, max(least, most))
	case period != nil && (!period.IsValid() || period.AsDuration() < 0 || period.AsDuration() > maxScaledown):
		return rpc.InvalidArgument(at+".scaledown_period", "must be from 0s to %s", maxScaledown)
	}
	if rate := scaling.GetScalingMetric().GetRequestRate(); rate != nil && rate.GetTargetValue() == 0 {
		return rpc.InvalidArgument(at+".scaling_metric.request_rate.target_value", "must be at least 1")
	}
	return nil
}

// checkIngress checks the names by which an app asks to be reached. Whether another app has them is decided
// by the unique indexes of the database.
func checkIngress(at string, spec *app.Spec) error {
	at += ".ingress"
	if subdomain := spec.GetIngress().GetSubdomain(); subdomain != "" && !kuberule.IsLabel(subdomain) {
		return rpc.InvalidArgument(at+".subdomain", "%q is not a valid DNS label: use up to 63 lower-case letters, digits and dashes", subdomain)
	}
	host := spec.GetIngress().GetCname()
	if host == "" {
		return nil
	}
	labels := strings.Split(host, ".")
	if len(host) > 253 || len(labels) < 2 || net.ParseIP(host) != nil ||
		slices.ContainsFunc(labels, func(label string) bool { return !kuberule.IsLabel(label) }) {
		return rpc.InvalidArgument(at+".cname", "%q is not a host name; use lower case and no port, such as app.example.com", host)
	}
	return nil
}

// checkPlacement checks where the app should run. Whether a cluster exists is not checked: its deployer may register
// later, and the app waits for it. The pool is checked when a cluster is chosen.
func checkPlacement(at string, spec *app.Spec) error {
	if cluster := spec.GetCluster(); cluster != "" && !ident.IsCluster(cluster) {
		return rpc.InvalidArgument(at+".cluster", "%s, got %q", ident.ClusterRule, cluster)
	}
	return nil
}

// checkInputs checks the number of inputs and that their names differ: replicas look up inputs by name.
func checkInputs(at string, spec *app.Spec) error {
	items := spec.GetInputs().GetItems()
	if len(items) > maxInputs {
		return rpc.InvalidArgument(at+".inputs.items", "an app has at most %d inputs, got %d", maxInputs, len(items))
	}
	seen := map[string]bool{}
	for i, item := range items {
		if seen[item.GetName()] {
			return rpc.InvalidArgument(fmt.Sprintf("%s.inputs.items[%d].name", at, i), "%q is used by another input", item.GetName())
		}
		seen[item.GetName()] = true
	}
	return nil
}

// checkLinks refuses links that a browser would not treat as a path of the app or a web page, such as javascript: URLs.
func checkLinks(at string, spec *app.Spec) error {
	if len(spec.GetLinks()) > maxLinks {
		return rpc.InvalidArgument(at+".links", "an app has at most %d links, got %d", maxLinks, len(spec.GetLinks()))
	}
	for i, link := range spec.GetLinks() {
		path := link.GetPath()
		if link.GetIsRelative() || strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") ||
			strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://") {
			continue
		}
		return rpc.InvalidArgument(fmt.Sprintf("%s.links[%d].path", at, i), "%q is neither a path nor an http or https URL", path)
	}
	return nil
}
