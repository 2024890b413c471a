// The definitions of the Gateway API, for a test of the chart, which reads them from the module's directory. Nothing imports the
// module, so `go mod tidy` would drop it.
module github.com/flyte-binary/flyte-binary/tools/gatewayapi

go 1.26.0

require sigs.k8s.io/gateway-api v1.5.1
