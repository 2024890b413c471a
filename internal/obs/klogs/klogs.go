// Package klogs sends the logs of Kubernetes libraries to our logger. It is separate from obs so that only programs that use
// Kubernetes link them.
package klogs

import (
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/go-logr/zerologr"
	"github.com/rs/zerolog"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Install makes klog and controller-runtime log through log, as Logger does. klog drops more itself: its verbosity stays 0. Of
// libraries that use slog it takes errors: the library of the authorization server reports each mistake of a client as a warning.
// Install sets process-wide loggers of those libraries, so call it once, before any client is made.
func Install(log zerolog.Logger) {
	logger := Logger(log.With().Str("part", "kubernetes").Logger())
	klog.SetLogger(logger)
	ctrllog.SetLogger(logger)
	slog.SetDefault(slog.New(zerolog.NewSlogHandler(log.Level(zerolog.ErrorLevel))))
}

// Logger is log for a Kubernetes library: the library's level 0 is info, 1 is debug, 2 is trace, and what it logs beyond that is
// dropped. It obeys log's level and the level of the process at each message.
//
// zerologr's SetMaxV and New are not used: the first replaces the level of the process, the second that of the logger.
func Logger(log zerolog.Logger) logr.Logger { return logr.New(newLazy(zerologr.NewLogSink(&log))) }
