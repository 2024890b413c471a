package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/executor"
)

// examinePlugins checks that the cluster serves the types of the enabled plugins: one finding for each plugin that cannot run, or
// one for all.
func examinePlugins(ctx context.Context, cluster *rest.Config, c executor.Config) []Finding {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	absent, err := executor.Absences(ctx, c, cluster)
	if err != nil {
		return []Finding{{What: "plugins", Err: err, Fix: fixClusterFirst}}
	}
	if len(absent) == 0 {
		return []Finding{{What: "plugins", Detail: "the cluster serves the types of " + strings.Join(c.Plugins.Enabled, ", ")}}
	}
	return missingPlugins(absent)
}

func missingPlugins(absent []executor.Absence) []Finding {
	findings := make([]Finding, len(absent))
	for i, one := range absent {
		fix := "grant this account the rights of the plugin, see docs/plugins.md"
		if one.Install != "" {
			fix = "install " + one.Install
		}
		findings[i] = Finding{
			What: "plugin " + one.Plugin, Err: errors.New(one.Why),
			Fix: fmt.Sprintf("%s, or remove %s from executor.plugins.enabled; until then its tasks wait", fix, one.Plugin),
		}
	}
	return findings
}
