// Package plugintest has Contract, the suite that every plugin passes, and fakes for tests of plugins: attempts, task
// templates, an object store and PodTemplates in memory. Only tests import it.
package plugintest
