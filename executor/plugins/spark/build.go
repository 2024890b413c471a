package spark

import (
	"cmp"
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const (
	// container is the name by which Spark finds its container in a pod template.
	container = "spark-kubernetes-driver"
	// executorContainer is that of executors.
	executorContainer = "spark-kubernetes-executor"
	// sparkVersion is the oldest whose pods can have templates. The operator only compares it.
	sparkVersion = "3.5.0"
)

// build makes specifications of SparkApplications.
type build struct {
	account string // of drivers whose task has none
}

func (b build) spec(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	wanted := &plugins.SparkJob{}
	if err := draft.Custom(wanted); err != nil {
		return nil, err
	}
	if wanted.GetMainApplicationFile() == "" {
		return nil, operated.Bad("mainApplicationFile: is required")
	}
	var image string
	var arguments []any
	driverPod, err := draft.Pods(ctx, draft.Role(driver, podspec.Different{Pod: wanted.GetDriverPod()}),
		func(template *corev1.PodTemplateSpec, own *corev1.Container) {
			image = own.Image
			for _, word := range append(append([]string{}, own.Command...), own.Args...) {
				arguments = append(arguments, word)
			}
			own.Command, own.Args = nil, nil // Spark sets them
			template.Spec.RestartPolicy = "" // and this
			template.Spec.ServiceAccountName = cmp.Or(template.Spec.ServiceAccountName, b.account)
			template.Spec.AutomountServiceAccountToken = new(true) // the driver creates the pods of its executors
		})
	if err != nil {
		return nil, err
	}
	executorPod, err := draft.Pods(ctx, draft.Role(executor, podspec.Different{Pod: wanted.GetExecutorPod(), NoProgram: true}),
		func(template *corev1.PodTemplateSpec, own *corev1.Container) {
			own.Name, template.Spec.RestartPolicy = executorContainer, ""
		})
	if err != nil {
		return nil, err
	}
	kind := map[plugins.SparkApplication_Type]string{
		plugins.SparkApplication_PYTHON: "Python", plugins.SparkApplication_JAVA: "Java",
		plugins.SparkApplication_SCALA: "Scala", plugins.SparkApplication_R: "R",
	}[wanted.GetApplicationType()]
	result := map[string]any{
		"type": kind, "mode": "cluster", "image": image, "sparkVersion": sparkVersion,
		"mainApplicationFile": wanted.GetMainApplicationFile(), "arguments": arguments,
		"restartPolicy": map[string]any{"type": "Never"}, // attempts belong to the reconciler
		"driver":        map[string]any{"template": driverPod},
		"executor":      map[string]any{"template": executorPod},
		"sparkConf":     conf(wanted),
	}
	if class := wanted.GetMainClass(); class != "" {
		result["mainClass"] = class
	}
	if hadoop := wanted.GetHadoopConf(); len(hadoop) > 0 {
		result["hadoopConf"] = texts(hadoop)
	}
	return result, nil
}

// conf is the configuration of Spark; what the task sets takes precedence.
func conf(wanted *plugins.SparkJob) map[string]any {
	all := map[string]string{}
	if path := wanted.GetExecutorPath(); path != "" {
		all["spark.pyspark.python"], all["spark.pyspark.driver.python"] = path, path
	}
	maps.Copy(all, wanted.GetSparkConf())
	return texts(all)
}

func texts(from map[string]string) map[string]any {
	result := make(map[string]any, len(from))
	for name, value := range from {
		result[name] = value
	}
	return result
}
