package devices

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
)

// listed is a device in a file.
type listed struct {
	ID        string `json:"id"`
	Maker     Maker  `json:"maker"`
	Model     string `json:"model"`
	Partition string `json:"partition"`
	Memory    string `json:"memory"`
}

// Read reads devices from a file, a list in JSON. Nothing checks that they exist: it is for tests, and for devices that no tool finds.
func Read(path string) ([]Device, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the list of GPUs: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var list []listed
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("the list of GPUs in %s: %w", path, err)
	}
	all, known := make([]Device, 0, len(list)), map[string]bool{}
	for i, one := range list {
		d := Device{ID: one.ID, Maker: one.Maker, Index: i, Model: one.Model, Partition: one.Partition}
		if d.Maker == "" {
			d.Maker = NVIDIA
		}
		if one.Memory != "" {
			quantity, err := resource.ParseQuantity(one.Memory)
			if err != nil {
				return nil, fmt.Errorf("the list of GPUs in %s: [%d].memory: %q is not an amount of memory such as 80Gi", path, i, one.Memory)
			}
			d.Bytes = quantity.Value()
		}
		switch {
		case d.ID == "" || known[d.ID]:
			return nil, fmt.Errorf("the list of GPUs in %s: [%d].id: want one of its own, got %q", path, i, d.ID)
		case d.Model == "":
			return nil, fmt.Errorf("the list of GPUs in %s: [%d].model: is required, such as NVIDIA H200", path, i)
		case d.Maker != NVIDIA && d.Maker != AMD:
			return nil, fmt.Errorf("the list of GPUs in %s: [%d].maker: want %s or %s, got %q", path, i, NVIDIA, AMD, d.Maker)
		}
		known[d.ID] = true
		all = append(all, d)
	}
	return all, nil
}
