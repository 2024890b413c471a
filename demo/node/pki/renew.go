package pki

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// renewalInterval is how often the certificates are looked at.
const renewalInterval = 12 * time.Hour

// Renew looks at the certificates in dir every 12 hours, and replaces those that expire soon, until the context ends. After each
// look it hands over the certificates that are valid now, or the error.
func Renew(ctx context.Context, dir, address string, clk clock.Clock, looked func(Certificates, error)) {
	for clock.Sleep(ctx, clk, renewalInterval) == nil {
		looked(EnsureCertificates(dir, address, clk))
	}
}
