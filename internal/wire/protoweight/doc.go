// Package protoweight estimates how much memory a message takes once it is decoded, from its encoded bytes and without
// decoding it. Two bytes on the wire can become a message of hundreds of bytes, so the size of a request says little
// about its cost. The estimates are upper bounds of what stays allocated. It imports no other package of this module.
package protoweight
