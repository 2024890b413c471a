package podspec

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// copilotSlack is how much longer than the upload of outputs a pod may take to end: an error must be written, too.
const copilotSlack = time.Minute

// Copilot carries the data of containers that do not read and write the object store themselves.
type Copilot struct {
	// Image is an image with flyte-binary in its PATH, such as that of this server. Raw containers fail without it.
	Image string `config:"image"`
	// CPU is the request of each half of the co-pilot. Default 100m.
	CPU string `config:"cpu"`
	// Memory is the request and the limit of each half. Default 512Mi.
	Memory string `config:"memory"`
	// Timeout is how long the upload of outputs may take after the container has ended. Default 1h.
	Timeout time.Duration `config:"timeout"`
	// Storage says how pods reach the object store. It has no credentials: they come from the service account or from
	// envFromSecrets. Empty fields take the values of the server's section storage.
	Storage CopilotStorage `config:"storage"`
}

// CopilotStorage is the part of the section storage without credentials.
type CopilotStorage struct {
	// URL is the root of the object store.
	URL string `config:"url" json:"url"`
	// ExtraPrefixes are further roots.
	ExtraPrefixes []string `config:"extraPrefixes" json:"extraPrefixes,omitempty"`
	// Sync makes a write to a directory survive a power cut.
	Sync bool `config:"sync" json:"sync"`
	// S3 has what s3:// needs in addition to the pod's environment.
	S3 CopilotS3 `config:"s3" json:"s3"`
}

// CopilotS3 says how pods reach an S3 service.
type CopilotS3 struct {
	// Endpoint is the URL of a service other than AWS.
	Endpoint string `config:"endpoint" json:"endpoint,omitempty"`
	// Region of the bucket.
	Region string `config:"region" json:"region,omitempty"`
	// PathStyle puts the bucket into the path instead of the host name.
	PathStyle bool `config:"pathStyle" json:"pathStyle"`
}

func defaultCopilot() Copilot {
	return Copilot{CPU: "100m", Memory: "512Mi", Timeout: time.Hour}
}

func (c Copilot) validate() error {
	var found invalid.Fields
	checkQuantity(&found, "cpu", c.CPU)
	checkQuantity(&found, "memory", c.Memory)
	found.If(c.Timeout <= 0, "timeout: must be more than 0, got %s", c.Timeout)
	return found.Err()
}

// resources are small: files are streamed, not kept in memory.
func (c Copilot) resources() corev1.ResourceRequirements {
	cpu, memory := resource.MustParse(c.CPU), resource.MustParse(c.Memory) // validate has parsed them
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
	}
}
