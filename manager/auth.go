package manager

import (
	"net"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// policy returns the authenticator and the authoriser: the given ones, else those of mode open. open reports that every
// caller may do everything.
func policy(options Options) (authenticator authz.Authenticator, authoriser authz.Authoriser, open bool) {
	authenticator, authoriser = options.Authenticator, options.Authoriser
	open = authoriser == nil
	if authenticator == nil {
		authenticator = authz.Open{}
	}
	if authoriser == nil {
		authoriser = authz.AllowAll{}
	}
	return authenticator, authoriser, open
}

// warnOpen logs that the API has no authentication, and who can reach it.
func warnOpen(log zerolog.Logger, address net.Addr) {
	reach := "every host that reaches this address"
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		reach = "every process on this machine"
	}
	log.Warn().Stringer("address", address).Str("auth.mode", configuration.AuthOpen).
		Msg("the API has no authentication: " + reach + " may read and change everything")
}
