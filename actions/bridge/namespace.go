package bridge

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/internal/ident"
)

// template is a namespace with places for the names of a run.
type template string

const (
	projectPlace = "{{project}}"
	domainPlace  = "{{domain}}"
)

func parseTemplate(text string) (template, error) {
	t := template(strings.ReplaceAll(text, " ", ""))
	if t == "" {
		return "", fmt.Errorf("is needed")
	}
	if _, err := t.namespace(ident.Run{Project: "p", Domain: "d"}); err != nil {
		return "", err
	}
	return t, nil
}

// fixed tells whether the namespace is the same for all runs.
func (t template) fixed() bool {
	return !strings.Contains(string(t), projectPlace) && !strings.Contains(string(t), domainPlace)
}

// namespace is the namespace of a run's actions. Names that Kubernetes refuses are an error.
func (t template) namespace(run ident.Run) (string, error) {
	name := strings.NewReplacer(projectPlace, run.Project, domainPlace, run.Domain).Replace(string(t))
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return "", fmt.Errorf("%q is not the name of a namespace: %s", name, strings.Join(problems, "; "))
	}
	return name, nil
}
