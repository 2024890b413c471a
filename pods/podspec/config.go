package podspec

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/pods/podpolicy"
)

// Config is the section executor.pod: how the pods of every plugin look beyond what the task asks for, how long their
// containers may fail to start, and the links to their logs.
type Config struct {
	// Endpoint is where tasks reach this installation, as host:port. Tasks get it as _U_EP_OVERRIDE.
	Endpoint string `config:"endpoint"`
	// Insecure lets tasks use plain HTTP to Endpoint.
	Insecure bool `config:"insecure"`
	// AppsURL is where pods reach the apps of this installation, as in http://flyte.flyte:8090/apps: the names of project,
	// domain and app follow. Empty means the path /apps of Endpoint; without that, pods find apps through the API alone.
	AppsURL string `config:"appsUrl"`
	// Organization is the organization that tasks see; the SDK requires one. Default "local".
	Organization string `config:"organization"`
	// LaunchRate is how many children a task may launch in a second; 0 leaves the SDK's own brake of 100. The server slows tasks
	// down when it cannot follow. Tasks get it as _F_MAX_QPS. Default 1000.
	LaunchRate int `config:"launchRate"`
	// ChildrenInFlight is how many unfinished children of one parent the SDK launches; the others wait in the task. 0 leaves the
	// SDK's own brake of 1,000. Tasks get it as _F_P_CNC. Default 10000.
	ChildrenInFlight int `config:"childrenInFlight"`
	// DefaultEnv are variables for every container, as a list of NAME=value because names are case-sensitive. Variables of
	// the task and of the run win over them.
	DefaultEnv []string `config:"defaultEnv"`
	// LegacyEnv gives tasks ten more variables, which name the run, the task and the pod as in Flyte 1: FLYTE_INTERNAL_EXECUTION_ID,
	// FLYTE_INTERNAL_TASK_ and FLYTE_INTERNAL_ with PROJECT, DOMAIN, NAME and VERSION, and _F_PN. Set it if code of tasks reads them.
	// The SDK does not, and each variable takes 1 % of the CPU that a pod costs the API server. It holds for tasks of reusable
	// environments too, if the API has it.
	LegacyEnv bool `config:"legacyEnv"`

	// EnvFromSecrets are Kubernetes Secrets whose entries become variables of every container, such as the credentials of
	// the object store. They must be in the namespace of the pods; missing ones are ignored.
	EnvFromSecrets []string `config:"envFromSecrets"`
	// EnvFromConfigMaps are ConfigMaps whose entries become variables of every container.
	EnvFromConfigMaps []string `config:"envFromConfigMaps"`

	// DefaultCPU is the request of a container that has neither request nor limit. Default 1.
	DefaultCPU string `config:"defaultCpu"`
	// DefaultCPULimit is the limit of CPU of such a container. Empty means its request, which is the Kubernetes class Guaranteed;
	// more lets it use what its node has to spare. A request above it is its own limit.
	DefaultCPULimit string `config:"defaultCpuLimit"`
	// DefaultMemory is the memory request of containers that request none. Default 1Gi.
	DefaultMemory string `config:"defaultMemory"`
	// MaxCPU is the largest CPU request and limit of any container; empty means none. Settings can only lower it.
	MaxCPU string `config:"maxCpu"`
	// MaxMemory is the largest memory request and limit of any container; empty means none. Settings can only lower it.
	MaxMemory string `config:"maxMemory"`
	// MaxGPU is the largest number of accelerator devices of any container; empty means no limit. Settings can only lower it.
	MaxGPU string `config:"maxGpu"`
	// MaxEphemeralStorage is the largest ephemeral storage of any container; empty means no limit. Settings can only lower it.
	MaxEphemeralStorage string `config:"maxEphemeralStorage"`
	// DefaultPodTemplate is the PodTemplate that pods are based on when neither task nor settings name one; empty means
	// none.
	DefaultPodTemplate string `config:"defaultPodTemplate"`
	// PodTemplateNamespace is where PodTemplates are read from that are not in the namespace of the pods. Default flyte.
	PodTemplateNamespace string `config:"podTemplateNamespace"`
	// DefaultServiceAccount is for tasks and runs that name none; empty leaves it to the namespace.
	DefaultServiceAccount string `config:"defaultServiceAccount"`
	// ServiceAccountToken gives every pod the token of its service account, with which it can call the Kubernetes API. Without it only
	// pods get one whose task or run names a service account, or whose pod or pod template has automountServiceAccountToken: true.
	ServiceAccountToken bool `config:"serviceAccountToken"`
	// DefaultLabels are on every pod; those of the run win.
	DefaultLabels map[string]string `config:"defaultLabels"`
	// DefaultAnnotations are added to every pod. The default tells the cluster autoscaler not to evict tasks.
	DefaultAnnotations map[string]string `config:"defaultAnnotations"`
	// ImagePullPolicy of all containers that have none: Always, IfNotPresent, Never, or empty for the cluster's default.
	ImagePullPolicy string `config:"imagePullPolicy"`
	// TerminationGracePeriod is how long a process may take to stop, in whole seconds; 0 means the cluster's 30 s.
	TerminationGracePeriod time.Duration `config:"terminationGracePeriod"`

	// InterruptibleNodeSelector is added to interruptible pods.
	InterruptibleNodeSelector map[string]string `config:"interruptibleNodeSelector"`
	// InterruptibleTolerations are added to the pods of interruptible tasks.
	InterruptibleTolerations []corev1.Toleration `config:"interruptibleTolerations"`
	// InterruptibleFailures is how many attempts of an action the system may lose before the next ones run on nodes that
	// are not preemptible; 0 means any number. Default 2.
	InterruptibleFailures int32 `config:"interruptibleFailures"`
	// GPUResource is what a task's resource "gpu" means without an accelerator. Default nvidia.com/gpu.
	GPUResource string `config:"gpuResource"`
	// AcceleratorNodeLabel is the node label whose value is the accelerator's device.
	AcceleratorNodeLabel string `config:"acceleratorNodeLabel"`
	// PartitionNodeLabel is the node label whose value is the partition size of a divided accelerator.
	PartitionNodeLabel string `config:"partitionNodeLabel"`

	// Accelerators describes accelerators whose names, node labels or taints differ from what the fields above say.
	Accelerators []Accelerator `config:"accelerators"`

	// Policy is what tasks may ask of their pods.
	Policy podpolicy.Config `config:"policy"`

	// Copilot carries the data of raw containers.
	Copilot Copilot `config:"copilot"`

	// LogLinks are shown with every attempt that has a pod. Templates are those of the task's own links.
	LogLinks []LogLink `config:"logLinks"`

	// Grace is how long containers may fail to start.
	Grace Grace `config:"grace"`
}

