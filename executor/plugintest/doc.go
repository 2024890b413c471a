// Package plugintest has what tests of plugins share: attempts, task templates, an object store and PodTemplates in memory.
// Only tests import it.
package plugintest
