package manager

import (
	"fmt"
	"net"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/port"
)

// policy returns the authenticator and the authoriser with which the chain begins: the given ones, else those of an
// installation that is open to everybody or in which everybody has to sign in. open reports that every caller of the API may
// do everything.
func policy(c configuration.Config, options Options) (authenticator authz.Authenticator, authoriser authz.Authoriser, open bool) {
	authenticator, authoriser = options.Authenticator, options.Authoriser
	closed := c.Target.API() && c.Access.Authenticates()
	open = authoriser == nil && !closed && c.Target.API()
	switch {
	case authenticator != nil:
	case closed:
		authenticator = access.SignInRequired{}
	default:
		authenticator = authz.Open{}
	}
	if authoriser == nil {
		authoriser = authz.AllowAll{}
	}
	return authenticator, authoriser, open
}

// closed reports whether callers have rights of their own: those of them who are known do, unless a test decides about them.
func closed(c configuration.Config, options Options) bool {
	return options.Authoriser == nil && (c.Access.Authenticates() || options.Authenticator != nil)
}

// checkOpen refuses a port that other machines can reach and at which no one has to sign in, unless that is wanted.
func checkOpen(c configuration.Config, open bool, address net.Addr) error {
	if !open || !c.Target.API() || c.Access.Open || port.Loopback(address) {
		return nil
	}
	return fmt.Errorf("server.listen: other machines can reach %s, and everybody who does could read and change everything. Say who may use the "+
		"installation, in access.issuers or access.local; or accept it with access.open: true", address)
}

// warnOpen logs that the API has no authentication, and who can reach it.
func warnOpen(log zerolog.Logger, address net.Addr) {
	reach := "every host that reaches this address"
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		reach = "every process on this machine"
	}
	log.Warn().Stringer("address", address).
		Msg("the API has no authentication: " + reach + " may read and change everything")
}
