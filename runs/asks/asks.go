// Package asks reads from the specs of tasks and runs what an action asks of a cluster.
package asks

import (
	"math"
	"math/big"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/accelerator"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/settings"
)

// Rules say what tasks get that do not ask. The zero value gives them nothing.
type Rules struct {
	// CPU and Memory are what a task gets that asks for none, as quantities.
	CPU, Memory string
	// Device is the resource that "gpu" means for an accelerator; nil means nvidia.com/gpu.
	Device func(*core.GPUAccelerator) string
	// Pods reads what policies judge of the pods of a task; nil means that nothing is judged.
	Pods func(*core.TaskTemplate) Pods
}

// Pods says in words what a policy, as a cluster reported it, does not allow of the pods of a task in a run; empty if it allows them. Nil
// means that no policy judges them.
type Pods func(policy string, run *task.RunSpec) string

// within returns the judgement for one run.
func (p Pods) within(run *task.RunSpec) func(policy string) string {
	if p == nil {
		return nil
	}
	return func(policy string) string { return p(policy, run) }
}

// pods reads what policies judge of the pods of a task.
func (r *Rules) pods(template *core.TaskTemplate) Pods {
	if r.Pods == nil {
		return nil
	}
	return r.Pods(template)
}

// Of is what a task asks for, of a run with a spec. The caller adds where the run is and what runs it. The result has maps that are
// shared, and must not be changed.
func (r *Rules) Of(template *core.TaskTemplate, run *task.RunSpec) placement.Request {
	asked := r.task(template)
	asked.Pool, asked.Labels, asked.Refuses = run.GetClusterPool(), run.GetLabels().GetValues(), r.pods(template).within(run)
	return asked
}

// task is the part that all runs of a task share.
func (r *Rules) task(template *core.TaskTemplate) placement.Request {
	request := placement.Request{}
	if !tasktype.IsContainer(template.GetType()) {
		request.Type = template.GetType()
	}
	given := template.GetExtendedResources().GetGpuAccelerator()
	request.Accelerator = accelerator.Name(given)
	device := "nvidia.com/gpu"
	if r.Device != nil {
		device = r.Device(given)
	}
	var pod placement.Amounts
	if spec := template.GetK8SPod(); spec != nil {
		pod = ofPod(spec.GetPodSpec(), device)
	} else {
		pod = ofResources(template.GetContainer().GetResources(), device)
	}
	r.complete(pod)
	request.Pod, request.Resources = pod, job(template, pod, device)
	request.Data = codeOf(template)
	return request
}

// complete adds what a task gets that asks for none.
func (r *Rules) complete(pod placement.Amounts) {
	for name, text := range map[string]string{placement.CPU: r.CPU, placement.Memory: r.Memory} {
		if _, asked := pod[name]; !asked && text != "" {
			set(pod, name, text)
		}
	}
}

var names = map[core.Resources_ResourceName]string{
	core.Resources_CPU:               placement.CPU,
	core.Resources_MEMORY:            placement.Memory,
	core.Resources_EPHEMERAL_STORAGE: placement.Storage,
	core.Resources_STORAGE:           placement.Storage,
}

// ofResources are the requests of a container, and the limits where there is no request, as Kubernetes takes them.
func ofResources(resources *core.Resources, device string) placement.Amounts {
	asked := placement.Amounts{}
	for _, entries := range [][]*core.Resources_ResourceEntry{resources.GetLimits(), resources.GetRequests()} {
		for _, entry := range entries {
			name, known := names[entry.GetName()]
			if entry.GetName() == core.Resources_GPU {
				name, known = device, true
			}
			if known {
				set(asked, name, entry.GetValue())
			}
		}
	}
	return asked
}

// ofPod is the sum over the containers of a pod.
func ofPod(spec *structpb.Struct, device string) placement.Amounts {
	asked := placement.Amounts{}
	for _, container := range spec.GetFields()["containers"].GetListValue().GetValues() {
		one := placement.Amounts{}
		resources := container.GetStructValue().GetFields()["resources"].GetStructValue().GetFields()
		for _, kind := range []string{"limits", "requests"} {
			for name, value := range resources[kind].GetStructValue().GetFields() {
				if name == "gpu" {
					name = device
				}
				set(one, name, text(value))
			}
		}
		asked.Add(one, 1)
	}
	return asked
}

// text is a quantity in a pod, which may be a number.
func text(value *structpb.Value) string {
	if number, ok := value.GetKind().(*structpb.Value_NumberValue); ok {
		return strings.TrimSuffix(big.NewFloat(number.NumberValue).Text('f', 3), ".000")
	}
	return value.GetStringValue()
}

// set replaces an amount, unless the text is not a quantity; the executor refuses such tasks.
func set(amounts placement.Amounts, name, text string) {
	amount, err := settings.Quantity(text)
	if err != nil {
		return
	}
	if name == placement.CPU {
		amount = new(big.Rat).Mul(amount, big.NewRat(1000, 1))
	}
	// Rounded up: a task that asks for half a byte gets one.
	whole := new(big.Int).Quo(new(big.Int).Add(amount.Num(), new(big.Int).Sub(amount.Denom(), big.NewInt(1))), amount.Denom())
	amounts[name] = math.MaxInt64
	if whole.IsInt64() {
		amounts[name] = whole.Int64()
	}
}

func plus(amounts ...placement.Amounts) placement.Amounts {
	sum := placement.Amounts{}
	for _, one := range amounts {
		sum.Add(one, 1)
	}
	return sum
}
