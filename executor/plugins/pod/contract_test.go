package pod_test

import (
	"testing"

	"github.com/flyte-binary/flyte-binary/executor/plugins/pod"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

func TestContract(t *testing.T) {
	plugintest.Contract(t, pod.Definition(podspec.DefaultConfig()), plugintest.ContainerTask())
}