// Grace is how long a container may wait for a reason before the attempt is lost.
type Grace struct {
	// ImagePull is for images that cannot be pulled. Default 3 m.
	ImagePull time.Duration `config:"imagePull"`
	// Create is for containers that cannot be created. Default 3 m.
	Create time.Duration `config:"create"`
	// Config is for containers whose secrets or config maps do not exist. Default 30 s.
	Config time.Duration `config:"config"`
	// Other is for reasons that are not known. Default 5 m.
	Other time.Duration `config:"other"`
}

// DefaultGrace lets registries and operators recover without keeping users waiting.
func DefaultGrace() Grace {
	return Grace{ImagePull: 3 * time.Minute, Create: 3 * time.Minute, Config: 30 * time.Second, Other: 5 * time.Minute}
}

// LogLink is a link to logs elsewhere.
type LogLink struct {
	// Name to show.
	Name string `config:"name"`
	// URI with templates such as {{ .podName }}; docs/pods.md lists the names.
	URI string `config:"uri"`
	// Roles make it a link to the dashboard of a cluster: only pods with one of these roles have it, such as head (Ray) or scheduler
	// (Dask), the newest one counts, and it is shown while the attempt runs. Default: it is a link of every pod.
	Roles []string `config:"roles"`
}

// AddDashboard adds the link to the dashboard of clusters whose pods have the role.
func (c *Config) AddDashboard(name, uri, role string) {
	c.LogLinks = append(slices.Clone(c.LogLinks), LogLink{Name: name, URI: uri, Roles: []string{role}})
}

// DefaultConfig suits a cluster without accelerators or preemptible nodes.
func DefaultConfig() Config {
	return Config{
		Organization:         "local",
		LaunchRate:           1000,
		ChildrenInFlight:     10000,
		DefaultCPU:           "1",
		DefaultMemory:        "1Gi",
		DefaultAnnotations:   map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
		PodTemplateNamespace: "flyte",

		InterruptibleFailures: 2,
		GPUResource:           "nvidia.com/gpu",
		AcceleratorNodeLabel:  "k8s.amazonaws.com/accelerator",
		PartitionNodeLabel:    "k8s.amazonaws.com/gpu-partition-size",
		Policy:                podpolicy.DefaultConfig(),
		Copilot:               defaultCopilot(),
		Grace:                 DefaultGrace(),
	}
}

