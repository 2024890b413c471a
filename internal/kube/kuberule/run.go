package kuberule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Run returns the path of the first field of a run spec that no pod of the run could have, and the reason; both are empty if
// there is none.
func Run(spec *task.RunSpec) (path, words string) {
	for i, pair := range spec.GetEnvs().GetValues() {
		if !IsVariable(pair.GetKey()) {
			return fmt.Sprintf("envs.values[%d].key", i), quoted(pair.GetKey()) + " is not a valid environment variable name: it " + VariableRule
		}
	}
	if path, words = labels("labels.values", spec.GetLabels().GetValues()); words != "" {
		return path, words
	}
	if path, words = annotations("annotations.values", spec.GetAnnotations().GetValues()); words != "" {
		return path, words
	}
	if path, words = reserved("labels.values", spec.GetLabels().GetValues(), ident.LabelPriority); words != "" {
		return path, words
	}
	path, words = reserved("annotations.values", spec.GetAnnotations().GetValues(),
		ident.AnnotationServiceAccount, ident.AnnotationMirrorLimits, ident.AnnotationStores, ident.AnnotationTrigger)
	if words != "" {
		return path, words
	}
	for _, named := range []struct{ path, name string }{
		{"security_context.run_as.k8s_service_account", spec.GetSecurityContext().GetRunAs().GetK8SServiceAccount()},
		{"default_settings.pod_template_name", spec.GetDefaultSettings().GetPodTemplateName()},
	} {
		if named.name != "" && !IsName(named.name) {
			return named.path, quoted(named.name) + " is not a valid Kubernetes object name: it " + NameRule
		}
	}
	return "", ""
}

func labels(path string, values map[string]string) (at, words string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !IsKey(key):
			return path, quoted(key) + " is not a valid label key: it " + KeyRule
		case strings.HasPrefix(key, ident.ReservedKeys): // the platform reads it, and no pod gets it: a priority may be negative
		case !IsValue(values[key]):
			return fmt.Sprintf("%s[%q]", path, key), quoted(values[key]) + " is not a valid label value: it " + ValueRule
		}
	}
	return "", ""
}

func annotations(path string, values map[string]string) (at, words string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !IsKey(key) {
			return path, quoted(key) + " is not a valid annotation key: it " + KeyRule
		}
	}
	return "", ""
}

// reserved finds keys with the platform's prefix that mean nothing to it. Those that do are given, or begin with one that is
// given and ends with a dash.
func reserved(path string, values map[string]string, known ...string) (at, words string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !strings.HasPrefix(key, ident.ReservedKeys) || slices.ContainsFunc(known, func(one string) bool {
			return one == key || strings.HasSuffix(one, "-") && strings.HasPrefix(key, one)
		}) {
			continue
		}
		return fmt.Sprintf("%s[%q]", path, key), "keys that begin with " + ident.ReservedKeys + " belong to the platform"
	}
	return "", ""
}

// quoted shows a text, shortened.
func quoted(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return fmt.Sprintf("%q…", string(runes[:most]))
	}
	return fmt.Sprintf("%q", text)
}
