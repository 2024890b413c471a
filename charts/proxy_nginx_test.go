package charts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// nginx configures nginx with the directives that ingress-nginx makes of the annotations in docs/install-on-kubernetes.md.
func nginx(t *testing.T, values, dir, upstream string) proxyProgram {
	t.Helper()
	program := "/usr/sbin/nginx"
	if _, err := os.Stat(program); err != nil {
		t.Skip("nginx is not installed: tools/system-packages.sh nginx installs it where it may")
	}
	annotations := one(t, objects(t, render(t, "-f", values)), "Ingress", release).GetAnnotations()
	const prefix = "nginx.ingress.kubernetes.io/"
	require.Equal(t, map[string]string{
		prefix + "backend-protocol": "GRPC", prefix + "proxy-body-size": "0", prefix + "proxy-read-timeout": "3600", prefix + "proxy-send-timeout": "3600",
	}, annotations, "the directives below are for these")
	socket, path := filepath.Join(dir, "s"), filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`
daemon off; master_process off; pid %[1]s/pid; error_log stderr warn;
events { worker_connections 256; }
http {
	access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/c;
	server {
		listen unix:%[2]s ssl http2;
		ssl_certificate %[1]s/cert.pem; ssl_certificate_key %[1]s/key.pem;
		client_max_body_size 0;
		location / {
			grpc_pass grpc://%[3]s;
			grpc_set_header Host $host;
			grpc_read_timeout %[4]ds; grpc_send_timeout %[4]ds;
		}
	}
}`, dir, socket, upstream, int(silence.Seconds()))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return proxyProgram{path: program, args: []string{"-p", dir, "-e", "stderr", "-c", path}, socket: socket, stop: syscall.SIGQUIT}
}
