package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// bench is a builder in front of a fake cluster and a fake object store.
type bench struct {
	templates *plugintest.PodTemplates
	blobs     *plugintest.Blobs
	clock     *clock.Fake
	builder   *podspec.Builder
}

func newBench(t *testing.T, change ...func(*podspec.Config)) *bench {
	config := podspec.DefaultConfig()
	for _, c := range change {
		c(&config)
	}
	b := &bench{
		templates: &plugintest.PodTemplates{}, blobs: &plugintest.Blobs{Objects: map[string][]byte{}}, clock: clock.NewFake(plugintest.Now()),
	}
	var err error
	b.builder, err = podspec.New(config, podspec.Deps{Live: b.templates, Store: b.blobs, Clock: b.clock})
	require.NoError(t, err)
	return b
}

// build returns the template that the builder builds for an attempt.
func (b *bench) build(t *testing.T, attempt *plugin.Attempt) *corev1.PodTemplateSpec {
	t.Helper()
	template, err := b.builder.Build(t.Context(), attempt)
	require.NoError(t, err)
	return template
}

// lost is why the attempt cannot be built.
func (b *bench) lost(t *testing.T, attempt *plugin.Attempt) *failure.Failure {
	t.Helper()
	_, err := b.builder.Build(t.Context(), attempt)
	require.Error(t, err)
	why := failure.Of(err)
	require.NotNil(t, why, "%v", err)
	return why
}
