package kueue

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// LabelQueue names the LocalQueue that admits an object.
const LabelQueue = "kueue.x-k8s.io/queue-name"

// Queues chooses LocalQueues, as a list of KEY=LOCALQUEUE. A KEY is PROJECT/DOMAIN, PROJECT, or plugin:NAME. The first
// of these that applies to an attempt wins, in this order.
type Queues []string

// pluginKey begins the key of a plugin. Names of projects have no colon.
const pluginKey = "plugin:"

// Of is the LocalQueue of an object of a plugin whose labels these are; otherwise is that of an attempt with no entry.
// A queue among the labels takes precedence.
func (q Queues) Of(plugin string, labels map[string]string, otherwise string) string {
	if own := labels[LabelQueue]; own != "" {
		return own
	}
	project := labels[v1.LabelProject]
	for _, key := range []string{project + "/" + labels[v1.LabelDomain], project, pluginKey + plugin} {
		for _, pair := range q {
			if name, queue, _ := strings.Cut(pair, "="); name == key {
				return queue
			}
		}
	}
	return otherwise
}

// Validate lists the entries that are wrong. Plugins are the names of all plugins.
func (q Queues) Validate(plugins []string) error {
	var found invalid.Fields
	seen := map[string]bool{}
	for i, pair := range q {
		key, queue, complete := strings.Cut(pair, "=")
		found.If(!complete || key == "" || !IsQueue(queue), "[%d]: %q is not KEY=LOCALQUEUE", i, pair)
		found.If(seen[key], "[%d]: %q is listed twice", i, key)
		seen[key] = true
		if name, isPlugin := strings.CutPrefix(key, pluginKey); isPlugin {
			found.If(!slices.Contains(plugins, name), "[%d]: there is no plugin %q", i, name)
		}
	}
	return found.Err()
}

// IsQueue reports whether a text can be the name of a LocalQueue.
func IsQueue(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
