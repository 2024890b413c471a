package job_test

import (
	"testing"

	"github.com/flyte-binary/flyte-binary/executor/plugins/job"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

func TestContract(t *testing.T) {
	plugintest.Contract(t, job.Definition(podspec.DefaultConfig(), job.Config{}), plugintest.ContainerTask())
}
