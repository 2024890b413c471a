package plugintest

import (
	"slices"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// declares: the executor prepares informers and an administrator grants rights by what the definition says.
func (c *contract) declares() {
	scheme, api := schemeOf(c.t, c.definition), c.api()
	require.NotEmpty(c.t, c.definition.Name)
	p := c.start()
	require.Equal(c.t, c.definition.Name, p.Name())

	informed := map[string]bool{"Pod": true}
	for _, informer := range c.definition.Informers {
		kind, err := apiutil.GVKForObject(informer.Object, scheme)
		require.NoError(c.t, err)
		informed[kind.Kind] = true
		mapping, err := api.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		require.NoError(c.t, err)
		for _, verb := range []string{"list", "watch", "patch"} { // The executor labels what it adopts.
			require.True(c.t, c.declared(kind.Group, mapping.Resource.Resource, verb), "Rights lack %s on %s", verb, mapping.Resource)
		}
	}
	if watcher, ok := p.Plugin.(plugin.Watcher); ok {
		for _, watch := range watcher.Watches() {
			kind, err := apiutil.GVKForObject(watch.Object, scheme)
			require.NoError(c.t, err)
			require.True(c.t, informed[kind.Kind], "Informers lack %s, which the plugin watches", kind.Kind)
		}
	}
	c.launch(p, c.attempt())
	for _, object := range p.writer.made() {
		kind, err := apiutil.GVKForObject(object, scheme)
		require.NoError(c.t, err)
		mapping, err := api.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		require.NoError(c.t, err)
		for _, verb := range []string{"get", "create", "delete"} {
			require.True(c.t, c.declared(kind.Group, mapping.Resource.Resource, verb), "Rights lack %s on %s", verb, mapping.Resource)
		}
	}
}

func (c *contract) declared(group, resource, verb string) bool {
	return slices.ContainsFunc(c.definition.Rights, func(right plugin.Right) bool {
		return right.Group == group && right.Resource == resource && slices.Contains(right.Verbs, verb)
	})
}
