package links_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/links"
)

func TestVersionsThatDifferAreNoted(t *testing.T) {
	for _, one := range []struct{ controller, api, want string }{
		{"1.2.0", "1.2.7", ""},
		{"", "1.2.7", ""},
		{"1.2.0", "dev", ""},
		{"1.2.0", "v1.3.1", "version 1.2.0 is older than version v1.3.1 of the API: upgrade the controller"},
		{"1.4.0", "1.3.1", "version 1.4.0 is newer than version 1.3.1 of the API: upgrade the API"},
		{"1.1.0", "1.3.1", "version 1.1.0 does not work with version 1.3.1 of the API: upgrade one of them"},
	} {
		require.Equal(t, one.want, links.VersionNote(one.controller, one.api), one)
	}
}
