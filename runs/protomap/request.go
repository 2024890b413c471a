package protomap

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Time returns a timestamp of a request with the precision of the database, microseconds; nil for none.
func Time(stamp *timestamppb.Timestamp) *time.Time {
	if stamp == nil {
		return nil
	}
	at := stamp.AsTime().Truncate(time.Microsecond)
	return &at
}

// SimpleType returns the type of a condition's value; NONE for a value that no condition may have.
func SimpleType(value *core.Literal) core.SimpleType {
	switch value.GetScalar().GetPrimitive().GetValue().(type) {
	case *core.Primitive_Boolean:
		return core.SimpleType_BOOLEAN
	case *core.Primitive_Integer:
		return core.SimpleType_INTEGER
	case *core.Primitive_FloatValue:
		return core.SimpleType_FLOAT
	case *core.Primitive_StringValue:
		return core.SimpleType_STRING
	default:
		return core.SimpleType_NONE
	}
}
