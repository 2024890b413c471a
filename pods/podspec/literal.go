package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// literal returns what a command, an argument or a variable of a pod must have so that the process gets the text as it is:
// Kubernetes expands $(NAME) there and turns $$ into $. What a pod or a pod template declares itself is not passed through it,
// since its author writes for Kubernetes.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func literalAll(texts []string) []string {
	result := make([]string, len(texts))
	for i, text := range texts {
		result[i] = literal(text)
	}
	return result
}

// Variable returns a variable whose value the process gets as it is.
func Variable(name, value string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, Value: literal(value)}
}
