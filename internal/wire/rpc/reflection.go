package rpc

import (
	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
)

// reflectionMessage is the size of the largest question, in bytes.
const reflectionMessage = 64 << 10

// reflected are the services of gRPC reflection, which are not in the table of procedures: the contract is public, and
// they say nothing about data.
var reflected = map[string]bool{
	"/grpc.reflection.v1.ServerReflection/":      true,
	"/grpc.reflection.v1alpha.ServerReflection/": true,
}

// MountReflection serves gRPC reflection, old and new, for the services named when it is called by a client. It needs
// no permission: the contract is public, and it says nothing about data.
func MountReflection(r Registrar, services func() []string) {
	reflector := grpcreflect.NewReflector(grpcreflect.NamerFunc(services))
	// Reflection is outside the table of procedures, so it runs without the chain.
	options := []connect.HandlerOption{connect.WithReadMaxBytes(reflectionMessage)}
	r.Handle(grpcreflect.NewHandlerV1(reflector, options...))
	r.Handle(grpcreflect.NewHandlerV1Alpha(reflector, options...))
}
