package configuration

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/executor"
)

// TestTheExecutorGetsItsWholeConfiguration: the section has every field of the executor's configuration, and passes it on.
func TestTheExecutorGetsItsWholeConfiguration(t *testing.T) {
	section, own := reflect.New(reflect.TypeFor[ExecutorConfig]()).Elem(), reflect.TypeFor[executor.Config]()
	for i := range own.NumField() {
		field := section.FieldByName(own.Field(i).Name)
		require.True(t, field.IsValid(), own.Field(i).Name)
		found, _ := section.Type().FieldByName(own.Field(i).Name)
		require.Equal(t, own.Field(i).Tag, found.Tag)
		switch field.Kind() { //nolint:exhaustive // the kinds of fields that there are
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int64:
			field.SetInt(1)
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Struct:
			setSome(field)
		}
	}
	passed := reflect.ValueOf(section.Interface().(ExecutorConfig).Service())
	for i := range own.NumField() {
		require.False(t, passed.Field(i).IsZero(), own.Field(i).Name)
	}
	require.Equal(t, executor.DefaultConfig(), DefaultExecutorConfig().Service())
}

// setSome sets one field of a struct.
func setSome(value reflect.Value) {
	for i := range value.NumField() {
		switch field := value.Field(i); field.Kind() { //nolint:exhaustive // one is enough
		case reflect.Bool:
			field.SetBool(true)
			return
		case reflect.Int, reflect.Int32, reflect.Int64:
			field.SetInt(1)
			return
		case reflect.String:
			field.SetString("x")
			return
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			return
		}
	}
}
