package launch

import "github.com/flyte-binary/flyte-binary/internal/cachekey"

// rootCacheKey is the key under which the outputs of a root action may be cached; empty when the task does not want it.
// Children bring keys that their parent has computed, in the same way.
func rootCacheKey(planned *plannedTask, inputsHash string) string {
	template := planned.spec.GetTaskTemplate()
	if !template.GetMetadata().GetDiscoverable() {
		return ""
	}
	return cachekey.Key(planned.id.GetName(), inputsHash, template.GetInterface(), template.GetMetadata().GetDiscoveryVersion())
}
