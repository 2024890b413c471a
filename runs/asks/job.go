package asks

import (
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// job is what all pods of a task ask for together. pod is what the task's own container asks for. What cannot be read counts as
// nothing: the plugin that runs the job refuses it with better words.
func job(template *core.TaskTemplate, pod placement.Amounts, device string) placement.Amounts {
	custom := fields{template.GetCustom()}
	switch template.GetType() {
	case "clustered-task":
		return times(pod, max(custom.number("replicas"), 1))
	case "dask":
		return plus(pod, custom.in("scheduler").resources(device, nil), times(custom.in("workers").resources(device, nil), custom.in("workers").number("number_of_workers")))
	case tasktype.Ray:
		return ray(custom.in("ray_cluster"), pod, device)
	case "spark":
		return spark(custom.in("spark_conf"), pod)
	case "pytorch", "mpi", "tensorflow":
		return training(template.GetType(), custom, pod, device)
	}
	return pod
}

// ray is the head and the workers. The pod that submits the job is small, and counts as nothing.
func ray(cluster fields, pod placement.Amounts, device string) placement.Amounts {
	sum := plus(cluster.in("head_group_spec").pod(device, pod))
	for _, group := range cluster.list("worker_group_spec") {
		sum.Add(group.pod(device, pod), max(group.number("replicas"), group.number("min_replicas")))
	}
	return sum
}

// spark is the driver and the executors that the job begins with.
func spark(conf fields, driver placement.Amounts) placement.Amounts {
	executor := placement.Amounts{}
	set(executor, placement.CPU, conf.word("spark.executor.cores", "1"))
	set(executor, placement.Memory, javaSize(conf.word("spark.executor.memory", "1g")))
	instances := placement.Amounts{}
	set(instances, "n", conf.word("spark.executor.instances", conf.word("spark.dynamicAllocation.minExecutors", "1")))
	return plus(driver, times(executor, instances["n"]))
}

// javaSize turns a size such as 2g, which has binary units, into a quantity.
func javaSize(size string) string {
	size = strings.TrimSuffix(strings.ToLower(size), "b")
	for unit, suffix := range map[string]string{"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"} {
		if number, ok := strings.CutSuffix(size, unit); ok {
			return number + suffix
		}
	}
	return size
}

// training is the sum over the roles of a job. Of the first version of the messages, a role is a number of pods like the task's.
func training(kind string, custom fields, pod placement.Amounts, device string) placement.Amounts {
	sum := placement.Amounts{}
	for _, role := range []string{"worker", "ps", "chief", "evaluator"} {
		replicas := custom.in(role + "_replicas")
		count := max(replicas.in("common").number("replicas"), replicas.number("replicas"), custom.number(role+"_replicas"))
		if role == "worker" {
			count = max(count, custom.number("workers"), custom.number("num_workers"))
		}
		sum.Add(replicas.resources(device, replicas.in("common").resources(device, pod)), count)
	}
	if kind == "mpi" || kind == "pytorch" && !custom.has("elastic_config") {
		sum.Add(pod, 1) // the launcher or the master
	}
	return sum
}

// fields reads the JSON of a message, whose names may be in either form.
type fields struct{ of *structpb.Struct }

func (f fields) value(name string) *structpb.Value {
	if value, ok := f.of.GetFields()[name]; ok {
		return value
	}
	return f.of.GetFields()[camel(name)]
}

func camel(name string) string {
	var b strings.Builder
	upper := false
	for _, c := range name {
		switch {
		case c == '_':
			upper = true
		case upper:
			b.WriteRune(unicode.ToUpper(c))
			upper = false
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func (f fields) has(name string) bool { return f.value(name).GetStructValue() != nil }

func (f fields) in(name string) fields { return fields{f.value(name).GetStructValue()} }

func (f fields) list(name string) (found []fields) {
	for _, value := range f.value(name).GetListValue().GetValues() {
		found = append(found, fields{value.GetStructValue()})
	}
	return found
}

// number is a count of pods.
func (f fields) number(name string) int64 {
	return int64(min(max(f.value(name).GetNumberValue(), 0), 1_000_000))
}

func (f fields) word(name, otherwise string) string {
	if value := text(f.value(name)); value != "" {
		return value
	}
	return otherwise
}

// resources are those that the message declares; otherwise those of another pod.
func (f fields) resources(device string, otherwise placement.Amounts) placement.Amounts {
	declared := &core.Resources{}
	encoded, err := protojson.Marshal(f.in("resources").of)
	if !f.has("resources") || err != nil || protojson.Unmarshal(encoded, declared) != nil {
		return plus(otherwise)
	}
	return ofResources(declared, device)
}

// pod is what the pod of a group asks for; otherwise it is like another.
func (f fields) pod(device string, otherwise placement.Amounts) placement.Amounts {
	if spec := f.in("k8s_pod").in("pod_spec"); spec.of != nil {
		return ofPod(spec.of, device)
	}
	return otherwise
}

func times(amounts placement.Amounts, n int64) placement.Amounts {
	product := placement.Amounts{}
	product.Add(amounts, n)
	return product
}
