package keys

import "github.com/flyte-binary/flyte-binary/internal/names/credential"

// Prefix begins every secret, so that scanners of repositories recognise them.
const Prefix = "fbk_"

// WellFormed reports whether a text is a secret by its form.
func WellFormed(secret string) bool { return credential.WellFormed(Prefix, secret) }
