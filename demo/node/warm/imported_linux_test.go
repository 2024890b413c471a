package warm_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/process"
)

// The end of a task is that of a cold one for all that it has made or imported itself, and for functions that run at exit. Only
// what the parent has imported is not taken apart.
func TestTheEndOfAWarmTask(t *testing.T) {
	f := newFixture(t, `
import atexit, sys, threading, flyte
sys.path.insert(0, flyte.own)
import mine
class Loud:
    def __init__(self, name):
        self.name = name
    def __del__(self):
        print("gone:", self.name)
mine.kept = Loud("of a module")
mine.file = open("out", "w")
mine.file.write("not flushed yet")
flyte.registry.append(mine)
atexit.register(lambda: print("at exit", "mine" in sys.modules, sys.modules["flyte"].name))
threading.Thread(target=lambda: print("thread")).start()
`)
	f.write("lib/flyte/__init__.py", "import atexit, os\nname, registry = 'sdk', []\nown = os.path.dirname(__file__) + '/own'\n"+
		"atexit.register(lambda: print('at exit of the SDK', name))\n")
	require.NoError(t, os.Mkdir(filepath.Join(f.library, "flyte", "own"), 0o755))
	f.write("lib/flyte/own/mine.py", "")
	cold, hot := f.start(false, nil), f.start(true, nil)
	require.Zero(t, cold.end().ExitCode)
	require.Zero(t, hot.end().ExitCode)
	require.True(t, hot.State().Warm, hot.State().Refused)
	require.Equal(t, cold.log(), hot.log())
	require.Contains(t, hot.log(), "thread\nat exit True sdk\nat exit of the SDK sdk\ngone: of a module\n")
	for _, p := range []*started{cold, hot} {
		out, err := os.ReadFile(filepath.Join(p.dir, "out"))
		require.NoError(t, err)
		require.Equal(t, "not flushed yet", string(out))
	}
}

// A module of the SDK that says when it is taken apart shows that this test can fail.
func TestWhatTheParentImportedIsNotTakenApart(t *testing.T) {
	f := newFixture(t, "import flyte")
	f.write("lib/flyte/__init__.py", "class Loud:\n    def __del__(self):\n        print('gone')\nkept = Loud()\n")
	cold, hot := f.start(false, nil), f.start(true, nil)
	require.Zero(t, cold.end().ExitCode)
	require.Zero(t, hot.end().ExitCode)
	require.Equal(t, "gone\n", cold.log())
	require.Empty(t, hot.log())
}

// The SDK asks twice for a TLS context that trusts certifi's authorities, or those of SSL_CERT_FILE.
func TestTLSContextsAreMadeBeforeTheFork(t *testing.T) {
	f := newFixture(t, `
import certifi, os, ssl, sys
plain = ssl.create_default_context
print(hasattr(plain, "__wrapped__"), plain.__name__)
file = os.environ.get("SSL_CERT_FILE") or certifi.where()
if len(sys.argv) > 1:
    open(file, "a").write("\n")
made = [ssl.create_default_context(cafile=file) for _ in range(3)]
print(len(set(map(id, made))), [one.cert_store_stats() for one in made], {(one.verify_mode, one.check_hostname, one.options) for one in made})
print(ssl.create_default_context().cert_store_stats() == {}, hasattr(ssl.create_default_context, "__wrapped__"))
try:
    ssl.create_default_context(cafile="missing")
except FileNotFoundError:
    print("missing")
`)
	f.write("authorities.pem", authority(t))
	f.write("own.pem", authority(t))
	f.write("lib/certifi.py", "def where():\n    return '"+filepath.Join(f.dir, "authorities.pem")+"'\n")
	named := func(c *process.Command) { c.Env = append(c.Env, "SSL_CERT_FILE="+filepath.Join(f.dir, "own.pem")) }
	for name, change := range map[string]func(*process.Command){"certifi": nil, "SSL_CERT_FILE": named} {
		t.Run(name, func(t *testing.T) {
			cold, hot := f.start(false, change), f.start(true, change)
			require.Zero(t, cold.end().ExitCode, cold.log())
			require.Zero(t, hot.end().ExitCode, hot.log())
			require.True(t, hot.State().Warm, hot.State().Refused)
			require.Regexp(t, `^False create_default_context\n3 `, cold.log())
			require.Regexp(t, `^True create_default_context\n3 `, hot.log(), "the parent's are used")
			require.Equal(t, cold.log()[len("False"):], hot.log()[len("True"):])
		})
	}

	changed := f.start(true, named, "change")
	require.Zero(t, changed.end().ExitCode, changed.log())
	require.Contains(t, changed.log(), "True\nmissing", "of a file that has changed, the parent's contexts are not used, and the wrapper stays")

	f.write("own.pem", "not a certificate")
	broken := f.start(true, func(c *process.Command) {
		named(c)
		c.Env = append(c.Env, "PYTHONVARIABLE=of another parent")
	})
	require.Equal(t, 1, broken.end().ExitCode, broken.log())
	require.True(t, broken.State().Warm, "a bad file does not make the parent unfit")
	require.Contains(t, broken.log(), "SSLError")
}

// authority is a certificate of an authority.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