// appsURL is where pods reach apps; empty when that is not known.
func (c Config) appsURL() string {
	switch {
	case c.AppsURL != "":
		return strings.TrimRight(c.AppsURL, "/")
	case c.Endpoint == "":
		return ""
	case c.Insecure:
		return "http://" + c.Endpoint + "/apps"
	default:
		return "https://" + c.Endpoint + "/apps"
	}
}

// StopOptions returns how to delete a pod whose process may still run. The grace of a pod with a sidecar that uploads
// outputs is as long as an upload may take, so it is deleted with that of any other pod: its outputs are discarded.
func (c Config) StopOptions(uploads bool) []client.DeleteOption {
	if !uploads {
		return nil
	}
	grace := time.Duration(corev1.DefaultTerminationGracePeriodSeconds) * time.Second
	if c.TerminationGracePeriod > 0 {
		grace = c.TerminationGracePeriod
	}
	return []client.DeleteOption{client.GracePeriodSeconds(grace.Seconds())}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Organization == "", "organization: must not be empty")
	if parsed, err := url.Parse(c.AppsURL); c.AppsURL != "" && (err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https")) {
		found.Add("appsUrl: want http://host:port/path or https://host:port/path, got %q", c.AppsURL)
	}
	found.Section("policy", c.Policy.Validate())
	checkQuantity(&found, "defaultCpu", c.DefaultCPU)
	if c.DefaultCPULimit != "" {
		checkQuantity(&found, "defaultCpuLimit", c.DefaultCPULimit)
	}
	checkQuantity(&found, "defaultMemory", c.DefaultMemory)
	bounds := c.bounds()
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		if bounds[name] == "" {
			continue
		}
		if amount, err := resource.ParseQuantity(bounds[name]); err != nil || amount.Sign() <= 0 {
			found.Add("%s: %q is not a quantity above 0", boundFields()[name], bounds[name])
		}
	}
	for _, at := range []struct{ field, name string }{
		{"defaultPodTemplate", c.DefaultPodTemplate}, {"podTemplateNamespace", c.PodTemplateNamespace},
	} {
		found.If(at.name != "" && len(validation.IsDNS1123Subdomain(at.name)) > 0, "%s: %q is not a DNS name", at.field, at.name)
	}
	found.If(c.LaunchRate < 0, "launchRate: must not be negative, got %d", c.LaunchRate)
	found.If(c.ChildrenInFlight < 0, "childrenInFlight: must not be negative, got %d", c.ChildrenInFlight)
	found.If(c.InterruptibleFailures < 0, "interruptibleFailures: must not be negative, got %d", c.InterruptibleFailures)
	for i, one := range c.Accelerators {
		found.Section(fmt.Sprintf("accelerators[%d]", i), one.validate())
	}
	switch corev1.PullPolicy(c.ImagePullPolicy) {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		found.Add("imagePullPolicy: %q is not Always, IfNotPresent or Never", c.ImagePullPolicy)
	}
	for i, pair := range c.DefaultEnv {
		if name, _, complete := cutEnv(pair); !complete || len(validation.IsEnvVarName(name)) > 0 {
			found.Add("defaultEnv[%d]: %q is not NAME=value", i, pair)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.DefaultLabels)) {
		found.If(len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(c.DefaultLabels[key])) > 0,
			"defaultLabels: %s=%s is not a valid label", key, c.DefaultLabels[key])
	}
	for i, link := range c.LogLinks {
		found.If(link.Name == "" || link.URI == "", "logLinks[%d]: must have a name and a uri", i)
	}
	found.Section("copilot", c.Copilot.validate())
	if c.TerminationGracePeriod < 0 || c.TerminationGracePeriod%time.Second != 0 { // a fraction would become 0, which kills at once
		found.Add("terminationGracePeriod: must be whole seconds and not negative, got %s", c.TerminationGracePeriod)
	}
	return found.Err()
}

func checkQuantity(found *invalid.Fields, field, quantity string) {
	if _, err := resource.ParseQuantity(quantity); err != nil {
		found.Add("%s: %q is not a quantity: %w", field, quantity, err)
	}
}

// bounds returns the maxima by the tasks' names for resources.
func (c Config) bounds() map[corev1.ResourceName]string {
	return map[corev1.ResourceName]string{
		corev1.ResourceCPU: c.MaxCPU, corev1.ResourceMemory: c.MaxMemory, gpu: c.MaxGPU, corev1.ResourceEphemeralStorage: c.MaxEphemeralStorage,
	}
}

// boundFields returns the names of their fields.
func boundFields() map[corev1.ResourceName]string {
	return map[corev1.ResourceName]string{
		corev1.ResourceCPU: "maxCpu", corev1.ResourceMemory: "maxMemory", gpu: "maxGpu", corev1.ResourceEphemeralStorage: "maxEphemeralStorage",
	}
}
