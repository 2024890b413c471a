package nodestats

import (
	"encoding/json"
	"fmt"
	"time"
)

// Summary is what a kubelet answers to /stats/summary, as far as it is read here. The demo's node answers in the same form.
type Summary struct {
	Pods []Pod `json:"pods"`
}

// Pod is what a pod uses.
type Pod struct {
	Pod        Reference   `json:"podRef"`
	Containers []Container `json:"containers"`
	Disk       *Disk       `json:"ephemeral-storage,omitempty"`
}

// Reference names a pod.
type Reference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
}

// Container is what a container uses.
type Container struct {
	Name    string    `json:"name"`
	Started time.Time `json:"startTime"`
	CPU     *CPU      `json:"cpu,omitempty"`
	Memory  *Memory   `json:"memory,omitempty"`
	// Accelerators are its GPUs. Kubelets of today leave them out.
	Accelerators []Accelerator `json:"accelerators,omitempty"`
}

// CPU has the rate of the last seconds, and the time since the start of the container.
type CPU struct {
	Time  time.Time `json:"time"`
	Nanos *uint64   `json:"usageNanoCores,omitempty"`
	Total *uint64   `json:"usageCoreNanoSeconds,omitempty"`
}

// Memory has the memory that counts against a limit.
type Memory struct {
	Time       time.Time `json:"time"`
	WorkingSet *uint64   `json:"workingSetBytes,omitempty"`
}

// Disk has what the containers and their logs have written on the disk of the node.
type Disk struct {
	Time time.Time `json:"time"`
	Used *uint64   `json:"usedBytes,omitempty"`
}

// Accelerator is what a GPU does.
type Accelerator struct {
	Make       string `json:"make"`
	Model      string `json:"model"`
	ID         string `json:"id"`
	MemoryUsed uint64 `json:"memoryUsed"`
	// DutyCycle is the percentage of the time in which it worked.
	DutyCycle uint64 `json:"dutyCycle"`
}

// Read decodes the answer of a kubelet.
func Read(raw []byte) (Summary, error) {
	var s Summary
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("read the summary of a kubelet: %w", err)
	}
	return s, nil
}
