// Package klogs sends the logs of Kubernetes libraries to our logger. It is separate from obs so that only programs that use
// Kubernetes link them.
package klogs

import (
	"github.com/go-logr/zerologr"
	"github.com/rs/zerolog"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Install makes klog and controller-runtime log through log, at its level, and no more than their level 0 unless it is
// debug or trace. It sets process-wide loggers of those libraries, so call it once, before any client is made.
func Install(log zerolog.Logger) {
	verbosity := 0
	switch log.GetLevel() {
	case zerolog.DebugLevel:
		verbosity = 1
	case zerolog.TraceLevel:
		verbosity = 6
	}
	zerologr.SetMaxV(verbosity)
	logger := log.With().Str("part", "kubernetes").Logger()
	sink := zerologr.New(&logger)
	klog.SetLogger(sink)
	ctrllog.SetLogger(sink)
}
