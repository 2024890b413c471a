package podpolicy

import (
	"fmt"
	"slices"
)

// checkAccount judges the service account that a run or a task names.
func (p *Policy) checkAccount(name string, granted []string) []Violation {
	if name == "" || slices.Contains(granted, name) || matches(p.config.ServiceAccounts, name) {
		return nil
	}
	return []Violation{{
		Area: ServiceAccount, What: fmt.Sprintf("the pod would run as the service account %q, which the settings of the project do not name", name),
		Allow: fmt.Sprintf("serviceAccounts: [%s]", name),
	}}
}
